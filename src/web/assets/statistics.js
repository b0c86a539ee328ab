// Statistics: results by group, clock statistics, ratings over time.

import { button, dataTable, el, svg } from "./dom.js";
import { getOrNull } from "./api.js";
import { formatDate, formatDuration, formatPercent, formatSigned, formatTime } from "./format.js";

/** Rows of a table before it is expanded. */
const VISIBLE_ROWS = 8;

/** Number of line styles in the rating chart. */
const LINE_STYLES = 6;

const TABLE_NAMES = { by_speed: "Speed", by_color: "Color", by_opponent: "Opponent", by_opening: "Opening", by_tournament: "Tournament" };

const DAY_MS = 86_400_000;

/** Size of the rating chart, in SVG units. */
const CHART_WIDTH = 600;
const CHART_HEIGHT = 160;

export class Statistics {
	constructor() {
		this.body = el("div", { class: "tables" });
		/** Names of the expanded tables. */
		this.expanded = new Set();
		this.node = el("details", { class: "statistics", ontoggle: () => this.#show() }, el("summary", {}, "Statistics"), this.body);
	}

	/** Sets the query; the statistics are loaded when they are visible. */
	load(query, signal) {
		Object.assign(this, { query, signal });
		this.#show();
	}

	async #show() {
		if (!this.node.open || this.loadedQuery === this.query) return;
		const { query, signal } = this;
		this.loadedQuery = query;
		const stats = await getOrNull(`/api/stats?${query}`, signal);
		if (!stats) return void (this.loadedQuery = null);
		const tables = Object.entries(TABLE_NAMES).map(([key, name]) => this.#summary(name, stats[key] ?? []));
		this.body.replaceChildren(...[ratingChart(stats.ratings ?? {}), ...tables, timingTable(stats.timing ?? [])].filter(Boolean));
	}

	#summary(name, groups) {
		if (!groups.length) return null;
		const shown = this.expanded.has(name) ? groups.length : VISIBLE_ROWS;
		const rows = el("tbody", {}, groups.slice(0, shown).map(groupRow));
		const more = button(`All ${groups.length}`, () => {
			this.expanded.add(name);
			const rest = groups.slice(shown).map(groupRow);
			rows.append(...rest);
			more.remove();
			// Keyboard users continue at the first new row.
			rest[0].tabIndex = -1;
			rest[0].focus();
		});
		return el("div", { class: "scrolling" }, dataTable([name, "#Games", "#Score", ""], rows), groups.length > shown && more);
	}
}

/** Clock statistics by speed; null without any. */
function timingTable(speeds) {
	const timed = speeds.filter(({ left_ms, round_trip_ms }) => left_ms !== null || round_trip_ms !== null);
	if (!timed.length) return null;
	const number = (text) => el("td", { class: "count" }, text);
	const row = ({ speed, games, flagged, left_ms, round_trip_ms }) => el("tr", {},
		el("th", { scope: "row" }, speed),
		number(String(games)),
		number(left_ms === null ? "–" : formatDuration(left_ms)),
		number(String(flagged)),
		number(round_trip_ms === null ? "–" : `${round_trip_ms} ms`));
	return el("div", { class: "scrolling" },
		dataTable(["Clock", "#Games", "#Left", "#Flags", "#Latency"], el("tbody", {}, timed.map(row))),
		el("p", { class: "quiet" }, "Of the latest games: medians of our clock at the end and of the round trip of a move to the server; flags are games that we lost on time."));
}

function groupRow({ name, won, drawn, lost, points }) {
	const games = won + drawn + lost;
	const share = (count, kind, i) => svg("rect", { class: kind, x: i, width: count, height: 1 });
	const bar = svg("svg", { class: "wdl", viewBox: `0 0 ${games || 1} 1`, preserveAspectRatio: "none", role: "img", "aria-label": `${won} won, ${drawn} drawn, ${lost} lost` },
		share(won, "won", 0), share(drawn, "drawn", won), share(lost, "lost", won + drawn));
	return el("tr", {},
		el("th", { scope: "row" }, name),
		el("td", { class: "count" }, String(games)),
		el("td", { class: "count" }, games ? formatPercent(points / games) : "–"),
		el("td", {}, bar));
}

/** The latest rating of each kind, and a line for kinds with several games, all on one scale. */
function ratingChart(kinds) {
	const all = Object.entries(kinds).filter(([, points]) => points.length);
	if (!all.length) return null;
	const lines = all.filter(([, points]) => points.length > 1);
	const points = lines.flatMap(([, points]) => points);
	const [first, last] = [Math.min(...points.map(([at]) => at)), Math.max(...points.map(([at]) => at))];
	const values = points.map(([, rating]) => rating);
	// A margin keeps the lines off the edges.
	const low = Math.floor((Math.min(...values) - 10) / 50) * 50;
	const high = Math.ceil((Math.max(...values) + 10) / 50) * 50;
	const x = (at) => ((CHART_WIDTH * (at - first)) / Math.max(1, last - first)).toFixed(1);
	const y = (rating) => (CHART_HEIGHT * (1 - (rating - low) / (high - low))).toFixed(1);
	const style = (kind) => `kind${all.findIndex(([name]) => name === kind) % LINE_STYLES}`;
	const latest = ([kind, points]) => `${kind} ${points.at(-1)[1]}`;
	const drawing = () => svg("svg", { viewBox: `0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`, preserveAspectRatio: "none", class: "ratings", role: "img", "aria-label": lines.map(latest).join(", ") },
		lines.map(([kind, points]) => svg("polyline", { class: style(kind), points: points.map(([at, rating]) => `${x(at)},${y(rating)}`).join(" ") })));
	// Within a day the time is shown instead of the date.
	const when = last - first < DAY_MS ? (ms) => formatTime(ms, true) : formatDate;
	const curve = lines.length > 0 && el("div", { class: "scale" }, el("span", {}, high), drawing(), el("span", {}, low), el("p", {}, el("span", {}, when(first)), el("span", {}, when(last))));
	const change = (points) => points.length > 1 && el("span", { class: "quiet" }, ` ${formatSigned(points.at(-1)[1] - points[0][1])}`);
	const key = () => svg("svg", { viewBox: "0 0 24 4", "aria-hidden": "true" }, svg("polyline", { points: "0,2 24,2" }));
	const legend = el("figcaption", {}, all.map((one) => el("span", { class: `key ${style(one[0])}` }, one[1].length > 1 && key(), latest(one), change(one[1]))));
	return el("figure", { class: "wide", "aria-label": "Ratings" }, legend, curve);
}
