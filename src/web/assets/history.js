// All games that are kept: a list with filters, in the order that is wanted, and what they add up to.

import { button, el, icon, select, setAttribute, setText, syncList } from "./dom.js";
import { getOrNull } from "./api.js";
import { opposite } from "./chess.js";
import { Statistics } from "./statistics.js";
import { ourAccount, store } from "./store.js";
import { describeGame, formatSigned, formatTime, OUTCOME_LABELS, playerLabel } from "./format.js";

/** Rows fetched at once, and the most that can be. */
const PAGE_ROWS = 100;
const MAX_ROWS = 500;

const filterSelect = (name, label, options) => select(name, label, [["", "Any"], ...options]);

const filterField = (text, attributes, kind) => el("label", { class: kind }, text, el("input", { autocomplete: "off", ...attributes }));

/** A game that has just ended is in the records so soon, in ms. */
const RECORD_DELAY_MS = 1000;

/** The filters by day, and after how many days the midnight is that is meant. */
const DAY_FILTERS = { since: 0, until: 1 };

/** In ms; the days of the list are those of who looks at it. */
function midnight(date, after) {
	const day = new Date(`${date}T00:00`);
	return day.setDate(day.getDate() + after);
}

/** What stands over the columns, and by what a click on it sorts them. */
const COLUMNS = [["Date", "started"], ["Opponent", "opponent"], ["Rating", "rating"], ["Result", "result"], ["How it ended"], ["Kind", "clock"], ["Color"], ["Opening"], ["Moves", "plies"], ["Change"]];

/** Columns of numbers. */
const NUMBER_COLUMNS = ["Rating", "Moves", "Change"];

/** Those that begin with the least when somebody sorts by them. */
const ASCENDING_FIRST = ["opponent"];

