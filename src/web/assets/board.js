// Chess board as an SVG with a unit of one square.

import { setAttribute, svg } from "./dom.js";
import { pieceName, squareName } from "./chess.js";

/** Changes of more pieces than this are not animated: the position is a different one. */
const MAX_ANIMATED = 4;

const DARK_SQUARES = Array.from({ length: 32 }, (_, i) => {
	const y = i >> 2;
	return `M${2 * (i & 3) + 1 - (y & 1)} ${y}h1v1h-1z`;
}).join("");

export class Board {
	/** `squares`: whether squares are accessible elements; if not, the board is a single image. */
	constructor({ squares = false, coordinates = false } = {}) {
		const layer = (name) => svg("g", { class: name });
		this.layers = {
			goal: layer("goal"),
			marks: layer("marks"),
			chosen: layer("chosen"),
			coordinates: layer("coordinates"),
			drag: layer("drag"),
			pieces: layer("pieces"),
			explosion: layer("explosion"),
			hints: layer("hints"),
			arrows: layer("arrows"),
			badges: layer("badges"),
			squares: layer("squares"),
			focus: layer("focus"),
		};
		this.node = svg(
			"svg",
			{ viewBox: "0 0 8 8", class: "board", role: squares ? "grid" : "img" },
			svg("rect", { class: "light", width: 8, height: 8 }),
			svg("path", { class: "dark", d: DARK_SQUARES }),
			Object.values(this.layers),
		);
		this.flipped = false;
		this.targets = [];
		this.drawn = {};
		this.pieces = new Map();
		this.squares = squares ? this.#squares() : null;
		if (coordinates) this.#coordinates();
		this.#place();
	}

	x = (square) => (this.flipped ? 7 - (square & 7) : square & 7);
	y = (square) => (this.flipped ? square >> 3 : 7 - (square >> 3));

	/** The square under a point of the window, or null. */
	at(clientX, clientY) {
		const { x, y } = this.point(clientX, clientY);
		if (x < 0 || y < 0 || x >= 8 || y >= 8) return null;
		const [file, row] = [Math.floor(x), Math.floor(y)];
		return this.flipped ? 7 - file + 8 * row : file + 8 * (7 - row);
	}

	point(clientX, clientY) {
		const box = this.node.getBoundingClientRect();
		return { x: ((clientX - box.left) / box.width) * 8, y: ((clientY - box.top) / box.height) * 8 };
	}

