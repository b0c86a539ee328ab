// All games that are kept: a list with filters, and what they add up to.

import { button, el, say, select, table } from "./dom.js";
import { ask } from "./api.js";
import { other } from "./chess.js";
import { Statistics } from "./statistics.js";
import { ours, store } from "./store.js";
import { day, kind, player, RESULTS } from "./words.js";

/** Rows fetched at once. */
const ROWS = 100;

const filter = (name, label, options) => select(name, label, [["", "Any"], ...options]);

const field = (text, attributes, kind) => el("label", { class: kind }, text, el("input", { autocomplete: "off", ...attributes }));

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
		this.offset = 0;
		this.busy = false;
		this.#fetch();
		this.statistics.load(this.#query(), this.asked.signal);
	}

	#query() {
		const filled = [...new FormData(this.form)].filter(([, value]) => value.trim());
		return new URLSearchParams(filled.map(([name, value]) => [name, name in DAYS ? midnight(value, DAYS[name]) : value]));
	}

	async #fetch() {
		if (this.busy || !this.asked) return;
		this.busy = true;
		const { signal } = this.asked;
		const query = this.#query();
		query.set("offset", this.offset);
		query.set("limit", ROWS);
		const answer = await ask(`/api/games?${query}`, signal);
		if (signal.aborted) return;
		this.busy = false;
		if (!answer) return;
		const rows = answer.games.map(row);
		if (this.offset === 0) this.rows.replaceChildren(...rows);
		else this.rows.append(...rows);
		this.offset += rows.length;
		say(this.total, answer.total === 1 ? "1 game" : `${answer.total.toLocaleString("en")} games`);
		this.more.hidden = this.offset >= answer.total;
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
