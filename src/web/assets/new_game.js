// Dialog for a new game against the bot.

import { button, el, icon, select, setText } from "./dom.js";
import { controlCall, showToast } from "./api.js";
import { challengeBot } from "./actions.js";
import { VARIANTS } from "./chess.js";
import { offersControl, onChange, store } from "./store.js";

/** Time after a reconnect until an unknown challenge counts as lost, in ms. */
const CHALLENGE_LOST_MS = 5_000;

/** Time controls: minutes and seconds per move. */
const TIMES = ["1+0", "2+1", "3+0", "3+2", "5+3", "10+0", "10+5", "15+10", "30+20"];

/** Strengths: query parameters and text. */
const STRENGTHS = [
	["", "Full"],
	...[1000, 1300, 1600, 1900, 2200, 2500, 2800].map((elo) => [`elo=${elo}`, `${elo} Elo`]),
	...[1, 2, 3, 5, 10].map((s) => [`move_s=${s}`, `at most ${s} s a move`]),
];

/** Initial times that Lichess allows, in minutes. */
const MINUTES = [[0, "0"], [0.25, "¼"], [0.5, "½"], [0.75, "¾"], [1, "1"], [1.5, "1½"],
	...[2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 45, 60, 90, 120, 150, 180].map((minutes) => [minutes, `${minutes}`])];

const radioGroup = (legend, name, chosen, choices, more) =>
	el("fieldset", {}, el("legend", {}, legend), el("div", { class: "choices" }, choices.map(([value, text]) =>
		el("label", { class: "choice" }, el("input", { type: "radio", name, value, checked: value === chosen }), el("span", {}, text)))), more);

export class NewGameDialog {
	constructor() {
		this.minutes = select("minutes", "Minutes", MINUTES);
		this.minutes.lastChild.value = 5;
		this.increment = el("input", { type: "number", name: "increment", value: 3, min: 0, max: 60, required: true });
		this.custom = el("fieldset", { class: "pair" }, this.minutes, el("label", {}, "Seconds a move", this.increment));
		this.fen = el("input", { type: "text", name: "fen", required: true, autocomplete: "off", spellcheck: "false", placeholder: "FEN", pattern: "\\s*(\\w+/){7}\\w+( .*)?", title: "Eight rows with / between, then who moves" });
		this.fenLabel = el("label", {}, "Position as FEN", this.fen);
		this.strength = select("strength", "Strength", STRENGTHS);
		this.statusText = el("p", { role: "alert" });
		this.start = el("button", { class: "main", type: "submit", autofocus: true }, "Play");
		this.form = el(
			"form",
			{ method: "dialog", onsubmit: (event) => this.#submit(event), oninput: () => this.#updateFields() },
			el("header", {}, el("h2", { id: "new-game" }, "New game"),
				button(icon("close"), () => this.node.close(), { class: "plain", "aria-label": "Close" })),
			radioGroup("Your color", "color", "white", [["white", "White"], ["random", "Either"], ["black", "Black"]]),
			radioGroup("Time", "time", "5+3", [...TIMES.map((time) => [time, time]), ["custom", "Other"], ["unlimited", "Unlimited"]], this.custom),
			radioGroup("Variant", "variant", "standard", Object.entries(VARIANTS), this.fenLabel),
			this.strength,
			this.statusText,
			this.start,
		);
		this.node = el("dialog", { "aria-labelledby": "new-game" }, this.form);
		onChange((kind) => this.#onEvent(kind));
	}

	open() {
		if (!this.busy) this.#setStatus("");
		this.#updateFields();
		this.node.showModal();
	}

	#values = () => Object.fromEntries(new FormData(this.form));

	#updateFields() {
		const { time, variant } = this.#values();
		// Hidden fields must not block the validation.
		this.custom.disabled = this.custom.hidden = time !== "custom";
		const noTime = Number(this.minutes.lastChild.value) + Number(this.increment.value) === 0;
		this.increment.setCustomValidity(noTime ? "A clock needs minutes, or seconds a move." : "");
		this.fen.disabled = this.fenLabel.hidden = variant !== "fromPosition";
		this.strength.hidden = !offersControl("strength");
	}

	#submit(event) {
		event.preventDefault();
		const values = this.#values();
		const form = { color: values.color };
		if (values.time !== "unlimited") {
			const [minutes, increment] = values.time === "custom" ? [values.minutes, values.increment] : values.time.split("+");
			form["clock.limit"] = 60 * minutes;
			form["clock.increment"] = increment;
		}
		form.variant = values.variant;
		if (values.variant === "fromPosition") form.fen = values.fen;
		this.send(async () => {
			if (offersControl("strength")) await controlCall(`strength?user=${store.snapshot.play.user}&${values.strength}`);
			return challengeBot(form);
		});
	}

	/** Sends a challenge, one at a time: `send()` sends it and returns its id. Its outcome is shown in the dialog, or as a toast if
	 * the dialog is closed. */
	async send(send) {
		if (this.busy) return this.#setStatus("A challenge is pending: wait for its answer.");
		this.#setBusy(true);
		this.#setStatus("");
		try {
			this.challengeId = await send();
			this.#setStatus("Challenge sent.");
			// The game may have started before the response arrived.
			this.#onEvent("challenge");
		} catch (error) {
			this.#fail(error.message);
		}
	}

	/** Handles the outcome of the challenge: a game, a slot in the queue, or a reason. */
	#onEvent(kind) {
		const { challengeId } = this;
		if (!challengeId) return;
		if (store.games.has(challengeId)) return this.#onStarted();
		if (kind !== "challenge" && kind !== "snapshot") return;
		const find = () => store.snapshot.challenges.findLast((challenge) => challenge.id === challengeId);
		const challenge = find();
		if (!challenge) {
			// A restarted daemon does not know the challenge; after a reconnect its answer is still to come.
			const onTimeout = () => this.challengeId === challengeId && !find() && this.#fail("The challenge was lost.");
			return kind === "snapshot" && setTimeout(onTimeout, CHALLENGE_LOST_MS);
		}
		if (challenge.decision === "queued") this.#setStatus(`Waiting for a slot: ${challenge.reason}`);
		else if (challenge.decision !== "accepted") this.#fail(`Declined: ${challenge.reason}`);
	}

	#onStarted() {
		// The live view shows the game of the user first.
		location.hash = "#/";
		this.#setBusy(false);
		this.node.close();
	}

	/** Shows why there is no game. */
	#fail(why) {
		this.#setBusy(false);
		this.#setStatus(why, true);
	}

	#setBusy(busy) {
		this.busy = busy;
		this.challengeId = null;
		this.start.disabled = busy;
	}

	#setStatus(text, bad = false) {
		this.statusText.className = text && !bad ? "quiet" : "problem";
		setText(this.statusText, text);
		if (text && !this.node.open) showToast(text, bad);
	}
}
