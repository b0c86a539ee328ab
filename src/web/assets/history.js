// All games that are kept: a list with filters, and what they add up to.

import { button, el, list, say, select, table } from "./dom.js";
import { ask } from "./api.js";
import { other } from "./chess.js";
import { Statistics } from "./statistics.js";
import { ours, store } from "./store.js";
import { day, kind, player, RESULTS } from "./words.js";

/** Rows fetched at once. */
const ROWS = 100;

const filter = (name, label, options) => select(name, label, [["", "Any"], ...options]);

const field = (text, attributes, kind) => el("label", { class: kind }, text, el("input", { autocomplete: "off", ...attributes }));

/** A game that has just ended is in the records so soon, in ms. */
const WRITTEN = 1000;

/** The filters by day, and after how many days the midnight is that is meant. */
const DAYS = { since: 0, until: 1 };

/** In ms; the days of the list are those of who looks at it. */
function midnight(date, after) {
	const day = new Date(`${date}T00:00`);
	return day.setDate(day.getDate() + after);
}

const COLUMNS = ["Day", "Opponent", "Color", "Result", "Kind", "#Moves"];

export class History {
	constructor() {
		this.account = field("Account", { name: "account", size: 9 });
		this.form = el("form", { class: "filters", role: "search", "aria-label": "Filter games", onsubmit: (event) => event.preventDefault(), oninput: () => this.load() },
			field("Search", { type: "search", name: "text", placeholder: "Opponent" }, "wide"),
			filter("result", "Result", Object.entries(RESULTS).filter(([key]) => key !== "unknown")),
			filter("speed", "Speed", ["bullet", "blitz", "rapid", "classical", "correspondence"].map((speed) => [speed, speed])),
			filter("color", "Color", [["white", "white"], ["black", "black"]]),
			filter("rated", "Rated", [["true", "rated"], ["false", "casual"]]),
			filter("variant", "Variant", [["standard", "Standard"], ["chess960", "Chess960"], ["fromPosition", "From position"]]),
			field("From", { type: "date", name: "since" }),
			field("Until", { type: "date", name: "until" }),
			field("Tournament", { name: "tournament", placeholder: "Id", size: 9 }),
			this.account);
		this.total = el("p", { class: "quiet", role: "status" });
		this.rows = el("tbody", {});
		this.more = button("More", () => this.#fetch());
		this.table = el("div", { class: "scrolls" },
			table(COLUMNS, this.rows), this.more);
		this.statistics = new Statistics();
		this.node = el("section", { class: "page", "aria-label": "Games", hidden: true },
			el("h1", {}, "Games"), this.form, this.total, this.statistics.node, this.table);
		new IntersectionObserver(([entry]) => entry.isIntersecting && this.#fetch()).observe(this.more);
	}

	open() {
		this.told();
		this.load();
	}

	/** It is known now whether there are several accounts. */
	told() {
		this.account.hidden = !store.snapshot?.accounts;
	}

	/** Asks anew, as after every letter typed; what was asked before is not waited for. */
	load() {
		this.asked?.abort();
		this.asked = new AbortController();
		this.games = [];
		this.busy = false;
		this.#fetch();
		this.statistics.load(this.#query(), this.asked.signal);
	}

	/** A game has ended: it comes to the others, where somebody looks at them. */
	heard(kind, game) {
		if (kind !== "game" || !game?.result || this.node.hidden) return;
		clearTimeout(this.soon);
		this.soon = setTimeout(() => this.#again(), WRITTEN);
	}

	async #again() {
		if (!this.asked || this.node.hidden) return;
		this.statistics.load(this.#query(), this.asked.signal);
		const answer = await this.#ask(0);
		if (!answer) return;
		const { games } = answer;
		const last = games.length < answer.total ? games.at(-1).started : Infinity;
		// What "More" has brought stands below.
		const older = this.games.filter((game) => game.started <= last && !games.some(({ id }) => id === game.id));
		this.#show([...games, ...(last === Infinity ? [] : older)], answer.total);
	}

	#query() {
		const filled = [...new FormData(this.form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value);
		return new URLSearchParams(filled.map(([name, value]) => [name, name in DAYS ? midnight(value, DAYS[name]) : value]));
	}

	async #fetch() {
		if (this.busy || !this.asked) return;
		this.busy = true;
		const { signal } = this.asked;
		const answer = await this.#ask(this.games.length);
		if (signal.aborted) return;
		this.busy = false;
		if (answer) this.#show([...this.games, ...answer.games], answer.total);
	}

	/** So many of the games from this one on; null when another question has been asked meanwhile. */
	async #ask(offset) {
		const { signal } = this.asked;
		const query = this.#query();
		query.set("offset", offset);
		query.set("limit", ROWS);
		const answer = await ask(`/api/games?${query}`, signal);
		return signal.aborted ? null : answer;
	}

	#show(games, total) {
		// One that began meanwhile has pushed another one into the next rows, too.
		this.games = [...new Map(games.map((game) => [game.id, game])).values()];
		list(this.rows, this.games, row);
		say(this.total, total === 1 ? "1 game" : `${total.toLocaleString("en")} games`);
		this.more.hidden = this.games.length >= total;
	}
}

function row(game) {
	const opponent = game[other(game.ours)];
	return el("tr", {},
		el("td", { class: "quiet" }, day(game.started)),
		el("td", {}, el("a", { href: `#/game/${game.id}` }, player(opponent))),
		el("td", {}, [game.ours, ours(game)].filter(Boolean).join(", ")),
		el("td", {}, el("span", { class: `chip ${game.result}` }, RESULTS[game.result] ?? game.result)),
		el("td", {}, kind(game)),
		el("td", { class: "count" }, String(Math.ceil(game.plies / 2))));
}
