// The hand at the board: moves by dragging, by two clicks, or by arrow keys and Enter.

import { button, el, figure } from "./dom.js";
import { pieceName } from "./chess.js";

/** As far as a pointer goes, in pixels, before a click is a drag. */
const DRAG = 5;

export class Hand {
	/** `grip()` gives what may be done now: null, or `{color, targets}` with targets as in chess.js.
	 * `play(uci)` does it. `drop()` is called when a click goes nowhere. */
	constructor(board, { grip, play, drop }) {
		Object.assign(this, { board, grip, play, drop, selected: null, drag: null, ahead: [] });
		this.menu = el("div", { class: "promotion", role: "dialog", "aria-label": "Promote to", hidden: true });
		this.menu.addEventListener("keydown", (event) => this.#walkMenu(event));
		const { node } = board;
		node.addEventListener("pointerdown", (event) => this.#down(event));
		// A click takes the keys away from where they were, and gives them to the game: squares are for those who walk on them.
		node.addEventListener("mousedown", (event) => {
			event.preventDefault();
			document.activeElement?.blur();
		});
		node.addEventListener("pointermove", (event) => this.#moved(event));
		node.addEventListener("pointerup", (event) => this.#up(event));
		node.addEventListener("pointercancel", () => this.#letGo());
		node.addEventListener("keydown", (event) => this.#key(event));
	}

	/** After any change of the position: what was chosen stays so if it can still go somewhere. */
	refresh() {
		const hold = this.grip();
		if (this.selected !== null && hold?.color[0] !== this.board.board[this.selected]?.[0]) {
			this.#letGo();
			this.selected = null;
		}
		if (!hold) this.close();
		this.#hint();
		this.board.node.classList.toggle("alive", hold !== null);
	}

	#to = (from) => (from === null ? null : this.grip()?.targets.get(from)) ?? new Map();

	#hint() {
		this.board.hint(this.selected, [...this.#to(this.selected).keys()], this.ahead);
	}

	#select(square) {
		this.selected = square;
		this.#hint();
	}

	/** Takes the hand off the piece. */
	#letGo() {
		if (this.drag) this.board.hold(this.drag.from);
		this.drag = null;
	}

	/** A square was chosen, by a click or a key. Tells whether a piece is in the hand now. */
	#choose(square) {
		const hold = this.grip();
		this.close();
		if (!hold) return false;
		if (this.#to(this.selected).has(square)) {
			this.#finish(this.selected, square);
			return false;
		}
		if (this.board.board[square]?.[0] === hold.color[0] && square !== this.selected) {
			this.#select(square);
			return true;
		}
		if (this.selected === null) this.drop();
		this.#select(null);
		return false;
	}

	#finish(from, to) {
		const moves = this.#to(from).get(to);
		this.#select(null);
		if (moves.length === 1) this.play(moves[0]);
		else this.#ask(to, moves);
	}

	#down(event) {
		if (event.button !== 0) return;
		const square = this.board.at(event.clientX, event.clientY);
		if (square === null) return;
		const before = this.selected;
		const mine = this.grip()?.color[0] === this.board.board[square]?.[0];
		// A click on what is chosen may begin a drag; whether it puts the piece down shows when it ends.
		const again = mine && before === square;
		if (!again && !this.#choose(square)) return;
		this.drag = { from: square, again, x: event.clientX, y: event.clientY, far: false };
		this.board.node.setPointerCapture(event.pointerId);
	}

	#moved(event) {
		const { drag } = this;
		if (!drag) return;
		drag.far ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > DRAG;
		if (drag.far) this.board.hold(drag.from, event.clientX, event.clientY);
	}

	#up(event) {
		const { drag } = this;
		if (!drag) return;
		const to = this.board.at(event.clientX, event.clientY);
		this.#letGo();
		if (!drag.far) {
			if (drag.again) this.#select(null);
		} else if (to !== null && this.#to(drag.from).has(to)) {
			this.#finish(drag.from, to);
		} else if (to !== drag.from) {
			this.#select(null);
		}
	}

	#key(event) {
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
			this.#choose(square);
		} else if (event.key === "Escape") {
			this.#select(null);
			this.drop();
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	#focus(square) {
		this.board.stop(square);
		this.board.focus();
	}

	/** Escape leaves the pawn where it is; arrows go from piece to piece. */
	#walkMenu(event) {
		const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
		if (event.key === "Escape") this.close();
		if (!step) return;
		const choices = [...this.menu.children];
		const at = choices.indexOf(document.activeElement);
		choices.at((at + step) % choices.length).focus();
		event.preventDefault();
		event.stopPropagation();
	}

	/** Asks what the pawn becomes. */
	#ask(to, moves) {
		const color = this.grip().color[0];
		const choice = (kind) => {
			const uci = moves.find((uci) => uci[4] === kind);
			const piece = color + kind.toUpperCase();
			const pick = () => {
				this.close();
				this.play(uci);
			};
			return uci && button(figure(piece), pick, { "aria-label": pieceName(piece) });
		};
		const choices = ["q", "n", "r", "b"].map(choice).filter(Boolean);
		const down = this.board.y(to) < 4;
		// The queen lies where the pointer is.
		this.menu.replaceChildren(...(down ? choices : choices.reverse()));
		this.menu.hidden = false;
		this.asks = to;
		this.menu.style.left = `${this.board.x(to) * 12.5}%`;
		this.menu.style.top = down ? "0" : "auto";
		this.menu.style.bottom = down ? "auto" : "0";
		(down ? this.menu.firstChild : this.menu.lastChild).focus();
	}

	/** Puts away the question what a pawn becomes. */
	close() {
		// Who chooses by keyboard goes on from the board.
		if (this.menu.contains(document.activeElement)) this.#focus(this.asks);
		this.menu.hidden = true;
	}
}
