// The games of the moment as cards, and those just over as lines.

import { el, setAttribute, setText, syncList } from "./dom.js";
import { Board } from "./board.js";
import { showClock, timeLeft } from "./clocks.js";
import { boardFromFen, kingSquare, moveSquares, opposite, sideToMove } from "./chess.js";
import { controlledColor, ourAccount, store, userColor } from "./store.js";
import { describeGame, describeResult, OUTCOME_LABELS, outcomeFor, whiteScore } from "./format.js";

/** As many games that are over stay in sight. */
const MAX_FINISHED = 12;

/** So long a game that is over keeps its place among the others, in ms. */
const FINISHED_SLOT_MS = 8000;

/** The color at the bottom of a game's board: the person's before the page, or ours. */
export const bottomColor = (game) => userColor(game) ?? game.ours;

/** The squares of a game's last move and of a king in check, as a board shows them. */
export function boardMarks(game) {
	const board = boardFromFen(game.fen);
	const last = game.moves.at(-1);
	return { board, last: last ? moveSquares(last.uci) : [], check: game.check ? kingSquare(board, sideToMove(game.fen)) : null };
}

export class Cards {
	constructor() {
		this.running = el("div", { class: "running-games" });
		this.finished = el("div", { class: "finished-games" });
		this.heading = el("h2", { hidden: true }, "Just over");
		this.node = el("nav", { class: "cards", "aria-label": "Games" }, this.running, this.heading, this.finished);
		this.cards = new Map();
		/** The ids of the games with a card, in the order of their places, and when those that are over have ended. */
		this.slots = [];
		this.finishedAt = new Map();
		this.node.addEventListener("keydown", (event) => this.#onKeyDown(event));
	}

	/** Shows all games; `selectedId` is the id of the one on the big board. */
	show(selectedId) {
		this.selectedId = selectedId;
		const all = [...store.games.values()];
		this.#place(all.filter((game) => !game.result));
		const over = all.filter((game) => game.result && !this.slots.includes(game.id)).reverse().slice(0, MAX_FINISHED);
		for (const id of this.cards.keys()) {
			if (!this.slots.includes(id)) this.cards.delete(id);
		}
		const on = this.slots.map((id) => store.games.get(id));
		const cards = new Map(on.map((game) => [game.id, this.#card(game)]));
		const held = this.node.contains(document.activeElement) ? document.activeElement.dataset.game : null;
		syncList(this.running, on, ({ id }) => cards.get(id), ({ id }) => id);
		syncList(this.finished, over, finishedLink, (game) => `${game.id} ${describeResult(game.result)} ${controlledColor(game)}`);
		this.heading.hidden = !over.length;
		const links = this.#links();
		const current = links.find((link) => link.dataset.game === selectedId) ?? links[0];
		for (const link of links) {
			setAttribute(link, "aria-current", link.dataset.game === selectedId ? "true" : null);
			setAttribute(link, "tabindex", link === current ? 0 : -1);
		}
		// A card that has become a line keeps the focus.
		if (held && !this.node.contains(document.activeElement)) (links.find((link) => link.dataset.game === held) ?? current)?.focus();
	}

	#links = () => [...this.node.querySelectorAll("a")];

	/** Gives each running game a place. One that has ended keeps its own for a while, or until another game needs it, so that the
	 * others stay where they are. */
	#place(on) {
		const isOn = (id) => on.some((game) => game.id === id);
		for (const id of this.slots) {
			if (!isOn(id) && !this.finishedAt.has(id)) this.finishedAt.set(id, Date.now());
		}
		const fresh = on.map(({ id }) => id).filter((id) => !this.slots.includes(id));
		this.slots = this.slots.map((id) => (isOn(id) || !fresh.length ? id : fresh.shift()));
		const stays = (id) => isOn(id) || (store.games.has(id) && Date.now() - this.finishedAt.get(id) < FINISHED_SLOT_MS);
		this.slots = [...this.slots.filter(stays), ...fresh];
		for (const id of this.finishedAt.keys()) {
			if (isOn(id) || !this.slots.includes(id)) this.finishedAt.delete(id);
		}
		clearTimeout(this.timer);
		if (this.finishedAt.size) this.timer = setTimeout(() => this.show(this.selectedId), FINISHED_SLOT_MS);
	}

	/** The games are one stop of the keyboard, and arrows go through them. */
	#onKeyDown(event) {
		const links = this.#links();
		const at = links.indexOf(document.activeElement);
		const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: links.length - 1 }[event.key];
		if (to === undefined || at < 0) return;
		event.preventDefault();
		event.stopPropagation();
		const link = links[to];
		if (!link) return;
		for (const other of links) setAttribute(other, "tabindex", other === link ? 0 : -1);
		link.focus();
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
		this.share = el("span", { class: "eval-fill" });
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
		const below = bottomColor(game);
		this.board.show({ ...boardMarks(game), flipped: below === "black", label: `${game.white.name} against ${game.black.name}` });
		[opposite(below), below].forEach((color, i) => {
			const { title, name, rating, clock } = this.rows[i];
			setText(title, game[color].title ?? "");
			setText(name, game[color].name);
			setText(rating, game[color].rating ? `${game[color].rating}${game[color].provisional ? "?" : ""}` : "");
			clock.classList.toggle("running", game.clocks.running === color);
			showClock(clock, () => timeLeft(store.games.get(game.id) ?? game, color));
		});
		const value = whiteScore(game.thinking ?? game.moves.findLast((move) => move.thought)?.thought, game.ours);
		const win = value?.win ?? 0.5;
		this.share.style.height = `${100 * (below === "white" ? win : 1 - win)}%`;
		this.share.className = `eval-fill ${below}`;
		// Who plays is not told how he stands.
		this.bar.hidden = userColor(game) !== null;
		this.score.hidden = this.bar.hidden && !game.result;
		this.bar.classList.toggle("unknown", !value);
		setText(this.score, game.result ? describeResult(game.result) : value ? `White ${value.text}` : "");
		setAttribute(this.node, "title", describeGame(game));
	}
}

/** A game that is over, from the side of the one who played it in this window, or from ours. */
function finishedLink(game) {
	const color = controlledColor(game) ?? game.ours;
	const went = outcomeFor(game, color);
	return el(
		"a",
		{ class: "line", href: `#/game/${game.id}`, "data-game": game.id, title: `${describeGame(game)}: ${describeResult(game.result)}` },
		el("span", { class: `chip ${went}` }, OUTCOME_LABELS[went] ?? went),
		el("span", { class: "name" }, game[opposite(color)].name),
		el("span", { class: "quiet" }, [ourAccount(game), game.time_control].filter(Boolean).join(" · ")),
	);
}
