// The bot: its state, challenges with the decision, tournaments, the log, the settings, and the levers.

import { button, el, list, mark, say, table, twice } from "./dom.js";
import { attempt, control, mayAct, tell, WATCHES } from "./api.js";
import { allows, store } from "./store.js";
import { each, status } from "./status.js";
import { moment, player } from "./words.js";

/** What each says, and asks back if it cannot be undone. */
const LEVERS = { pause: ["Pause"], resume: ["Resume"], drain: ["Finish and stop", "Really stop?"] };

const STAGES = { running: "Running", planned: "Planned", over: "Over" };

const DECISIONS = { accepted: "Accepted", queued: "Queued", declined: "Declined", dropped: "Dropped" };

export class Bot {
	constructor() {
		this.state = el("p", { class: "state" });
		this.about = el("p", { class: "quiet" });
		this.levers = Object.entries(LEVERS).map(([name, [text, question]]) => {
			const pull = () => this.#pull(name, text);
			const attributes = { "data-lever": name };
			return question ? twice(text, question, pull, attributes) : button(text, pull, attributes);
		});
		this.user = el("input", { type: "text", name: "user", required: true, autocomplete: "off", placeholder: "Account", "aria-label": "Account to block" });
		this.unblock = el("button", { type: "submit", value: "unblock" }, "Unblock");
		this.block = el("form", { class: "pair", onsubmit: (event) => this.#block(event) },
			this.user, el("button", { type: "submit", value: "block" }, "Block"), this.unblock);
		this.challenges = el("tbody", {});
		this.none = el("p", { class: "quiet" }, "No challenge yet.");
		this.arenas = el("tbody", {});
		this.noArena = el("p", { class: "quiet" }, "No tournament yet.");
		this.settings = el("tbody", {});
		this.log = el("ol", { class: "log", "aria-label": "Log" });
		this.node = el("section", { class: "page", "aria-label": "Bot", hidden: true },
			el("h1", {}, "Bot"), this.state, this.about, el("div", { class: "levers" }, this.levers, this.block),
			el("h2", {}, "Challenges"), this.none, el("div", { class: "scrolls" }, table(["At", "From", "To", "Game", "Decision", "Why"], this.challenges, "decisions cardlike")),
			el("h2", {}, "Tournaments"), this.noArena, el("div", { class: "scrolls" }, table(["Tournament", "State", "Begins", "Place", "Why"], this.arenas, "arenas cardlike")),
			el("h2", {}, "What happened"), this.log,
			el("details", { class: "statistics" }, el("summary", {}, "Settings in force"), el("div", { class: "tables" }, table(["Setting", "Value"], this.settings))));
	}

	open() {
		this.#show();
	}

	heard(kind) {
		if (!this.node.hidden && ["snapshot", "status", "note", "challenge", "game", "arena", "settings"].includes(kind)) this.#show();
	}

	#show() {
		const { snapshot } = store;
		if (!snapshot) return;
		const { kind, long } = status();
		say(this.state, [long, ...each()].join("\n"));
		this.state.className = `state ${kind}`;
		const { version, server, account, accounts, play, paused, draining } = snapshot;
		// Where one could play, it stands above every page.
		const watches = !mayAct() && !play && WATCHES;
		say(this.about, [`Knightwatch ${version}`, account && !accounts && player(account), server, watches].filter(Boolean).join("  ·  "));
		for (const lever of this.levers) lever.hidden = !mayAct() || !allows(lever.dataset.lever);
		this.block.hidden = !mayAct() || !allows("block");
		this.unblock.hidden = !allows("unblock");
		const stops = draining !== null;
		mark(this.levers[0], "disabled", paused || stops);
		mark(this.levers[1], "disabled", stops || !(accounts ?? [snapshot]).some(({ paused }) => paused));
		mark(this.levers[2], "disabled", stops);
		this.none.hidden = snapshot.challenges.length > 0;
		list(this.challenges, snapshot.challenges.toReversed(), challenge);
		this.noArena.hidden = snapshot.arenas.length > 0;
		// The simulator has no pages of its own.
		const url = ({ id }) => (server && !snapshot.play ? `${server}/tournament/${id}` : null);
		const arenas = snapshot.arenas.toReversed().map((one) => ({ ...one, url: url(one) }));
		list(this.arenas, Object.keys(STAGES).flatMap((stage) => arenas.filter((one) => one.stage === stage)), arena);
		list(this.settings, settings(snapshot.settings), setting);
		list(this.log, snapshot.log.toReversed(), note);
	}

	async #pull(name, text) {
		if ((await attempt(() => control(name))) !== null) tell(`${text}: done.`);
	}

	async #block(event) {
		event.preventDefault();
		const user = this.user.value.trim();
		const order = event.submitter?.value ?? "block";
		if ((await attempt(() => control(`${order}?user=${encodeURIComponent(user)}`))) === null) return;
		this.user.value = "";
		tell(order === "block" ? `${user} is blocked.` : `${user} is not blocked any more.`);
	}
}

function challenge({ at, from, to, time_control, variant, rated, decision, reason }) {
	const game = [time_control, rated ? "rated" : "casual", variant === "standard" ? null : variant].filter(Boolean).join(", ");
	return el("tr", {},
		el("td", { class: "at quiet" }, moment(at)),
		el("td", { class: "from" }, player(from)),
		el("td", { class: to === store.snapshot.account?.name ? "to us" : "to" }, to ?? "anyone"),
		el("td", { class: "game" }, game),
		el("td", { class: "decision" }, el("span", { class: `chip ${decision}` }, DECISIONS[decision] ?? decision)),
		el("td", { class: "reason" }, reason));
}

function arena({ account, name, stage, starts, rank, players, text, url }) {
	const place = rank ? `${rank} of ${players}` : players ? `${players} ${players === 1 ? "player" : "players"}` : "";
	return el("tr", {},
		el("td", {}, url ? el("a", { href: url, rel: "noreferrer", target: "_blank" }, name) : name),
		el("td", {}, el("span", { class: "chip" }, STAGES[stage])),
		el("td", { class: "quiet" }, starts && moment(starts)),
		el("td", {}, place),
		el("td", { class: "text" }, account && `${account}: `, text));
}

/** What holds for all accounts is said once. */
function settings(all) {
	const rows = new Map();
	for (const { account, words } of all) {
		for (const row of words) rows.set(`${row}`, [...(rows.get(`${row}`) ?? [row]), account]);
	}
	return [...rows.values()].map(([[key, value], ...accounts]) => [accounts.length < all.length ? `${accounts.join(", ")}: ${key}` : key, value]);
}

const setting = ([key, value]) => el("tr", {}, el("th", { scope: "row" }, key), el("td", {}, el("code", {}, value)));

function note({ at, severity, game, ply, text }) {
	const position = game && `#/game/${game}${ply === null ? "" : `/${ply}`}`;
	return el("li", { class: severity },
		el("time", {}, moment(at)), el("span", {}, game ? el("a", { href: position }, text) : text), game && el("a", { href: position }, game));
}
