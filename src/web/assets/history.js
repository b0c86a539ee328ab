// View of all recorded games: filters, sorted list, statistics.

import { button, el, icon, select, setAttribute, setText, syncList } from "./dom.js";
import { getOrNull } from "./api.js";
import { opposite, VARIANTS } from "./chess.js";
import { Statistics } from "./statistics.js";
import { ourAccount, store } from "./store.js";
import { describeGame, formatSigned, formatTime, OUTCOME_LABELS, playerLabel } from "./format.js";

/** Number of rows per request, and its maximum. */
const PAGE_ROWS = 100;
const MAX_ROWS = 500;

const filterSelect = (name, label, options) => select(name, label, [["", "Any"], ...options]);

const filterField = (text, attributes, kind) => el("label", { class: kind }, text, el("input", { autocomplete: "off", ...attributes }));

/** Delays after the end of a game at which the list is refreshed, in ms. The game is usually in the records after the
 * first one, and on a busy disk after the second. */
const REFRESH_DELAYS_MS = [1000, 10_000];

/** Delay after the last change of a filter, in ms: a name is typed in several steps. */
const FILTER_DELAY_MS = 200;

/** Filters by day, and the number of days to the midnight that they mean. */
const DAY_FILTERS = { since: 0, until: 1 };

/** Local midnight `after` days after a date, in ms. */
function midnight(date, after) {
	const day = new Date(`${date}T00:00`);
	return day.setDate(day.getDate() + after);
}

/** Column headers and their sort keys. */
const COLUMNS = [["Date", "started"], ["Opponent", "opponent"], ["Rating", "rating"], ["Result", "result"], ["How it ended"], ["Kind", "clock"], ["Color"], ["Opening"], ["Moves", "plies"], ["Change"]];

/** Columns of numbers. */
const NUMBER_COLUMNS = ["Rating", "Moves", "Change"];

/** Values and texts of the orders: each sort key, descending and ascending. */
const ORDERS = COLUMNS.filter(([, by]) => by).flatMap(([text, by]) => [[`${by} false`, `${text} ▾`], [`${by} true`, `${text} ▴`]]);

/** Sort keys that begin ascending. */
const ASCENDING_FIRST = ["opponent"];

export class HistoryView {
	constructor() {
		this.account = filterField("Account", { name: "account", size: 9 });
		// Without a name: it is no filter. It replaces the column headers on narrow screens.
		this.order = select(null, "Sort by", ORDERS);
		this.order.className = "order";
		this.order.lastChild.addEventListener("input", ({ target }) => this.#setOrder(target.value));
		this.form = el("form", { class: "filters", role: "search", "aria-label": "Filter games", onsubmit: (event) => event.preventDefault(), oninput: () => this.#filterSoon() },
			filterField("Opponent", { type: "search", name: "text", placeholder: "Search" }),
			filterSelect("result", "Result", Object.entries(OUTCOME_LABELS).filter(([key]) => key !== "unknown")),
			filterSelect("speed", "Speed", ["bullet", "blitz", "rapid", "classical", "correspondence"].map((speed) => [speed, speed])),
			filterSelect("color", "Color", [["white", "white"], ["black", "black"]]),
			filterSelect("rated", "Rated", [["true", "rated"], ["false", "casual"]]),
			filterSelect("variant", "Variant", Object.entries(VARIANTS)),
			filterField("From", { type: "date", name: "since" }),
			filterField("Until", { type: "date", name: "until" }),
			filterField("Tournament", { name: "tournament", placeholder: "Id" }),
			this.account,
			this.order,
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

	/** A column header; a click sorts by the key `by`, if given. */
	#head(text, by) {
		const kind = NUMBER_COLUMNS.includes(text) && "count";
		return el("th", { scope: "col", class: kind }, by ? button(text, () => this.#sortBy(by)) : text);
	}

	#sortBy(by) {
		this.ascending = this.sort === by ? !this.ascending : ASCENDING_FIRST.includes(by);
		this.sort = by;
		this.#filter();
	}

	#setOrder(order) {
		const [by, ascending] = order.split(" ");
		this.sort = by;
		this.ascending = ascending === "true";
	}

	#filterSoon() {
		clearTimeout(this.filterTimer);
		this.filterTimer = setTimeout(() => !this.node.hidden && this.#filter(), FILTER_DELAY_MS);
	}

	/** Loads the games and updates the address, so that the filter can be bookmarked. */
	#filter() {
		const params = this.#params();
		history.replaceState(null, "", `#/games${params.size ? `?${params}` : ""}`);
		this.load();
	}

	#clear() {
		this.form.reset();
		this.#filter();
	}

	/** Parameters of the form and the order, without defaults. */
	#params() {
		const filled = [...new FormData(this.form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value);
		const params = new URLSearchParams(filled);
		if (this.sort !== "started" || this.ascending) params.set("sort", this.sort);
		if (this.ascending) params.set("ascending", true);
		return params;
	}

	/** Sets the form and the order from the address. */
	#readAddress() {
		const params = new URLSearchParams(location.hash.split("?")[1] ?? "");
		for (const { name } of this.form.elements) if (name) this.form.elements[name].value = params.get(name) ?? "";
		this.sort = COLUMNS.map(([, by]) => by).includes(params.get("sort") ?? "") ? params.get("sort") : "started";
		this.ascending = params.get("ascending") === "true";
	}

