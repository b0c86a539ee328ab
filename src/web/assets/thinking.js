// What the engine thinks, and the line that it expects; pointing at a move shows it on the board.

import { button, el, list, say } from "./dom.js";
import { numbering } from "./chess.js";
import { count, percent, score, span } from "./words.js";

const SOURCES = { book: "From the opening book", only: "The only legal move" };

export class Thinking {
	/** `preview(step)` is called with a step of the line, or with null when there is none any more. */
	constructor(preview) {
		this.preview = preview;
		this.title = el("h2", {}, "Engine");
		this.score = el("strong", { class: "score" });
		this.chance = el("span", { class: "chance" });
		this.facts = el("p", { class: "facts" });
		this.line = el("ol", { class: "line", "aria-label": "Expected line" });
		this.line.addEventListener("pointerleave", () => this.#look(null));
		this.line.addEventListener("focusout", () => this.#look(null));
		this.node = el(
			"section",
			{ class: "thinking", "aria-label": "What the engine thinks" },
			el("header", {}, this.title, this.chance, this.score),
			this.line,
			this.facts,
		);
	}

	/** `report` was made with `ply` moves on the board; `live` says that it goes on. */
	show(game, report, ply, live) {
		this.node.classList.toggle("busy", live);
		const value = score(report, game.ours);
		const name = game[game.ours].name;
		say(this.score, value?.text ?? "");
		const ours = value && (game.ours === "white" ? value.win : 1 - value.win);
		say(this.chance, value ? `${name} ${percent(ours)}` : "");
		say(this.title, live ? "Thinking" : "Engine");
		say(this.facts, report ? facts(report) : "Nothing thought about yet");
		// What the line still begins with stays, and so does the focus on it.
		let path = `${game.id} ${ply}`;
		const steps = (report?.pv ?? []).map((step, i) => ({ step, i, path: (path += ` ${step.uci}`) }));
		list(this.line, steps, ({ step, i }) => this.#step(game, step, ply, i), (item) => item.path);
		// Who points at a move while the line changes under the pointer sees the position again.
		if (this.pointed && !this.pointed.isConnected) this.#look(null);
	}

	#look(step, node = null) {
		this.pointed = node;
		this.preview(step);
	}

	#step(game, step, ply, i) {
		const { number, black } = numbering(game.start_fen)(ply + i);
		const label = black ? (i ? "" : `${number}…`) : `${number}.`;
		const show = () => this.#look(step, node);
		const node = button(step.san, show, { onpointerenter: show, onfocus: show });
		return el("li", {}, label && el("span", { class: "number" }, label), node);
	}
}

function facts(report) {
	if (report.source !== "search") return SOURCES[report.source] ?? report.source;
	const { depth, seldepth, nodes, nps, hashfull, ordering, elapsed_ms } = report;
	return [
		`depth ${depth}${seldepth > depth ? `/${seldepth}` : ""}`,
		`${count(nodes)} nodes`,
		nps ? `${count(nps)}/s` : null,
		hashfull ? `hash ${percent(hashfull / 1000)}` : null,
		ordering ? `move ordering ${percent(ordering / 1000)}` : null,
		elapsed_ms === null ? null : span(elapsed_ms),
	]
		.filter(Boolean)
		.join("  ·  ");
}
