// Pieces in hand next to the board, in crazyhouse.

import { button, el, pieceIcon, setAttribute, setText } from "./dom.js";
import { pieceName } from "./chess.js";

export class Pocket {
	/** `choose(kind)` is called when a piece is chosen by key; the pointer is handled in input.js. */
	constructor(choose) {
		this.slots = Array.from("QRBNP", (kind) => {
			const count = el("span", { class: "count" });
			const node = button(count, (event) => event.detail === 0 && choose(kind), { "data-drop": kind });
			return { kind, count, node };
		});
		this.node = el("div", { class: "pocket", role: "group" }, this.slots.map(({ node }) => node));
	}

	/** Shows the pieces that a side has in hand; `active` is whether they can be dropped. */
	show(color, name, pieces, active) {
		Object.assign(this, { color, active });
		setAttribute(this.node, "aria-label", `${name}'s pieces in hand`);
		for (const { kind, count, node } of this.slots) {
			const piece = color[0] + kind;
			const n = pieces.filter((held) => held === piece).length;
			if (node.dataset.piece !== piece) {
				node.dataset.piece = piece;
				node.replaceChildren(pieceIcon(piece), count);
			}
			setText(count, n > 1 ? String(n) : "");
			setAttribute(node, "aria-label", `${pieceName(piece)}, ${n} in hand`);
			setAttribute(node, "disabled", !active || n === 0);
			node.classList.toggle("none", n === 0);
		}
	}

	/** Marks the selected piece: `P@`, `N@`, ... */
	select(origin) {
		for (const { kind, node } of this.slots) setAttribute(node, "aria-pressed", this.active ? String(origin === `${kind}@`) : null);
	}
}
