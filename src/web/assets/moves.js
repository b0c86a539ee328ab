// List of moves; a click shows the position after the move.

import { button, el, setAttribute } from "./dom.js";
import { moveNumbering } from "./chess.js";
import { formatDuration, whiteScore } from "./format.js";

export class MoveList {
	/** `goTo(ply)` is called with the number of moves after which the position is to be shown. */
	constructor(goTo) {
		this.list = el("ol", { class: "moves", "aria-label": "Moves" });
		this.node = el("div", { class: "movesbox" }, this.list);
		this.goTo = goTo;
		// The height of the list changes with the other contents of the panel.
		new ResizeObserver(() => this.current && this.#reveal(this.current)).observe(this.node);
		this.shownMoves = [];
		this.buttons = [];
		this.titles = [];
	}

	/** `bare`: the evaluations and times of the moves are hidden. */
	show(game, ply, bare) {
		const kept = this.id === game.id && this.shownMoves.every((move, i) => game.moves[i]?.uci === move.uci);
		if (!kept) {
			this.id = game.id;
			this.shownMoves = [];
			this.buttons = [];
			this.list.replaceChildren();
		}
		const number = moveNumbering(game.start_fen);
		for (let i = this.shownMoves.length; i < game.moves.length; i++) this.#add(game, i, number(i));
		// Search information of known moves may have been added.
		this.titles = game.moves.map((move, i) => (this.shownMoves[i] === move ? this.titles[i] : moveTitle(game, move)));
		this.shownMoves = [...game.moves];
		this.buttons.forEach((button, i) => setAttribute(button, "title", bare ? null : this.titles[i]));
		const current = this.buttons[ply - 1];
		if (current !== this.current) {
			if (this.current) {
				setAttribute(this.current, "aria-current", null);
				setAttribute(this.current, "tabindex", -1);
			}
			this.current = current;
		}
		if (!current) {
			setAttribute(this.buttons[0] ?? this.list, "tabindex", this.buttons.length ? 0 : null);
			this.node.scrollTop = 0;
			return;
		}
		setAttribute(current, "aria-current", "true");
		setAttribute(current, "tabindex", 0);
		this.#reveal(current);
	}

	#add(game, i, { number, black }) {
		const move = game.moves[i];
		const node = button(move.san, () => this.goTo(i + 1), { tabindex: -1 });
		this.buttons.push(node);
		if (!black || i === 0) {
			this.row = el("li", {}, el("span", { class: "number" }, `${number}.`), black && el("span", { class: "gap" }, "…"));
			this.list.append(this.row);
		}
		this.row.append(node);
	}

	/** Scrolls only the list and not the page; on a phone the list is one line. */
	#reveal(button) {
		const row = button.parentElement;
		const { scrollTop, clientHeight, scrollLeft, clientWidth } = this.node;
		const { offsetLeft: left, offsetWidth } = button;
		if (left < scrollLeft || left + offsetWidth > scrollLeft + clientWidth) this.node.scrollLeft = left - clientWidth / 2;
		const top = row.offsetTop - this.list.offsetTop;
		if (top < scrollTop || top + row.offsetHeight > scrollTop + clientHeight) {
			this.node.scrollTop = top - clientHeight / 2;
		}
	}
}

function moveTitle(game, { thought, spent_ms }) {
	const value = whiteScore(thought, game.ours);
	return [value?.text, spent_ms === null ? null : formatDuration(spent_ms)].filter(Boolean).join(", ") || null;
}