	/** Shows a position: `board` is an array of 64 squares, `last` and `check` are the squares of the last move and of a king in
	 * check, `arrows` are `{from, to, kind}`, `badges` are `[square, kind]`, `goal` are the squares that win, and `explosion` those of
	 * an explosion. */
	show({ board, last = [], check = null, arrows = [], badges = [], goal = [], explosion = [], flipped = false, label }) {
		if (this.flipped !== flipped) {
			this.flipped = flipped;
			this.#place();
		}
		this.board = board;
		this.#setPieces(board);
		this.layers.marks.replaceChildren(
			...last.map((square) => this.#tile(square, "last")),
			...(check === null ? [] : [this.#tile(check, "check")]),
		);
		this.#draw("arrows", arrows, (arrow) => this.#arrow(arrow));
		this.#draw("goal", goal, (square) => this.#tile(square, "goal"));
		this.#explode(explosion);
		this.layers.badges.replaceChildren(...badges.map((badge) => this.#badge(...badge)));
		setAttribute(this.node, "aria-label", label);
		this.squares?.forEach((_, square) => this.#labelSquare(square));
	}

	/** Fills a layer, unless it has these items already. */
	#draw(layer, items, make) {
		const drawn = JSON.stringify([items, this.flipped]);
		if (this.drawn[layer] === drawn) return;
		this.drawn[layer] = drawn;
		this.layers[layer].replaceChildren(...items.map(make));
	}

	/** Starts the animation of an explosion, unless it is the one shown last. It goes on when the next position is shown. */
	#explode(squares) {
		const shown = JSON.stringify(squares);
		if (this.explosion === shown) return;
		this.explosion = shown;
		// A hidden board does not run animations, so they would all run once it is visible.
		if (!squares.length || !this.node.getClientRects().length) return;
		const tiles = squares.map((square) => this.#tile(square, "exploded"));
		for (const tile of tiles) tile.addEventListener("animationend", () => tile.remove());
		this.layers.explosion.replaceChildren(...tiles);
	}

	/** Sets the label of a square for screen readers. */
	#labelSquare(square) {
		const piece = this.board[square];
		const parts = [squareName(square), piece && pieceName(piece), this.targets.includes(square) && "can be moved to"];
		setAttribute(this.squares[square], "aria-label", parts.filter(Boolean).join(", "));
	}

	/** Marks the selected square, its targets and the premove. */
	showHints(selected, to, premove = []) {
		this.targets = to;
		this.layers.chosen.replaceChildren(
			...premove.map((square) => this.#tile(square, "premove")),
			...(Number.isInteger(selected) ? [this.#tile(selected, "selected")] : []),
		);
		this.layers.hints.replaceChildren(
			...to.map((square) =>
				this.board[square]
					? svg("circle", { class: "capture", cx: this.x(square) + 0.5, cy: this.y(square) + 0.5, r: 0.44 })
					: svg("circle", { class: "destination", cx: this.x(square) + 0.5, cy: this.y(square) + 0.5, r: 0.15 }),
			),
		);
		this.squares?.forEach((cell, square) => {
			setAttribute(cell, "aria-selected", square === selected ? "true" : to.includes(square) ? "false" : null);
			setAttribute(cell, "data-target", to.includes(square) ? "" : null);
			this.#labelSquare(square);
		});
	}

	/** Moves a piece to the pointer, with a ghost on its square and a ring on the target below the pointer. Without coordinates it is
	 * moved back. */
	dragPiece(square, clientX, clientY) {
		const entry = this.pieces.get(square);
		const dragged = clientX !== undefined;
		// The piece may have left its square meanwhile.
		this.dragged?.classList.remove("dragged");
		this.dragged = dragged ? entry?.node : null;
		if (!entry) return this.layers.drag.replaceChildren();
		entry.node.classList.toggle("dragged", dragged);
		const [x, y] = [this.x(square), this.y(square)];
		this.layers.drag.replaceChildren(
			...(dragged ? this.#ring(clientX, clientY) : []),
			...(dragged ? [svg("use", { class: "ghost", href: `#${entry.piece}`, width: 1, height: 1, x, y })] : []),
		);
		if (!dragged) {
			this.#move(entry.node, square);
		} else {
			const { x, y } = this.point(clientX, clientY);
			entry.node.style.transform = `translate(${x - 0.5}px, ${y - 0.5}px)`;
			this.layers.pieces.append(entry.node);
		}
	}

	/** Shows a piece of a pocket at the pointer. Without coordinates it is removed. */
	dragDrop(piece, clientX, clientY) {
		const dragged = clientX !== undefined;
		const { x, y } = dragged ? this.point(clientX, clientY) : {};
		this.layers.drag.replaceChildren(
			...(dragged ? [...this.#ring(clientX, clientY), svg("use", { href: `#${piece}`, width: 1, height: 1, x: x - 0.5, y: y - 0.5 })] : []),
		);
	}

	/** A ring on the square below the pointer, if it is a target. */
	#ring(clientX, clientY) {
		const to = this.at(clientX, clientY);
		if (!this.targets.includes(to)) return [];
		return [this.#tile(to, "hovered"), svg("rect", { class: "ring", x: this.x(to) + 0.035, y: this.y(to) + 0.035, width: 0.93, height: 0.93 })];
	}

	#squares() {
		const cells = Array(64);
		// In reading order of a grid: from the eighth rank.
		for (let rank = 7; rank >= 0; rank--) {
			const row = svg("g", { role: "row" });
			for (let file = 0; file < 8; file++) {
				const square = 8 * rank + file;
				cells[square] = svg("rect", { role: "gridcell", width: 1, height: 1, tabindex: -1, "data-square": squareName(square) });
				row.append(cells[square]);
			}
			this.layers.squares.append(row);
		}
		cells[4].setAttribute("tabindex", 0);
		// A dark and a light line: one of them stands out from any color.
		const ring = (at) => svg("rect", { x: at, y: at, width: 1 - 2 * at, height: 1 - 2 * at });
		this.layers.focus.append(ring(0.045), ring(0.11));
		this.layers.squares.addEventListener("focusin", () => this.#placeFocus());
		return cells;
	}

	/** Makes a square the tab stop of the board. */
	setTabStop(square) {
		this.squares.forEach((cell, i) => setAttribute(cell, "tabindex", i === square ? 0 : -1));
	}

	/** Focuses the tab stop. */
	focus() {
		this.squares.find((cell) => cell.getAttribute("tabindex") === "0").focus();
	}

	#coordinates() {
		this.coordinateTexts = Array.from({ length: 16 }, (_, i) => {
			const text = svg("text", { class: (i + (i < 8 ? 1 : 0)) & 1 ? "on-dark" : "on-light" });
			if (i < 8) setAttribute(text, "text-anchor", "end");
			return text;
		});
		this.layers.coordinates.append(...this.coordinateTexts);
		setAttribute(this.layers.coordinates, "aria-hidden", "true");
	}

	/** Moves the focus ring to the focused square. */
	#placeFocus() {
		const square = this.squares.indexOf(document.activeElement);
		if (square >= 0) this.#move(this.layers.focus, square);
	}

	/** Positions everything for the orientation. */
	#place() {
		this.coordinateTexts?.forEach((text, i) => {
			const along = i & 7;
			if (i < 8) {
				setAttribute(text, "x", along + 0.95);
				setAttribute(text, "y", 7.94);
				text.textContent = "abcdefgh"[this.flipped ? 7 - along : along];
			} else {
				setAttribute(text, "x", 0.05);
				setAttribute(text, "y", along + 0.22);
				text.textContent = this.flipped ? along + 1 : 8 - along;
			}
		});
		this.squares?.forEach((cell, square) => {
			setAttribute(cell, "x", this.x(square));
			setAttribute(cell, "y", this.y(square));
		});
		for (const [square, { node }] of this.pieces) this.#move(node, square);
		if (this.squares) this.#placeFocus();
	}

	#move(node, square) {
		node.style.transform = `translate(${this.x(square)}px, ${this.y(square)}px)`;
	}

	#setPieces(board) {
		const leaving = [...this.pieces].filter(([square, entry]) => board[square] !== entry.piece);
		const coming = [];
		board.forEach((piece, square) => {
			if (piece && this.pieces.get(square)?.piece !== piece) coming.push(square);
		});
		if (!leaving.length && !coming.length) return;
		this.node.classList.toggle("no-animation", coming.length > MAX_ANIMATED);
		for (const [square] of leaving) this.pieces.delete(square);
		for (const square of coming) {
			const piece = board[square];
			const distance = ([from]) => Math.hypot((from & 7) - (square & 7), (from >> 3) - (square >> 3));
			const mover = leaving
				.filter(([, entry]) => entry.piece === piece)
				.sort((a, b) => distance(a) - distance(b))[0];
			if (mover) {
				leaving.splice(leaving.indexOf(mover), 1);
				this.pieces.set(square, mover[1]);
				this.layers.pieces.append(mover[1].node);
				this.#move(mover[1].node, square);
			} else {
				const node = svg("use", { href: `#${piece}`, width: 1, height: 1 });
				this.pieces.set(square, { piece, node });
				this.#move(node, square);
				this.layers.pieces.append(node);
			}
		}
		for (const [, entry] of leaving) entry.node.remove();
	}

	#tile(square, name) {
		return svg("rect", { class: name, x: this.x(square), y: this.y(square), width: 1, height: 1 });
	}

	/** A badge on a king's square: a cross for a loss, an equals sign for a draw. */
	#badge(square, kind) {
		const d = kind === "drawn" ? "M-.09 -.045H.09M-.09 .045H.09" : "M-.075 -.075L.075 .075M-.075 .075L.075 -.075";
		const at = `translate(${this.x(square) + 0.81} ${this.y(square) + 0.19})`;
		return svg("g", { class: `badge ${kind}`, transform: at }, svg("circle", { r: 0.16 }), svg("path", { d }));
	}

	/** An arrow, or a circle for a drop. */
	#arrow({ from, to, kind }) {
		if (!Number.isInteger(from)) return svg("circle", { class: `arrow ${kind} drop`, cx: this.x(to) + 0.5, cy: this.y(to) + 0.5, r: 0.42 });
		const [x1, y1] = [this.x(from) + 0.5, this.y(from) + 0.5];
		const [x2, y2] = [this.x(to) + 0.5, this.y(to) + 0.5];
		const length = Math.hypot(x2 - x1, y2 - y1);
		const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
		const half = kind === "best" ? 0.085 : 0.06;
		const head = kind === "best" ? 0.36 : 0.3;
		const at = (along, aside) => `${(x1 + ux * along - uy * aside).toFixed(3)} ${(y1 + uy * along + ux * aside).toFixed(3)}`;
		const neck = length - head;
		const wing = head * 0.58;
		const outline = [[0.3, half], [neck, half], [neck, wing], [length - 0.02, 0], [neck, -wing], [neck, -half], [0.3, -half]];
		return svg("path", { class: `arrow ${kind}`, d: `M${outline.map(([along, aside]) => at(along, aside)).join("L")}Z` });
	}
}
