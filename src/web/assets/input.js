// Move input on the board: by dragging, by two clicks, or by arrow keys and Enter.

import { button, el, pieceIcon } from "./dom.js";
import { pieceName } from "./chess.js";
import { Pocket } from "./pocket.js";

/** Distance after which a click becomes a drag, in pixels. */
const DRAG_THRESHOLD_PX = 5;

/** A click removes the focus from other elements, so that shortcuts work; only the keyboard focuses squares and pieces in hand. */
function blur(event) {
	event.preventDefault();
	document.activeElement?.blur();
}

export class BoardInput {
	/** `movable()` returns the pieces that can be moved: null, or `{color, targets}` with targets as in chess.js. `play(uci)` makes
	 * a move; `press()` is called before a press is handled, `cancel()` when a click selects nothing. */
	constructor(board, { movable, play, press, cancel }) {
		Object.assign(this, { board, movable, play, press, cancel, selected: null, drag: null, premove: [] });
		this.menu = el("div", { class: "promotion", role: "dialog", "aria-label": "Promote to", hidden: true });
		this.menu.addEventListener("keydown", (event) => this.#onMenuKey(event));
		this.menu.addEventListener("pointerdown", () => (this.menuPressed = true));
		/** The pockets above and below. */
		this.pockets = [this.#pocket(), this.#pocket()];
		const { node } = board;
		node.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
		node.addEventListener("mousedown", blur);
		node.addEventListener("pointermove", (event) => this.#onPointerMove(event));
		node.addEventListener("pointerup", (event) => this.#onPointerUp(event));
		node.addEventListener("pointercancel", (event) => this.#onPointerCancel(event));
		node.addEventListener("keydown", (event) => this.#onKeyDown(event));
	}

	/** A pocket whose pieces can be dragged, clicked and chosen by key, which continues on the board. */
	#pocket() {
		const pocket = new Pocket((kind) => {
			this.#select(`${kind}@`);
			this.board.focus();
		});
		pocket.node.addEventListener("mousedown", blur);
		pocket.node.addEventListener("pointerdown", (event) => this.#onPocketDown(event));
		pocket.node.addEventListener("pointermove", (event) => this.#onPointerMove(event));
		pocket.node.addEventListener("pointerup", (event) => this.#onPointerUp(event));
		pocket.node.addEventListener("pointercancel", (event) => this.#onPointerCancel(event));
		return pocket;
	}

	/** Updates the selection after a change of the position; it stays if the piece is still there. */
	refresh() {
		const movable = this.movable();
		const { selected } = this;
		const stays = Number.isInteger(selected) ? movable?.color[0] === this.board.board[selected]?.[0] : movable?.targets.has(selected);
		if (selected !== null && !stays) {
			this.#releasePiece();
			this.selected = null;
		}
		if (!movable) this.close();
		this.#showHints();
		this.board.node.classList.toggle("interactive", movable !== null);
	}

	/** Deselects the piece, cancels the premove and closes the promotion menu. */
	reset() {
		this.close();
		this.#releasePiece();
		this.#select(null);
		this.cancel();
	}

	#targetsFrom = (from) => (from === null ? null : this.movable()?.targets.get(from)) ?? new Map();

	#showHints() {
		this.board.showHints(this.selected, [...this.#targetsFrom(this.selected).keys()], this.premove);
		for (const pocket of this.pockets) pocket.select(this.selected);
	}

	#select(square) {
		this.selected = square;
		this.#showHints();
	}

	/** Ends dragging. */
	#releasePiece() {
		if (this.drag) this.#moveDragged();
		this.drag = null;
	}

	/** Handles the choice of a square. Returns whether a piece is selected now. */
	#onSquare(square) {
		const movable = this.movable();
		this.close();
		if (!movable) return false;
		if (this.#targetsFrom(this.selected).has(square)) {
			this.#completeMove(this.selected, square);
			return false;
		}
		if (this.board.board[square]?.[0] === movable.color[0] && square !== this.selected) {
			this.#select(square);
			return true;
		}
		if (this.selected === null) this.cancel();
		this.#select(null);
		return false;
	}

	#completeMove(from, to) {
		const moves = this.#targetsFrom(from).get(to);
		this.#select(null);
		if (moves.length === 1) this.play(moves[0]);
		else this.#askPromotion(to, moves);
	}

	#onPointerDown(event) {
		if (event.button !== 0 || !event.isPrimary) return;
		this.press();
		const square = this.board.at(event.clientX, event.clientY);
		if (square === null) return;
		this.#releasePiece();
		const before = this.selected;
		const mine = this.movable()?.color[0] === this.board.board[square]?.[0];
		// A click on the selected piece may begin a drag; if not, it deselects the piece when it ends.
		const isSelected = mine && before === square;
		// The move is made on release: what follows a press would take the focus from the promotion menu.
		const isTarget = this.#targetsFrom(before).has(square);
		if (!isSelected && !isTarget && !this.#onSquare(square)) return;
		this.drag = { pointerId: event.pointerId, from: square, isSelected, isTarget, x: event.clientX, y: event.clientY, moved: false };
		this.board.node.setPointerCapture(event.pointerId);
	}

	#onPocketDown(event) {
		if (event.button !== 0 || !event.isPrimary) return;
		this.press();
		const { piece } = event.target.closest("button:enabled")?.dataset ?? {};
		if (!piece) return;
		this.#releasePiece();
		const from = `${piece[1]}@`;
		const isSelected = this.selected === from;
		this.close();
		this.#select(from);
		this.drag = { pointerId: event.pointerId, from, piece, isSelected, x: event.clientX, y: event.clientY, moved: false };
		event.currentTarget.setPointerCapture(event.pointerId);
	}

	/** Moves the dragged piece to the pointer, or back without coordinates. */
	#moveDragged(...at) {
		const { from, piece } = this.drag;
		if (piece) this.board.dragDrop(piece, ...at);
		else this.board.dragPiece(from, ...at);
	}

	#onPointerMove(event) {
		const { drag } = this;
		if (drag?.pointerId !== event.pointerId || drag.isTarget) return;
		drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > DRAG_THRESHOLD_PX;
		if (drag.moved) this.#moveDragged(event.clientX, event.clientY);
	}

	#onPointerUp(event) {
		const { drag } = this;
		if (drag?.pointerId !== event.pointerId) return;
		const to = this.board.at(event.clientX, event.clientY);
		this.#releasePiece();
		if (drag.isTarget) {
			if (to === drag.from && this.#targetsFrom(this.selected).has(to)) this.#completeMove(this.selected, to);
		} else if (!drag.moved) {
			if (drag.isSelected) this.#select(null);
		} else if (to !== null && this.#targetsFrom(drag.from).has(to)) {
			this.#completeMove(drag.from, to);
		} else if (to !== drag.from) {
			this.#select(null);
		}
	}

	#onPointerCancel(event) {
		if (this.drag?.pointerId === event.pointerId) this.#releasePiece();
	}

	#onKeyDown(event) {
		const name = event.target.dataset?.square;
		if (!name) return;
		const square = this.board.squares.indexOf(event.target);
		const turned = this.board.flipped ? -1 : 1;
		const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
		if (step) {
			const file = (square & 7) + step[0] * turned;
			const rank = (square >> 3) + step[1] * turned;
			if (file >= 0 && file < 8 && rank >= 0 && rank < 8) this.#focus(8 * rank + file);
		} else if (event.key === "Enter" || event.key === " ") {
			this.#onSquare(square);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	#focus(square) {
		this.board.setTabStop(square);
		this.board.focus();
	}

	/** Arrow keys move between the pieces. */
	#onMenuKey(event) {
		const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
		if (!step) return;
		const choices = [...this.menu.children];
		const at = choices.indexOf(document.activeElement);
		choices.at((at + step) % choices.length).focus();
		event.preventDefault();
		event.stopPropagation();
	}

	/** Opens the promotion menu. */
	#askPromotion(to, moves) {
		const color = this.movable().color[0];
		const choice = (kind) => {
			const uci = moves.find((uci) => uci[4] === kind);
			const piece = color + kind.toUpperCase();
			const pick = (event) => {
				// A tap on the promotion square, which opens the menu, ends with a click on it.
				if (event.detail > 0 && !this.menuPressed) return;
				this.close();
				this.play(uci);
			};
			return uci && button(pieceIcon(piece), pick, { "aria-label": pieceName(piece) });
		};
		const choices = ["q", "n", "r", "b", "k"].map(choice).filter(Boolean);
		const down = this.board.y(to) < 4;
		// The queen is below the pointer.
		this.menu.replaceChildren(...(down ? choices : choices.reverse()));
		this.menu.hidden = false;
		this.menuPressed = false;
		this.promotionSquare = to;
		this.menu.style.left = `${this.board.x(to) * 12.5}%`;
		this.menu.style.top = down ? "0" : "auto";
		this.menu.style.bottom = down ? "auto" : "0";
		(down ? this.menu.firstChild : this.menu.lastChild).focus();
	}

	/** Closes the promotion menu. */
	close() {
		// The focus returns to the board.
		if (this.menu.contains(document.activeElement)) this.#focus(this.promotionSquare);
		this.menu.hidden = true;
	}
}
