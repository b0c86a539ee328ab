// View of the bot: status, operator actions, challenges, tournaments, log, settings.

import { button, confirmButton, dataTable, el, setAttribute, setText, syncList } from "./dom.js";
import { attempt, controlCall, hasKey, showDone, WATCH_ONLY_TEXT } from "./api.js";
import { offersControl, store } from "./store.js";
import { accountStates, status } from "./status.js";
import { formatTime, playerLabel, variantLabel } from "./format.js";

/** Text of each button, and the confirmation of actions that cannot be undone. */
const CONTROLS = {
	pause: ["Pause"],
	resume: ["Resume"],
	"seek-on": ["Seek games"],
	"seek-off": ["Stop seeking"],
	drain: ["Finish and stop", "Really stop?"],
};

const STAGE_LABELS = { running: "Running", planned: "Planned", over: "Over" };

const DECISION_LABELS = { accepted: "Accepted", queued: "Queued", declined: "Declined", dropped: "Dropped" };

/** Key of an entry with a time, which is shown with its date from the next day on. */
const keyOfDay = (item) => JSON.stringify([item, new Date().toDateString()]);

export class BotView {
	constructor() {
		this.state = el("p", { class: "state" });
		this.versionLine = el("p", { class: "quiet" });
		this.controls = Object.entries(CONTROLS).map(([name, [text, question]]) => {
			const run = () => this.#run(name);
			const attributes = { "data-control": name };
			return question ? confirmButton(text, question, run, attributes) : button(text, run, attributes);
		});
		this.user = el("input", { type: "text", name: "user", required: true, autocomplete: "off", placeholder: "Account", "aria-label": "Account to block" });
		this.unblock = el("button", { type: "submit", value: "unblock" }, "Unblock");
		this.block = el("form", { class: "pair", onsubmit: (event) => this.#block(event) },
			this.user, el("button", { type: "submit", value: "block" }, "Block"), this.unblock);
		this.challenges = el("tbody", {});
		this.noChallenges = el("p", { class: "quiet" }, "No challenge yet.");
		this.arenas = el("tbody", {});
		this.noArenas = el("p", { class: "quiet" }, "No tournament yet.");
		this.settings = el("tbody", {});
		this.log = el("ol", { class: "log", "aria-label": "Log" });
		this.node = el("section", { class: "page", "aria-label": "Bot", hidden: true },
			el("h1", {}, "Bot"), this.state, this.versionLine, el("div", { class: "controls" }, this.controls, this.block),
			el("h2", {}, "Challenges"), this.noChallenges, el("div", { class: "scrolls" }, dataTable(["At", "From", "To", "Game", "Decision", "Why"], this.challenges, "decisions cardlike")),
			el("h2", {}, "Tournaments"), this.noArenas, el("div", { class: "scrolls" }, dataTable(["Tournament", "State", "Begins", "Place", "Why"], this.arenas, "arenas cardlike")),
			el("h2", {}, "What happened"), this.log,
			el("details", { class: "statistics" }, el("summary", {}, "Settings in force"), el("div", { class: "tables" }, dataTable(["Setting", "Value"], this.settings))));
	}

	open() {
		this.#show();
	}

	onEvent(kind) {
		if (!this.node.hidden && ["connection", "snapshot", "status", "note", "challenge", "game", "arena", "settings"].includes(kind)) this.#show();
	}

	#show() {
		const { snapshot } = store;
		if (!snapshot) return;
		const { kind, long } = status();
		setText(this.state, [long, ...accountStates()].join("\n"));
		this.state.className = `state ${kind}`;
		const { version, server, account, accounts, play, paused, draining } = snapshot;
		// With a user to play, the banner shows this text.
		const watchOnly = !hasKey() && !play && WATCH_ONLY_TEXT;
		setText(this.versionLine, [`Knightwatch ${version}`, account && !accounts && playerLabel(account), server, watchOnly].filter(Boolean).join("  ·  "));
		for (const control of this.controls) control.hidden = !hasKey() || !offersControl(control.dataset.control);
		this.block.hidden = !hasKey() || !offersControl("block");
		this.unblock.hidden = !offersControl("unblock");
		const stopping = draining !== null;
		const seeks = snapshot.settings.map(({ values }) => values.some(([key, value]) => key === "matchmaking.enabled" && value === "true"));
		const disabled = [
			paused,
			!(accounts ?? [snapshot]).some(({ paused }) => paused),
			seeks.every((seeks) => seeks),
			!seeks.some((seeks) => seeks),
			false,
		];
		this.controls.forEach((control, at) => setAttribute(control, "disabled", stopping || disabled[at]));
		this.noChallenges.hidden = snapshot.challenges.length > 0;
		syncList(this.challenges, snapshot.challenges.toReversed(), challengeRow, keyOfDay);
		this.noArenas.hidden = snapshot.arenas.length > 0;
		// The simulator has no tournament pages.
		const url = ({ id }) => (server && !snapshot.play ? `${server}/tournament/${id}` : null);
		const arenas = snapshot.arenas.toReversed().map((one) => ({ ...one, url: url(one) }));
		syncList(this.arenas, Object.keys(STAGE_LABELS).flatMap((stage) => arenas.filter((one) => one.stage === stage)), arenaRow, keyOfDay);
		syncList(this.settings, settingRows(snapshot.settings), settingRow);
		syncList(this.log, snapshot.log.toReversed(), noteItem, keyOfDay);
	}

