// List of games: running ones as cards, recently finished ones as lines.

import { el, setAttribute, setText, syncList } from "./dom.js";
import { Board } from "./board.js";
import { showClock, timeLeft } from "./clocks.js";
import { boardFromFen, goalSquares, kingSquare, moveSquares, opposite, sideToMove } from "./chess.js";
import { controlledColor, hidesEngine, ourAccount, store, userColor } from "./store.js";
import { describeGame, describeResult, OUTCOME_LABELS, outcomeFor, whiteScore } from "./format.js";

/** Maximum number of finished games in the list. */
const MAX_FINISHED = 12;

/** Time for which a finished game keeps its card, in ms. */
const FINISHED_SLOT_MS = 8000;

/** The color at the bottom of the board: that of the user, or else ours. */
export const bottomColor = (game) => userColor(game) ?? game.ours;

/** Shows White's score in an evaluation bar, by the share of the color below; hides the bar without a score. */
export function showEvaluation(bar, score, below) {
	const win = score?.win ?? 0.5;
	bar.firstChild.style.transform = `scaleY(${below === "white" ? win : 1 - win})`;
	bar.firstChild.className = `eval-fill ${below}`;
	bar.classList.toggle("unknown", !score);
}

/** Whether the board is shown from Black's side; both sides of racing kings see it from White's. */
export const isFlipped = (game, below) => below === "black" && game.variant !== "racingKings";

/** The position, the squares of the last move, and the square of a king in check. */
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
		/** Ids of the games with a card, in order, and the time when finished ones of them ended. */
		this.slots = [];
		this.finishedAt = new Map();
		this.node.addEventListener("keydown", (event) => this.#onKeyDown(event));
	}

	/** Shows all games; `selectedId` is the id of the game on the main board. */
	show(selectedId) {
		this.selectedId = selectedId;
		const all = [...store.games.values()];
		this.#place(all.filter((game) => !game.result));
		const finished = all.filter((game) => game.result && !this.slots.includes(game.id)).reverse().slice(0, MAX_FINISHED);
		for (const id of this.cards.keys()) {
			if (!this.slots.includes(id)) this.cards.delete(id);
		}
		const running = this.slots.map((id) => store.games.get(id));
		const cards = new Map(running.map((game) => [game.id, this.#card(game)]));
		const focused = this.node.contains(document.activeElement) ? document.activeElement.dataset.game : null;
		syncList(this.running, running, ({ id }) => cards.get(id), ({ id }) => id);
		syncList(this.finished, finished, finishedLink, (game) => `${game.id} ${describeResult(game.result)} ${controlledColor(game)}`);
		this.heading.hidden = !finished.length;
		const links = this.#links();
		const current = links.find((link) => link.dataset.game === selectedId) ?? links[0];
		for (const link of links) {
			setAttribute(link, "aria-current", link.dataset.game === selectedId ? "true" : null);
			setAttribute(link, "tabindex", link === current ? 0 : -1);
		}
		// The focus follows a game whose card became a line.
		if (focused && !this.node.contains(document.activeElement)) (links.find((link) => link.dataset.game === focused) ?? current)?.focus();
	}

	#links = () => [...this.node.querySelectorAll("a")];

	/** Assigns a slot to each running game. A finished game keeps its slot for a while or until another game needs it, so that
	 * the other cards do not move. */
	#place(running) {
		const isRunning = (id) => running.some((game) => game.id === id);
		for (const id of this.slots) {
			if (!isRunning(id) && !this.finishedAt.has(id)) this.finishedAt.set(id, Date.now());
		}
		const fresh = running.map(({ id }) => id).filter((id) => !this.slots.includes(id));
		this.slots = this.slots.map((id) => (isRunning(id) || !fresh.length ? id : fresh.shift()));
		const stays = (id) => isRunning(id) || (store.games.has(id) && Date.now() - this.finishedAt.get(id) < FINISHED_SLOT_MS);
		this.slots = [...this.slots.filter(stays), ...fresh];
		for (const id of this.finishedAt.keys()) {
			if (isRunning(id) || !this.slots.includes(id)) this.finishedAt.delete(id);
		}
		clearTimeout(this.timer);
		if (this.finishedAt.size) this.timer = setTimeout(() => this.show(this.selectedId), FINISHED_SLOT_MS);
	}

	/** The list is one tab stop; arrow keys move between the games. */
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

	/** Updates the card of a game. */
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
		this.bar = el("span", { class: "bar", "aria-hidden": "true" }, el("span"));
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
		this.board.show({ ...boardMarks(game), flipped: isFlipped(game, below), goal: goalSquares(game.variant), label: `${game.white.name} against ${game.black.name}` });
		[opposite(below), below].forEach((color, i) => {
			const { title, name, rating, clock } = this.rows[i];
			setText(title, game[color].title ?? "");
			setText(name, game[color].name);
			setText(rating, game[color].rating ? `${game[color].rating}${game[color].provisional ? "?" : ""}` : "");
			clock.classList.toggle("running", game.clocks.running === color);
			showClock(clock, () => timeLeft(store.games.get(game.id) ?? game, color));
		});
		const value = whiteScore(game.thinking ?? game.moves.findLast((move) => move.thought)?.thought, game.ours);
		showEvaluation(this.bar, value, below);
		this.bar.hidden = hidesEngine(game);
		this.score.hidden = this.bar.hidden && !game.result;
		setText(this.score, game.result ? describeResult(game.result) : value ? `White ${value.text}` : "");
		setAttribute(this.node, "title", describeGame(game));
	}
}

/** A finished game, from the point of view of the user who played it, or else from ours. */
function finishedLink(game) {
	const color = controlledColor(game) ?? game.ours;
	const outcome = outcomeFor(game, color);
	return el(
		"a",
		{ class: "line", href: `#/game/${game.id}`, "data-game": game.id, title: `${describeGame(game)}: ${describeResult(game.result)}` },
		el("span", { class: `chip ${outcome}` }, OUTCOME_LABELS[outcome] ?? outcome),
		el("span", { class: "name" }, game[opposite(color)].name),
		el("span", { class: "quiet" }, [ourAccount(game), game.time_control].filter(Boolean).join(" · ")),
	);
}
