// View of the running games: cards, and one game in full.

import { el, setText } from "./dom.js";
import { attempt, get } from "./api.js";
import { Cards } from "./cards.js";
import { runningGames, store, userColor } from "./store.js";
import { status } from "./status.js";
import { GameView } from "./game.js";

/** Time for which a finished game is shown before the next one, since its end or since the user has looked through it, in ms. */
const FINISHED_SHOWN_MS = 6000;

/** Polling interval for a running game that is only known from the records, in ms. */
const POLL_MS = 1000;

/** Time until a game that could not be loaded is requested again, in ms. */
const FAILED_RETRY_MS = 5000;

/** Loads a game that is not in the store; null if there is none. */
async function fetchGame(id) {
	try {
		return await get(`/api/game/${encodeURIComponent(id)}`);
	} catch (error) {
		if (error.status === 404) return null;
		throw error;
	}
}

export class GamesView {
	/** `onOpen()` is called when another game is shown. */
	constructor({ newGame, announce, onOpen }) {
		this.onOpen = onOpen;
		this.cards = new Cards();
		this.gameView = new GameView({ newGame, announce });
		this.placeholder = el("div", { class: "placeholder" }, el("img", { src: "/assets/icon.svg", alt: "", width: 96, height: 96 }), el("h1", {}), el("p", {}));
		this.node = el("section", { class: "games-view", "aria-label": "Live games" }, this.cards.node, this.gameView.node, this.placeholder);
		/** Id of the requested game; null follows the running games. */
		this.requestedId = null;
		/** Whether the shown game was finished when it was opened. */
		this.wasOver = false;
		/** Whether the requested game could not be loaded. */
		this.failed = false;
	}

	/** Whether a game of the past is requested and shown. */
	get isPast() {
		return Boolean(this.requestedId && this.wasOver);
	}

	/** Shows the game with this id, also from the records, after `ply` moves if given; null follows the running games. */
	async openGame(id, ply = null) {
		this.requestedId = id;
		this.ply = ply;
		this.loading = Boolean(id && store.snapshot && !store.games.has(id));
		if (this.loading) {
			const answer = await attempt(async () => ({ game: await fetchGame(id) }));
			if (this.requestedId !== id) return;
			this.loading = false;
			this.failed = !answer;
			const game = answer?.game;
			if (this.failed || (game && !game.result)) {
				clearTimeout(this.retryTimer);
				const again = () => this.requestedId === id && !store.games.has(id) && this.openGame(id, this.ply);
				this.retryTimer = setTimeout(again, this.failed ? FAILED_RETRY_MS : POLL_MS);
			}
			// After a failure the shown game stays.
			if (!this.failed && (!game || game.result || this.stored?.id !== id || game.moves.length !== this.stored.moves.length)) {
				this.stored = game;
				// Forces an update if it is shown already.
				this.game = null;
			}
		}
		this.update();
	}

	onEvent(kind, id) {
		if (kind === "thinking" || kind === "moved") this.cards.refresh(id);
		else if (["game", "snapshot", "play"].includes(kind)) this.cards.show(this.game?.id);
		this.update();
		const game = store.games.get(this.game?.id);
		if (game && (id === game.id || kind === "snapshot" || kind === "play")) this.gameView.onEvent(kind, game);
	}

	/** Selects and shows a game. */
	update() {
		// The shown game stays until the requested one is loaded.
		if (!store.snapshot || this.loading) return;
		if (this.finishedAt && this.gameView.isBrowsing) this.finishedAt = Date.now();
		const game = this.#selectGame();
		this.placeholder.hidden = Boolean(game);
		this.gameView.node.hidden = !game;
		if (!game) {
			this.wasOver = false;
			return this.#showPlaceholder();
		}
		if (game.result && game.id === this.game?.id) this.finishedAt ??= Date.now();
		if (game.id !== this.game?.id) {
			this.game = game;
			this.finishedAt = null;
			this.gameView.open(game);
			this.cards.show(game.id);
			this.wasOver = Boolean(game.result);
			this.onOpen();
		}
		if (this.ply !== null && game.id === this.requestedId) this.gameView.goTo(this.ply);
		this.ply = null;
	}

	#selectGame() {
		if (this.requestedId) return store.games.get(this.requestedId) ?? (this.stored?.id === this.requestedId ? this.stored : null);
		const running = runningGames();
		const shown = store.games.get(this.game?.id);
		const mine = running.findLast((game) => userColor(game));
		const fresh = Date.now() - (this.finishedAt ?? Date.now()) < FINISHED_SHOWN_MS;
		// A game of the user has precedence, unless a later one of theirs has just finished.
		if (mine && !(shown && userColor(shown) && shown.started > mine.started && fresh)) return mine;
		if (shown && (!shown.result || !running.length || userColor(shown) || fresh)) return shown;
		return running[0] ?? [...store.games.values()].sort((a, b) => b.started - a.started)[0] ?? null;
	}

	#showPlaceholder() {
		const [heading, text] = this.placeholder.querySelectorAll("h1, p");
		if (!this.requestedId) {
			setText(heading, "No game is running");
			setText(text, status().long);
		} else if (this.failed) {
			setText(heading, "The game cannot be loaded");
			setText(text, `The game ${this.requestedId} is requested again.`);
		} else {
			setText(heading, "There is no such game");
			setText(text, `The game ${this.requestedId} was not found.`);
		}
	}
}
