// Graph of White's win probability, with the time of each move below it.

import { el, setAttribute, setText, svg } from "./dom.js";
import { moveNumbering } from "./chess.js";
import { formatDuration, whiteScore } from "./format.js";

/** Height of the curve and of the bars, in units of the drawing; its width is one for each ply. */
const CURVE_HEIGHT = 60;
const BARS_HEIGHT = 24;

/** Minimum width in plies: shorter games do not fill the graph. */
const MIN_WIDTH = 40;

/** Maximum distance in plies of two connected values; the engine of one side evaluates every second ply. */
const MAX_GAP = 2;

/** Splits values at gaps. */
function segmentsOf(points) {
	const all = [];
	for (const point of points) {
		if (point.i - (all.at(-1)?.at(-1).i ?? -Infinity) <= MAX_GAP) all.at(-1).push(point);
		else all.push([point]);
	}
	return all;
}

/** Draws consecutive values. */
function drawSegment(points) {
	const y = ({ value }) => (CURVE_HEIGHT * (1 - value.win)).toFixed(2);
	const [left, right] = [points[0].i, points.at(-1).i + 1];
	const middle = points.map((point) => `${point.i + 0.5} ${y(point)}`);
	const line = [`${left} ${y(points[0])}`, ...middle, `${right} ${y(points.at(-1))}`].join("L");
	return [
		svg("rect", { class: "black-area", x: left, width: right - left, height: CURVE_HEIGHT }),
		svg("path", { class: "white-area", d: `M${line}V${CURVE_HEIGHT}H${left}z` }),
		svg("path", { class: "line", d: `M${line}` }),
	];
}

export class Graph {
	constructor(goTo) {
		this.goTo = goTo;
		this.curve = svg("g", {});
		this.cursor = svg("line", { class: "cursor", y1: 0, y2: CURVE_HEIGHT + BARS_HEIGHT });
		this.drawing = svg("svg", { class: "graph", preserveAspectRatio: "none", role: "img" }, this.curve, this.cursor);
		this.caption = el("p", { class: "caption", "aria-hidden": "true" });
		this.node = el("div", { class: "graphbox" }, this.drawing, this.caption);
		const plyAt = (event) => {
			const box = this.drawing.getBoundingClientRect();
			return Math.min(this.game.moves.length, Math.floor(((event.clientX - box.left) / box.width) * this.width) + 1);
		};
		this.drawing.addEventListener("click", (event) => this.goTo(plyAt(event)));
		this.drawing.addEventListener("pointermove", (event) => this.#showCaption(plyAt(event)));
		this.drawing.addEventListener("pointerleave", () => this.#showCaption(this.ply));
	}

	show(game, ply) {
		const last = game.moves.at(-1);
		if (this.game !== game || this.last !== last) {
			Object.assign(this, { game, last });
			this.#draw();
		}
		this.ply = ply;
		setAttribute(this.cursor, "x1", ply - 0.5);
		setAttribute(this.cursor, "x2", ply - 0.5);
		setAttribute(this.cursor, "visibility", ply > 0 ? null : "hidden");
		this.#showCaption(ply);
	}

	#draw() {
		const { moves, ours } = this.game;
		this.width = Math.max(MIN_WIDTH, moves.length);
		setAttribute(this.drawing, "viewBox", `0 0 ${this.width} ${CURVE_HEIGHT + BARS_HEIGHT}`);
		const points = moves.map((move, i) => ({ i, value: whiteScore(move.thought, ours) })).filter(({ value }) => value);
		const end = points.at(-1)?.value;
		setAttribute(this.drawing, "aria-label", `Win probability over ${Math.ceil(moves.length / 2)} moves${end ? `, ${end.text} at the end` : ""}`);
		this.curve.replaceChildren(
			...segmentsOf(points).flatMap(drawSegment),
			svg("line", { class: "even", x1: 0, x2: this.width, y1: CURVE_HEIGHT / 2, y2: CURVE_HEIGHT / 2 }),
			svg("path", { class: "time white", d: this.#bars(0) }),
			svg("path", { class: "time black", d: this.#bars(1) }),
		);
	}

	/** One bar per move of a side: White's upwards, Black's downwards. The height is the square root of the time, so that short
	 * times remain visible next to long ones. */
	#bars(side) {
		const { moves } = this.game;
		const max = Math.sqrt(Math.max(1000, ...moves.map((move) => move.spent_ms ?? 0)));
		const middle = CURVE_HEIGHT + BARS_HEIGHT / 2 + 1;
		return moves
			.map((move, i) => {
				if ((move.by === "white") !== (side === 0) || !move.spent_ms) return "";
				const height = (Math.sqrt(move.spent_ms) / max) * (BARS_HEIGHT / 2 - 1);
				return `M${i + 0.1} ${middle}h.8v${(side ? height : -height).toFixed(2)}h-.8z`;
			})
			.join("");
	}

	#showCaption(ply) {
		const move = this.game?.moves[ply - 1];
		if (!move) return setText(this.caption, "");
		const { number, black } = moveNumbering(this.game.start_fen)(ply - 1);
		const value = whiteScore(move.thought, this.game.ours);
		const parts = [`${number}.${black ? ".." : ""} ${move.san}`, value?.text, move.spent_ms === null ? null : formatDuration(move.spent_ms)];
		setText(this.caption, parts.filter(Boolean).join("  ·  "));
	}
}
