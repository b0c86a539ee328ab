// Engine panel: search information and principal variation. Pointing at a move previews it on the board.

import { button, el, setText, syncList } from "./dom.js";
import { moveNumbering } from "./chess.js";
import { capitalize, formatCount, formatDuration, formatPercent, whiteScore } from "./format.js";

const SOURCES = { book: "From the opening book", only: "The only legal move" };

export class EnginePanel {
	/** `preview(move)` is called with a move of the principal variation, or with null at the end of the preview. */
	constructor(preview) {
		this.preview = preview;
		this.title = el("h2", {}, "Engine");
		this.score = el("strong", { class: "score" });
		this.chance = el("span", { class: "chance" });
		this.facts = el("span", {});
		this.numbers = el("ul", {});
		this.details = el("details", { class: "facts" }, el("summary", {}, this.facts), this.numbers);
		this.line = el("ol", { class: "line", "aria-label": "Expected line" });
		this.legend = el("p", { class: "legend" }, el("span", {}, "best move"), el("span", { class: "reply" }, "expected reply"));
		this.line.addEventListener("pointerleave", () => this.#setPreview(null));
		this.line.addEventListener("focusout", () => this.#setPreview(null));
		this.node = el(
			"section",
			{ class: "thinking", "aria-label": "What the engine thinks" },
			el("header", {}, this.title, this.chance, this.score),
			this.line,
			this.details,
			this.legend,
		);
	}

	/** `report` belongs to the position after `ply` moves; `live` is whether the search is running. */
	show(game, report, ply, live) {
		this.node.classList.toggle("busy", live);
		const value = whiteScore(report, game.ours);
		const name = game[game.ours].name;
		setText(this.score, value?.text ?? "");
		const ours = value && (game.ours === "white" ? value.win : 1 - value.win);
		setText(this.chance, value ? `${name} ${formatPercent(ours)}` : "");
		const engine = report?.source === "fallback" ? "embedded" : game.engine;
		setText(this.title, `${live ? "Thinking" : "Engine"}${engine ? ` (${engine})` : ""}`);
		setText(this.facts, report ? searchSummary(report) : "No search yet");
		syncList(this.numbers, isSearch(report?.source) ? searchDetails(report) : [], (text) => el("li", {}, text));
		this.details.classList.toggle("bare", !this.numbers.children.length);
		// Moves that the new line shares with the old one keep their nodes and the focus.
		let path = `${game.id} ${ply}`;
		const steps = (report?.pv ?? []).map((step, i) => ({ step, i, path: (path += ` ${step.uci}`) }));
		syncList(this.line, steps, ({ step, i }) => this.#step(game, step, ply, i), (item) => item.path);
		// The preview ends if its move is no longer in the line.
		if (this.previewNode && !this.previewNode.isConnected) this.#setPreview(null);
	}

	#setPreview(step, node = null) {
		this.previewNode = node;
		this.preview(step);
	}

	#step(game, step, ply, i) {
		const { number, black } = moveNumbering(game.start_fen)(ply + i);
		const label = black ? (i ? "" : `${number}…`) : `${number}.`;
		const show = () => this.#setPreview(step, node);
		const node = button(step.san, show, { onpointerenter: show, onfocus: show });
		return el("li", {}, label && el("span", { class: "number" }, label), node);
	}
}

/** Whether a move comes from a search: of the engine, or of the embedded one in its place. */
function isSearch(source) {
	return source === "search" || source === "fallback";
}

/** Largest depth of the embedded engine. It is reached only if more depth changes nothing, as in a mate or a draw. */
const MAX_DEPTH = 127;

/** How far a search has looked ahead. */
function searchReach({ depth, mate }) {
	if (depth < MAX_DEPTH) return `${depth} ${depth === 1 ? "half-move" : "half-moves"} ahead`;
	return mate === null ? "searched to the end" : "forced mate found";
}

/** Summary for all users. */
export function searchSummary({ source, fallback, depth, mate, elapsed_ms }) {
	if (!isSearch(source)) return SOURCES[source] ?? source;
	const by = source === "fallback" ? `Embedded engine${fallback ? ` in place of ${fallback}` : ""}, ` : "";
	const reach = searchReach({ depth, mate });
	return `${by}${by ? reach : capitalize(reach)}${elapsed_ms === null ? "" : `, ${formatDuration(elapsed_ms)}`}`;
}

/** Details for experts. */
function searchDetails({ depth, seldepth, nodes, nps, hashfull, ordering }) {
	return [
		`Depth ${depth}, longest line ${Math.max(depth, seldepth)} half-moves`,
		`${formatCount(nodes)} positions${nps ? `, ${formatCount(nps)} a second` : ""}`,
		hashfull ? `Hash table ${formatPercent(hashfull / 1000)} full` : null,
		ordering ? `The first move tried was enough in ${formatPercent(ordering / 1000)} of cutoffs` : null,
	].filter(Boolean);
}