export class HistoryView {
	constructor() {
		this.account = filterField("Account", { name: "account", size: 9 });
		this.form = el("form", { class: "filters", role: "search", "aria-label": "Filter games", onsubmit: (event) => event.preventDefault(), oninput: () => this.#filter() },
			filterField("Opponent", { type: "search", name: "text", placeholder: "Search" }),
			filterSelect("result", "Result", Object.entries(OUTCOME_LABELS).filter(([key]) => key !== "unknown")),
			filterSelect("speed", "Speed", ["bullet", "blitz", "rapid", "classical", "correspondence"].map((speed) => [speed, speed])),
			filterSelect("color", "Color", [["white", "white"], ["black", "black"]]),
			filterSelect("rated", "Rated", [["true", "rated"], ["false", "casual"]]),
			filterSelect("variant", "Variant", [["standard", "Standard"], ["chess960", "Chess960"], ["fromPosition", "From position"]]),
			filterField("From", { type: "date", name: "since" }),
			filterField("Until", { type: "date", name: "until" }),
			filterField("Tournament", { name: "tournament", placeholder: "Id" }),
			this.account,
			button("More filters", (event) => event.target.setAttribute("aria-expanded", this.form.classList.toggle("all")), { "aria-expanded": "false" }));
		this.sort = "started";
		this.ascending = false;
		this.total = el("p", { class: "quiet", role: "status" });
		this.pgn = el("a", { class: "button", download: "knightwatch.pgn", hidden: true }, icon("save"), "Download PGN");
		this.clear = button("All games", () => this.#clear(), { hidden: true });
		this.rows = el("tbody", {});
		this.headers = new Map(COLUMNS.map(([text, by]) => [by ?? text, this.#head(text, by)]));
		this.more = button("More", () => this.#fetch());
		this.table = el("div", { class: "scrolls" },
			el("table", { class: "games cardlike" }, el("thead", {}, el("tr", {}, [...this.headers.values()])), this.rows), this.more);
		this.statistics = new Statistics();
		this.node = el("section", { class: "page broad", "aria-label": "Games", hidden: true },
			el("h1", {}, "Games"), this.form, el("div", { class: "found" }, this.total, this.clear, this.pgn), this.statistics.node, this.table);
		new IntersectionObserver(([entry]) => entry.isIntersecting && this.#fetch()).observe(this.more);
	}

	/** The head of a column; `by` is what a click on it sorts by, where it can. */
	#head(text, by) {
		const kind = NUMBER_COLUMNS.includes(text) && "count";
		return el("th", { scope: "col", class: kind }, by ? button(text, () => this.#sortBy(by)) : text);
	}

	#sortBy(by) {
		this.ascending = this.sort === by ? !this.ascending : ASCENDING_FIRST.includes(by);
		this.sort = by;
		this.#filter();
	}

	/** What is asked for stands in the address too, so that it can be kept and passed on. */
	#filter() {
		const words = this.#params();
		history.replaceState(null, "", `#/games${words.size ? `?${words}` : ""}`);
		this.load();
	}

	#clear() {
		this.form.reset();
		this.#filter();
	}

	/** The form and the order as words of the address; what is as usual is left out. */
	#params() {
		const filled = [...new FormData(this.form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value);
		const words = new URLSearchParams(filled);
		if (this.sort !== "started" || this.ascending) words.set("sort", this.sort);
		if (this.ascending) words.set("ascending", true);
		return words;
	}

	/** Takes up what the address asks for. */
	#readAddress() {
		const words = new URLSearchParams(location.hash.split("?")[1] ?? "");
		for (const { name } of this.form.elements) if (name) this.form.elements[name].value = words.get(name) ?? "";
		this.sort = COLUMNS.map(([, by]) => by).includes(words.get("sort") ?? "") ? words.get("sort") : "started";
		this.ascending = words.get("ascending") === "true";
	}

	open() {
		this.#readAddress();
		this.updateAccounts();
		this.load();
	}

	/** It is known now whether there are several accounts. */
	updateAccounts() {
		this.account.hidden = !store.snapshot?.accounts;
	}

	/** Asks anew, as after every letter typed; what was asked before is not waited for. */
	load() {
		this.abort?.abort();
		this.abort = new AbortController();
		this.games = [];
		this.busy = false;
		for (const [by, head] of this.headers) setAttribute(head, "aria-sort", by === this.sort && (this.ascending ? "ascending" : "descending"));
		this.clear.hidden = ![...new FormData(this.form).values()].some(Boolean);
		setAttribute(this.pgn, "href", `/api/games.pgn?${this.#query()}`);
		this.#fetch();
		this.statistics.load(this.#query(), this.abort.signal);
	}

	/** A game has ended: it comes to the others, where somebody looks at them. */
	onEvent(kind, game) {
		if (kind !== "game" || !game?.result || this.node.hidden) return;
		clearTimeout(this.refreshTimer);
		this.refreshTimer = setTimeout(() => this.#refresh(), RECORD_DELAY_MS);
	}

	async #refresh() {
		if (!this.abort || this.node.hidden) return;
		this.statistics.load(this.#query(), this.abort.signal);
		// As many as are shown: where the new one belongs among them, the daemon knows.
		const answer = await this.#request(0, Math.max(PAGE_ROWS, Math.min(this.games.length + 1, MAX_ROWS)));
		if (answer) this.#show(this.games.length < MAX_ROWS ? answer.games : this.games, answer.total);
	}

	#query() {
		const words = this.#params();
		for (const [name, after] of Object.entries(DAY_FILTERS)) {
			if (words.has(name)) words.set(name, midnight(words.get(name), after));
		}
		return words;
	}

	async #fetch() {
		if (this.busy || !this.abort) return;
		this.busy = true;
		const { signal } = this.abort;
		const answer = await this.#request(this.games.length);
		if (signal.aborted) return;
		this.busy = false;
		if (answer) this.#show([...this.games, ...answer.games], answer.total);
	}

	/** So many of the games from this one on; null when another question has been asked meanwhile. */
	async #request(offset, limit = PAGE_ROWS) {
		const { signal } = this.abort;
		const query = this.#query();
		query.set("offset", offset);
		query.set("limit", limit);
		const answer = await getOrNull(`/api/games?${query}`, signal);
		return signal.aborted ? null : answer;
	}

	#show(games, total) {
		// One that began meanwhile has pushed another one into the next rows, too.
		this.games = [...new Map(games.map((game) => [game.id, game])).values()];
		syncList(this.rows, this.games, gameRow);
		setText(this.total, total === 1 ? "1 game" : `${total.toLocaleString("en")} games`);
		this.more.hidden = this.games.length >= total;
		this.pgn.hidden = total === 0;
	}
}

function gameRow(game) {
	const opponent = game[opposite(game.ours)];
	const change = game.rating_change;
	const cell = (kind, ...content) => el("td", { class: kind }, content);
	return el("tr", {},
		cell("when quiet", formatTime(game.started, true)),
		cell("who", el("a", { href: `#/game/${game.id}` }, playerLabel({ ...opponent, rating: null }))),
		cell("count rating", opponent.rating && `${opponent.rating}${opponent.provisional ? "?" : ""}`),
		cell("what", el("span", { class: `chip ${game.result}` }, OUTCOME_LABELS[game.result] ?? game.result)),
		cell("end quiet", game.end),
		cell("kind", describeGame(game)),
		cell("color", [game.ours, ourAccount(game)].filter(Boolean).join(", ")),
		cell("opening quiet", game.opening),
		cell("count moves", String(Math.ceil(game.plies / 2))),
		cell("count change", change === null ? null : el("span", { class: change < 0 ? "bad" : change > 0 && "good" }, formatSigned(change))));
}