	open() {
		this.#readAddress();
		this.updateAccounts();
		this.load();
	}

	/** Shows the account filter if there are several accounts. */
	updateAccounts() {
		this.account.hidden = !store.snapshot?.accounts;
	}

	/** Loads the games for the current filter; aborts earlier requests. */
	load() {
		this.abort?.abort();
		this.abort = new AbortController();
		this.games = [];
		this.busy = false;
		for (const [by, head] of this.headers) setAttribute(head, "aria-sort", by === this.sort && (this.ascending ? "ascending" : "descending"));
		this.order.lastChild.value = `${this.sort} ${this.ascending}`;
		this.clear.hidden = ![...new FormData(this.form).values()].some(Boolean);
		setAttribute(this.pgn, "href", `/api/games.pgn?${this.#query()}`);
		this.#fetch();
		this.statistics.load(this.#query(), this.abort.signal);
	}

	/** Refreshes the visible list when a game has ended, or may have while the page was disconnected. */
	onEvent(kind, game) {
		if (this.node.hidden) return;
		if (kind === "snapshot") this.#refresh();
		if (kind !== "game" || !game?.result) return;
		this.refreshTimers?.forEach(clearTimeout);
		this.refreshTimers = REFRESH_DELAYS_MS.map((delay) => setTimeout(() => this.#refresh(), delay));
	}

	async #refresh() {
		if (!this.abort || this.node.hidden) return;
		this.statistics.load(this.#query(), this.abort.signal);
		// All shown rows are requested, because the position of the new game depends on the order.
		const list = await this.#request(0, Math.max(PAGE_ROWS, Math.min(this.games.length + 1, MAX_ROWS)));
		if (list) this.#show(this.games.length < MAX_ROWS ? list.games : this.games, list.total);
	}

	#query() {
		const params = this.#params();
		for (const [name, after] of Object.entries(DAY_FILTERS)) {
			if (params.has(name)) params.set(name, midnight(params.get(name), after));
		}
		return params;
	}

	async #fetch() {
		if (this.busy || !this.abort) return;
		this.busy = true;
		const { signal } = this.abort;
		const list = await this.#request(this.games.length);
		if (signal.aborted) return;
		this.busy = false;
		if (list) this.#show([...this.games, ...list.games], list.total);
	}

	/** At most `limit` games from `offset`; null if the request failed or was aborted. */
	async #request(offset, limit = PAGE_ROWS) {
		const { signal } = this.abort;
		const query = this.#query();
		query.set("offset", offset);
		query.set("limit", limit);
		const list = await getOrNull(`/api/games?${query}`, signal);
		return signal.aborted ? null : list;
	}

	#show(games, total) {
		// New games shift the rows, so that a game may be returned twice.
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
		cell("when quiet", game.started === null ? "unknown" : formatTime(game.started, true)),
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
