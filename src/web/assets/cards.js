// The games of the moment as cards, and those just over as lines.

import { el, list, mark, say } from "./dom.js";
import { Board } from "./board.js";
import { face, left } from "./clocks.js";
import { kingOf, other, pieces, touched, turn } from "./chess.js";
import { ours, store, side } from "./store.js";
import { ending, kind, score, RESULTS } from "./words.js";

/** As many games that are over stay in sight. */
const OVER = 12;

/** The color at the bottom of a game's board: the person's before the page, or ours. */
export const bottom = (game) => side(game) ?? game.ours;

/** The squares of a game's last move and of a king in check, as a board shows them. */
export function marks(game) {
	const board = pieces(game.fen);
	const last = game.moves.at(-1);
	return { board, last: last ? touched(last.uci) : [], check: game.check ? kingOf(board, turn(game.fen)) : null };
}

export class Cards {
	constructor() {
		this.on = el("div", { class: "on" });
		this.over = el("div", { class: "over" });
		this.heading = el("h2", {}, "Just over");
		this.node = el("nav", { class: "cards", "aria-label": "Games" }, this.on, this.heading, this.over);
		this.cards = new Map();
	}

	/** Shows all games; `chosen` is the id of the one on the big board. */
	show(chosen) {
		const all = [...store.games.values()];
		const on = all.filter((game) => !game.result);
		const over = all.filter((game) => game.result).reverse().slice(0, OVER);
		for (const id of this.cards.keys()) {
			if (!on.some((game) => game.id === id)) this.cards.delete(id);
		}
		const cards = new Map(on.map((game) => [game.id, this.#card(game)]));
		list(this.on, on, ({ id }) => cards.get(id), ({ id }) => id);
		list(this.over, over, line, ({ id, result }) => `${id} ${ending(result)}`);
		this.heading.hidden = !over.length;
		for (const link of this.node.querySelectorAll("a")) {
			mark(link, "aria-current", link.dataset.game === chosen ? "true" : null);
		}
	}

	/** Shows one game again. */
	refresh(id) {
		const game = store.games.get(id);
		if (this.cards.has(id) && game) this.#card(game);
	}

	#card(game) {
		if (!this.cards.has(game.id)) this.cards.set(game.id, new Card(game));
		const card = this.cards.get(game.id);
		card.show(game);
		return card.node;
	}
}

class Card {
	constructor(game) {
		this.board = new Board();
		this.rows = [0, 1].map(() => ({
			title: el("span", { class: "title" }), name: el("span", { class: "name" }), rating: el("span", { class: "quiet" }), clock: el("span", { class: "clock" }),
		}));
		const row = (i) => el("span", { class: "row" }, Object.values(this.rows[i]));
		this.score = el("span", { class: "quiet" });
		this.share = el("span", { class: "share" });
		this.bar = el("span", { class: "bar", "aria-hidden": "true" }, this.share);
		this.node = el(
			"a",
			{ class: "card", href: `#/game/${game.id}`, "data-game": game.id },
			row(0),
			el("span", { class: "small" }, this.board.node, this.bar),
			row(1),
			this.score,
		);
	}

	show(game) {
		const below = bottom(game);
		this.board.show({ ...marks(game), flipped: below === "black", label: `${game.white.name} against ${game.black.name}` });
		[other(below), below].forEach((color, i) => {
			const { title, name, rating, clock } = this.rows[i];
			say(title, game[color].title ?? "");
			say(name, game[color].name);
			say(rating, game[color].rating ? `${game[color].rating}${game[color].provisional ? "?" : ""}` : "");
			clock.classList.toggle("running", game.clocks.running === color);
			face(clock, () => left(store.games.get(game.id) ?? game, color));
		});
		const value = score(game.thinking ?? game.moves.findLast((move) => move.thought)?.thought, game.ours);
		const win = value?.win ?? 0.5;
		this.share.style.height = `${100 * (below === "white" ? win : 1 - win)}%`;
		this.share.className = `share ${below}`;
		// Who plays is not told how he stands.
		this.bar.hidden = this.score.hidden = side(game) !== null;
		say(this.score, value ? `White ${value.text}` : "");
		mark(this.node, "title", kind(game));
	}
}

function line(game) {
	const { outcome } = game.result;
	return el(
		"a",
		{ class: "line", href: `#/game/${game.id}`, "data-game": game.id, title: `${kind(game)}: ${ending(game.result)}` },
		el("span", { class: `chip ${outcome}` }, RESULTS[outcome] ?? outcome),
		el("span", { class: "name" }, game[other(game.ours)].name),
		el("span", { class: "quiet" }, [ours(game), game.time_control].filter(Boolean).join(" · ")),
	);
}