	async #run(name) {
		const result = await attempt(() => controlCall(name));
		if (result !== null) showDone(result);
		return result;
	}

	async #block(event) {
		event.preventDefault();
		const user = this.user.value.trim();
		const action = event.submitter?.value ?? "block";
		if ((await this.#run(`${action}?user=${encodeURIComponent(user)}`)) !== null) this.user.value = "";
	}
}

function challengeRow({ at, from, to, time_control, variant, rated, decision, reason }) {
	const game = [time_control, rated ? "rated" : "casual", variantLabel(variant)].filter(Boolean).join(", ");
	return el("tr", {},
		el("td", { class: "at quiet" }, formatTime(at)),
		el("td", { class: "from" }, playerLabel(from)),
		el("td", { class: to === store.snapshot.account?.name ? "to us" : "to" }, to ?? "anyone"),
		el("td", { class: "game" }, game),
		el("td", { class: "decision" }, el("span", { class: `chip ${decision}` }, DECISION_LABELS[decision] ?? decision)),
		el("td", { class: "reason" }, reason));
}

function arenaRow({ account, name, stage, starts, rank, players, text, url }) {
	const place = rank ? `${rank} of ${players}` : players ? `${players} ${players === 1 ? "player" : "players"}` : "";
	return el("tr", {},
		el("td", {}, url ? el("a", { href: url, rel: "noreferrer", target: "_blank" }, name) : name),
		el("td", {}, el("span", { class: "chip" }, STAGE_LABELS[stage])),
		el("td", { class: "quiet" }, starts && formatTime(starts)),
		el("td", {}, place),
		el("td", { class: "text" }, account && `${account}: `, text));
}

/** Rows of the settings; a value that all accounts share is shown once. */
function settingRows(all) {
	const rows = new Map();
	for (const { account, values } of all) {
		for (const row of values) rows.set(`${row}`, [...(rows.get(`${row}`) ?? [row]), account]);
	}
	return [...rows.values()].map(([[key, value], ...accounts]) => [accounts.length < all.length ? `${accounts.join(", ")}: ${key}` : key, value]);
}

const settingRow = ([key, value]) => el("tr", {}, el("th", { scope: "row" }, key), el("td", {}, el("code", {}, value)));

function noteItem({ at, severity, game, ply, text }) {
	const position = game && `#/game/${game}${ply === null ? "" : `/${ply}`}`;
	return el("li", { class: severity },
		el("time", {}, formatTime(at)), el("span", {}, game ? el("a", { href: position }, text) : text), game && el("a", { href: position }, game));
}
