// The view of the games that are on: cards, and the table with one of them.

import { el, setText } from "./dom.js";
import { attempt, get } from "./api.js";
import { Cards } from "./cards.js";
import { runningGames, store, userColor } from "./store.js";
import { status } from "./status.js";
import { GameView } from "./game.js";

/** So long a game that is over stays on the table, in ms. */
const FINISHED_SHOWN_MS = 6000;

/** A game that goes on and is known from the records alone is asked for as often, in ms. */
const POLL_MS = 1000;

/** A game that is not told of here; null where there is none. */
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
		/** The id of the game that was asked for; null follows what is on. */
		this.requestedId = null;
		/** Whether the game that is shown was over when it was put on the table. */
		this.wasOver = false;
	}

	/** Whether a game of the past was asked for and is shown. */
	get isPast() {
		return Boolean(this.requestedId && this.wasOver);
	}

	/** Shows the game with this id, also one from the records, after so many moves if that is said; null follows what is on. */
	async openGame(id, ply = null) {
		this.requestedId = id;
		this.ply = ply;
		this.loading = Boolean(id && store.snapshot && !store.games.has(id));
		if (this.loading) {
			const game = await attempt(() => fetchGame(id));
			if (this.requestedId !== id) return;
			this.loading = false;
			if (game && !game.result) {
				clearTimeout(this.retryTimer);
				this.retryTimer = setTimeout(() => this.requestedId === id && !store.games.has(id) && this.openGame(id), POLL_MS);
			}
			if (!game || game.result || this.stored?.id !== id || game.moves.length !== this.stored.moves.length) {
				this.stored = game;
				// It may stand on the table already, as it was when it was on.
				this.game = null;
			}
		}
		this.update();
	}

	onEvent(kind, id) {
		if (kind === "thinking" || kind === "moved") this.cards.refresh(id);
		else if (kind === "game" || kind === "snapshot") this.cards.show(this.game?.id);
		this.update();
		const game = store.games.get(this.game?.id);
		if (game && (id === game.id || kind === "snapshot" || kind === "play")) this.gameView.onEvent(kind, game);
	}

	/** Puts on the table what belongs there now. */
	update() {
		// What is shown stays until the answer is here.
		if (!store.snapshot || this.loading) return;
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
		const on = runningGames();
		const shown = store.games.get(this.game?.id);
		const mine = on.findLast((game) => userColor(game));
		const fresh = Date.now() - (this.finishedAt ?? Date.now()) < FINISHED_SHOWN_MS;
		// A game of one's own stays until a later one begins, or an earlier one waits.
		if (mine && !(shown && userColor(shown) && shown.started > mine.started && fresh)) return mine;
		if (shown && (!shown.result || !on.length || userColor(shown) || fresh)) return shown;
		return on[0] ?? [...store.games.values()].sort((a, b) => b.started - a.started)[0] ?? null;
	}

	#showPlaceholder() {
		const [heading, text] = this.placeholder.querySelectorAll("h1, p");
		setText(heading, this.requestedId ? "There is no such game" : "No game is on");
		setText(text, this.requestedId ? `Nothing is known of ${this.requestedId}.` : status().long);
	}
}
