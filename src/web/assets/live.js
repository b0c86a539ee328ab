// The view of the games that are on: cards, and the table with one of them.

import { el, say } from "./dom.js";
import { attempt, get } from "./api.js";
import { Cards } from "./cards.js";
import { running, side, store } from "./store.js";
import { status } from "./status.js";
import { Table } from "./table.js";

/** So long a game that is over stays on the table, in ms. */
const LINGERS = 6000;

/** A game that goes on and is known from the records alone is asked for as often, in ms. */
const AGAIN = 1000;

/** A game that is not told of here; null where there is none. */
async function known(id) {
	try {
		return await get(`/api/game/${encodeURIComponent(id)}`);
	} catch (error) {
		if (error.status === 404) return null;
		throw error;
	}
}

export class Live {
	/** `opened()` is called when another game is shown. */
	constructor({ newGame, read, opened }) {
		this.opened = opened;
		this.cards = new Cards();
		this.table = new Table({ newGame, read });
		this.nothing = el("div", { class: "nothing" }, el("img", { src: "/assets/icon.svg", alt: "", width: 96, height: 96 }), el("h1", {}), el("p", {}));
		this.node = el("section", { class: "live", "aria-label": "Live games" }, this.cards.node, this.table.node, this.nothing);
		/** The id of the game that was asked for; null follows what is on. */
		this.wanted = null;
		/** Whether the game that is shown was over when it was put on the table. */
		this.over = false;
	}

	/** Whether a game of the past was asked for and is shown. */
	get past() {
		return Boolean(this.wanted && this.over);
	}

	/** Shows the game with this id, also one from the records, after so many moves if that is said; null follows what is on. */
	async want(id, ply = null) {
		this.wanted = id;
		this.ply = ply;
		this.asking = Boolean(id && store.snapshot && !store.games.has(id));
		if (this.asking) {
			const game = await attempt(() => known(id));
			if (this.wanted !== id) return;
			this.asking = false;
			if (game && !game.result) {
				clearTimeout(this.later);
				this.later = setTimeout(() => this.wanted === id && !store.games.has(id) && this.want(id), AGAIN);
			}
			if (!game || game.result || this.stored?.id !== id || game.moves.length !== this.stored.moves.length) {
				this.stored = game;
				// It may stand on the table already, as it was when it was on.
				this.shown = null;
			}
		}
		this.choose();
	}

	heard(kind, id) {
		if (kind === "thinking" || kind === "moved") this.cards.refresh(id);
		else if (kind === "game" || kind === "snapshot") this.cards.show(this.shown?.id);
		this.choose();
		const game = store.games.get(this.shown?.id);
		if (game && (id === game.id || kind === "snapshot" || kind === "play")) this.table.heard(kind, game);
	}

	/** Puts on the table what belongs there now. */
	choose() {
		// What is shown stays until the answer is here.
		if (!store.snapshot || this.asking) return;
		const game = this.#game();
		this.nothing.hidden = Boolean(game);
		this.table.node.hidden = !game;
		if (!game) {
			this.over = false;
			return this.#tellNothing();
		}
		if (game.result && game.id === this.shown?.id) this.since ??= Date.now();
		if (game.id !== this.shown?.id) {
			this.shown = game;
			this.since = null;
			this.table.open(game);
			this.cards.show(game.id);
			this.over = Boolean(game.result);
			this.opened();
		}
		if (this.ply !== null && game.id === this.wanted) this.table.look(this.ply);
		this.ply = null;
	}

	#game() {
		if (this.wanted) return store.games.get(this.wanted) ?? (this.stored?.id === this.wanted ? this.stored : null);
		const on = running();
		const shown = store.games.get(this.shown?.id);
		const mine = on.findLast((game) => side(game));
		const fresh = Date.now() - (this.since ?? Date.now()) < LINGERS;
		// A game of one's own stays until a later one begins, or an earlier one waits.
		if (mine && !(shown && side(shown) && shown.started > mine.started && fresh)) return mine;
		if (shown && (!shown.result || !on.length || side(shown) || fresh)) return shown;
		return on[0] ?? [...store.games.values()].sort((a, b) => b.started - a.started)[0] ?? null;
	}

	#tellNothing() {
		const [heading, text] = this.nothing.querySelectorAll("h1, p");
		say(heading, this.wanted ? "There is no such game" : "No game is on");
		say(text, this.wanted ? `Nothing is known of ${this.wanted}.` : status().long);
	}
}
