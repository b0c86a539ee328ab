// The list of moves: click one to look back.

import { button, el, mark } from "./dom.js";
import { numbering } from "./chess.js";
import { score, span } from "./words.js";

export class Moves {
	/** `look(ply)` is called with the number of moves on the board that is wanted. */
	constructor(look) {
		this.list = el("ol", { class: "moves", "aria-label": "Moves" });
		this.node = el("div", { class: "movesbox" }, this.list);
		this.look = look;
		// What else is in the panel takes height from the list, and gives it back.
		new ResizeObserver(() => this.current && this.#reveal(this.current)).observe(this.node);
		this.known = [];
		this.buttons = [];
		this.titles = [];
	}

	/** `bare`: what the engine thought of the moves is not told. */
	show(game, ply, bare) {
		const kept = this.id === game.id && this.known.every((move, i) => game.moves[i]?.uci === move.uci);
		if (!kept) {
			this.id = game.id;
			this.known = [];
			this.buttons = [];
			this.list.replaceChildren();
		}
		const number = numbering(game.start_fen);
		for (let i = this.known.length; i < game.moves.length; i++) this.#add(game, i, number(i));
		// More may be known of the same moves.
		this.titles = game.moves.map((move, i) => (this.known[i] === move ? this.titles[i] : title(game, move)));
		this.known = [...game.moves];
		this.buttons.forEach((button, i) => mark(button, "title", bare ? null : this.titles[i]));
		const current = this.buttons[ply - 1];
		if (current !== this.current) {
			if (this.current) {
				mark(this.current, "aria-current", null);
				mark(this.current, "tabindex", -1);
			}
			this.current = current;
		}
		if (!current) {
			mark(this.buttons[0] ?? this.list, "tabindex", this.buttons.length ? 0 : null);
			this.node.scrollTop = 0;
			return;
		}
		mark(current, "aria-current", "true");
		mark(current, "tabindex", 0);
		this.#reveal(current);
	}

	#add(game, i, { number, black }) {
		const move = game.moves[i];
		const node = button(move.san, () => this.look(i + 1), { tabindex: -1 });
		this.buttons.push(node);
		if (!black || i === 0) {
			this.row = el("li", {}, el("span", { class: "number" }, `${number}.`), black && el("span", { class: "gap" }, "…"));
			this.list.append(this.row);
		}
		this.row.append(node);
	}

	/** Scrolls the list, and nothing but the list; on a phone it is one line. */
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

function title(game, { thought, spent_ms }) {
	const value = score(thought, game.ours);
	return [value?.text, spent_ms === null ? null : span(spent_ms)].filter(Boolean).join(", ") || null;
}
