// What the games add up to, by what they have in common, and the ratings over time.

import { button, el, svg, table } from "./dom.js";
import { ask } from "./api.js";
import { day, moment, percent, signed, span } from "./words.js";

/** Rows of a table, until somebody wants all of them. */
const ROWS = 8;

/** Kinds of ratings that are told apart by color and dashes. */
const KINDS = 6;

const TABLES = { by_speed: "Speed", by_color: "Color", by_opponent: "Opponent", by_opening: "Opening", by_tournament: "Tournament" };

const DAY_MS = 86_400_000;

/** The drawing of the ratings, in its own units. */
const WIDTH = 600;
const HEIGHT = 160;

export class Statistics {
	constructor() {
		this.body = el("div", { class: "tables" });
		/** The tables that somebody wants to see in full. */
		this.full = new Set();
		this.node = el("details", { class: "statistics", ontoggle: () => this.#show() }, el("summary", {}, "Statistics"), this.body);
	}

	/** Which games count. They are counted when somebody looks. */
	load(query, signal) {
		Object.assign(this, { query, signal });
		this.#show();
	}

	async #show() {
		if (!this.node.open || this.counted === this.query) return;
		const { query, signal } = this;
		this.counted = query;
		const found = await ask(`/api/stats?${query}`, signal);
		if (!found) return void (this.counted = null);
		const tables = Object.entries(TABLES).map(([key, name]) => this.#summary(name, found[key] ?? []));
		this.body.replaceChildren(...[ratings(found.ratings ?? {}), ...tables, clocks(found.timing ?? [])].filter(Boolean));
	}

	#summary(name, groups) {
		if (!groups.length) return null;
		const shown = this.full.has(name) ? groups.length : ROWS;
		const rows = el("tbody", {}, groups.slice(0, shown).map(group));
		const more = button(`All ${groups.length}`, () => {
			this.full.add(name);
			const rest = groups.slice(shown).map(group);
			rows.append(...rest);
			more.remove();
			// Who came by keyboard reads on where the table was cut.
			rest[0].tabIndex = -1;
			rest[0].focus();
		});
		return el("div", { class: "scrolling" }, table([name, "#Games", "#Score", ""], rows), groups.length > shown && more);
	}
}

/** How it went by the clock; of speeds without one nothing is left to tell. */
function clocks(speeds) {
	const timed = speeds.filter(({ left_ms, round_trip_ms }) => left_ms !== null || round_trip_ms !== null);
	if (!timed.length) return null;
	const number = (text) => el("td", { class: "count" }, text);
	const row = ({ speed, games, flagged, left_ms, round_trip_ms }) => el("tr", {},
		el("th", { scope: "row" }, speed),
		number(String(games)),
		number(left_ms === null ? "–" : span(left_ms)),
		number(String(flagged)),
		number(round_trip_ms === null ? "–" : `${round_trip_ms} ms`));
	return el("div", { class: "scrolling" },
		table(["Clock", "#Games", "#Left", "#Flags", "#Latency"], el("tbody", {}, timed.map(row))),
		el("p", { class: "quiet" }, "Of the latest games: medians of our clock at the end and of a move's way to the server and back; flags are games that we lost on time."));
}

function group({ name, won, drawn, lost, points }) {
	const games = won + drawn + lost;
	const share = (count, kind, i) => svg("rect", { class: kind, x: i, width: count, height: 1 });
	const bar = svg("svg", { class: "wdl", viewBox: `0 0 ${games || 1} 1`, preserveAspectRatio: "none", role: "img", "aria-label": `${won} won, ${drawn} drawn, ${lost} lost` },
		share(won, "won", 0), share(drawn, "drawn", won), share(lost, "lost", won + drawn));
	return el("tr", {},
		el("th", { scope: "row" }, name),
		el("td", { class: "count" }, String(games)),
		el("td", { class: "count" }, games ? percent(points / games) : "–"),
		el("td", {}, bar));
}

/** A number for each kind of rating, and a line for those with several games, all on one scale. */
function ratings(kinds) {
	const all = Object.entries(kinds).filter(([, points]) => points.length);
	if (!all.length) return null;
	const lines = all.filter(([, points]) => points.length > 1);
	const points = lines.flatMap(([, points]) => points);
	const [first, last] = [Math.min(...points.map(([at]) => at)), Math.max(...points.map(([at]) => at))];
	const values = points.map(([, rating]) => rating);
	// No line lies on an edge.
	const low = Math.floor((Math.min(...values) - 10) / 50) * 50;
	const high = Math.ceil((Math.max(...values) + 10) / 50) * 50;
	const x = (at) => ((WIDTH * (at - first)) / Math.max(1, last - first)).toFixed(1);
	const y = (rating) => (HEIGHT * (1 - (rating - low) / (high - low))).toFixed(1);
	const style = (kind) => `kind${all.findIndex(([name]) => name === kind) % KINDS}`;
	const latest = ([kind, points]) => `${kind} ${points.at(-1)[1]}`;
	const drawing = () => svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", class: "ratings", role: "img", "aria-label": lines.map(latest).join(", ") },
		lines.map(([kind, points]) => svg("polyline", { class: style(kind), points: points.map(([at, rating]) => `${x(at)},${y(rating)}`).join(" ") })));
	// Within a day the hours tell more.
	const when = last - first < DAY_MS ? (ms) => moment(ms, true) : day;
	const curve = lines.length > 0 && el("div", { class: "scale" }, el("span", {}, high), drawing(), el("span", {}, low), el("p", {}, el("span", {}, when(first)), el("span", {}, when(last))));
	const change = (points) => points.length > 1 && el("span", { class: "quiet" }, ` ${signed(points.at(-1)[1] - points[0][1])}`);
	const key = () => svg("svg", { viewBox: "0 0 24 4", "aria-hidden": "true" }, svg("polyline", { points: "0,2 24,2" }));
	const legend = el("figcaption", {}, all.map((one) => el("span", { class: `key ${style(one[0])}` }, one[1].length > 1 && key(), latest(one), change(one[1]))));
	return el("figure", { class: "wide", "aria-label": "Ratings" }, legend, curve);
}
