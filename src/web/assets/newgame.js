// The form of a new game against Knightwatch.

import { button, el, icon, say } from "./dom.js";
import { challenge } from "./play.js";
import { onChange, store } from "./store.js";

/** Minutes and seconds a move. */
const TIMES = [[1, 0], [2, 1], [3, 0], [3, 2], [5, 3], [10, 0], [10, 5], [15, 10], [30, 20]];

const choice = (name, value, text, checked) =>
	el("label", { class: "choice" }, el("input", { type: "radio", name, value, checked }), el("span", {}, text));

const group = (legend, ...children) => el("fieldset", {}, el("legend", {}, legend), ...children);

export class NewGame {
	constructor() {
		const number = (name, label, value, max) =>
			el("label", {}, label, el("input", { type: "number", name, value, min: 0, max, inputmode: "numeric" }));
		this.custom = el("div", { class: "pair" }, number("minutes", "Minutes", 5, 180), number("increment", "Seconds a move", 3, 60));
		this.fen = el("input", { type: "text", name: "fen", autocomplete: "off", spellcheck: "false", placeholder: "FEN" });
		this.fenLabel = el("label", { class: "wide" }, "Position as FEN", this.fen);
		this.problem = el("p", { class: "problem", role: "alert" });
		this.start = el("button", { class: "main", type: "submit", autofocus: true }, "Play");
		this.form = el(
			"form",
			{ method: "dialog", onsubmit: (event) => this.#submit(event), onchange: () => this.#fit() },
			el("header", {}, el("h2", { id: "new-game" }, "New game"),
				button(icon("close"), () => this.node.close(), { class: "plain", "aria-label": "Close" })),
			group("Your color", el("div", { class: "choices three" },
				choice("color", "white", "White", true), choice("color", "random", "Either"), choice("color", "black", "Black"))),
			group("Time", el("div", { class: "choices three" },
				TIMES.map(([minutes, increment]) => choice("time", `${minutes}+${increment}`, `${minutes}+${increment}`, minutes === 5)),
				choice("time", "custom", "Other"), choice("time", "unlimited", "Unlimited")), this.custom),
			group("Start from", el("div", { class: "choices three" },
				choice("variant", "standard", "Standard", true), choice("variant", "chess960", "Chess960"),
				choice("variant", "fromPosition", "Position")), this.fenLabel),
			this.problem,
			this.start,
		);
		this.node = el("dialog", { "aria-labelledby": "new-game" }, this.form);
		onChange((kind) => this.#heard(kind));
	}

	open() {
		say(this.problem, "");
		this.#fit();
		this.node.showModal();
	}

	#values = () => Object.fromEntries(new FormData(this.form));

	#fit() {
		const { time, variant } = this.#values();
		this.custom.hidden = time !== "custom";
		this.fenLabel.hidden = variant !== "fromPosition";
		this.fen.required = variant === "fromPosition";
	}

	async #submit(event) {
		event.preventDefault();
		const values = this.#values();
		const form = { color: values.color };
		if (values.time !== "unlimited") {
			const [minutes, increment] = values.time === "custom" ? [values.minutes, values.increment] : values.time.split("+");
			form["clock.limit"] = 60 * minutes;
			form["clock.increment"] = increment;
		}
		if (values.variant === "chess960") form.variant = "chess960";
		if (values.variant === "fromPosition") form.fen = values.fen;
		this.start.disabled = true;
		say(this.problem, "");
		try {
			this.waiting = await challenge(form);
			// The game may have begun before the answer was here.
			this.#heard("challenge");
		} catch (error) {
			say(this.problem, error.message);
		}
		this.start.disabled = false;
	}

	/** The challenge becomes a game, or is answered with a reason. */
	#heard(kind) {
		if (!this.waiting) return;
		if (store.games.has(this.waiting)) this.#begun();
		else if (kind === "challenge") {
			const answer = store.snapshot.challenges.find((challenge) => challenge.id === this.waiting);
			if (answer?.decision === "declined" || answer?.decision === "dropped") {
				this.waiting = null;
				say(this.problem, `Declined: ${answer.reason}`);
			}
		}
	}

	#begun() {
		// What is on, and the person's own game first.
		location.hash = "#/";
		this.waiting = null;
		this.node.close();
	}
}
