// The form of a new game against Knightwatch.

import { button, el, icon, select, setText } from "./dom.js";
import { controlCall, showToast } from "./api.js";
import { challengeBot } from "./actions.js";
import { offersControl, onChange, store } from "./store.js";

/** Who cannot say what became of a challenge after this, in ms, has never heard of it. */
const CHALLENGE_LOST_MS = 5_000;

/** Minutes and seconds a move. */
const TIMES = ["1+0", "2+1", "3+0", "3+2", "5+3", "10+0", "10+5", "15+10", "30+20"];

/** As the daemon is told, and as people are. */
const STRENGTHS = [
	["", "Full"],
	...[1000, 1300, 1600, 1900, 2200, 2500, 2800].map((elo) => [`elo=${elo}`, `${elo} Elo`]),
	...[1, 2, 3, 5, 10].map((s) => [`move_s=${s}`, `at most ${s} s a move`]),
];

/** What a clock may begin with, in minutes. */
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
			radioGroup("Start from", "variant", "standard",
				[["standard", "Standard"], ["chess960", "Chess960"], ["fromPosition", "Position"]], this.fenLabel),
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
		// What is not seen must not be in the way.
		this.custom.disabled = this.custom.hidden = time !== "custom";
		const never = Number(this.minutes.lastChild.value) + Number(this.increment.value) === 0;
		this.increment.setCustomValidity(never ? "A clock needs minutes, or seconds a move." : "");
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
		if (values.variant === "chess960") form.variant = "chess960";
		if (values.variant === "fromPosition") form.fen = values.fen;
		this.send(async () => {
			if (offersControl("strength")) await controlCall(`strength?user=${store.snapshot.play.user}&${values.strength}`);
			return challengeBot(form);
		});
	}

	/** Challenges the bot, once at a time: `send()` does it and gives the id. What becomes of it is told in the form, or beside it
	 * when that is closed. */
	async send(send) {
		if (this.busy) return this.#setStatus("Asked already: the answer is still to come.");
		this.#setBusy(true);
		this.#setStatus("");
		try {
			this.challengeId = await send();
			this.#setStatus("Asked.");
			// The game may have begun before the answer was here.
			this.#onEvent("challenge");
		} catch (error) {
			this.#fail(error.message);
		}
	}

	/** The challenge becomes a game, waits for a place, or is answered with a reason. */
	#onEvent(kind) {
		const { challengeId } = this;
		if (!challengeId) return;
		if (store.games.has(challengeId)) return this.#onStarted();
		if (kind !== "challenge" && kind !== "snapshot") return;
		const known = () => store.snapshot.challenges.findLast((challenge) => challenge.id === challengeId);
		const answer = known();
		if (!answer) {
			// A daemon that was started anew knows nothing of it; one that was only out of reach is about to answer.
			const forgotten = () => this.challengeId === challengeId && !known() && this.#fail("Nobody knows of this challenge any more.");
			return kind === "snapshot" && setTimeout(forgotten, CHALLENGE_LOST_MS);
		}
		if (answer.decision === "queued") this.#setStatus(`Waiting for a place: ${answer.reason}`);
		else if (answer.decision !== "accepted") this.#fail(`Declined: ${answer.reason}`);
	}

	#onStarted() {
		// What is on, and the person's own game first.
		location.hash = "#/";
		this.#setBusy(false);
		this.node.close();
	}

	/** There is no game. */
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
