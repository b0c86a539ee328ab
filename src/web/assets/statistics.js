// What the games add up to, by what they have in common, and the ratings over time.

import { el, svg, table } from "./dom.js";
import { ask } from "./api.js";
import { day } from "./words.js";

/** Rows of a table; who wants more of them filters. */
const ROWS = 8;

const TABLES = { by_speed: "Speed", by_color: "Color", by_opponent: "Opponent", by_opening: "Opening", by_tournament: "Tournament" };

/** The drawing of the ratings, in its own units. */
const WIDTH = 600;
const HEIGHT = 160;

export class Statistics {
	constructor() {
		this.body = el("div", { class: "tables" });
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
		const tables = Object.entries(TABLES).map(([key, name]) => summary(name, found[key] ?? []));
		this.body.replaceChildren(...[ratings(found.ratings ?? {}), ...tables].filter(Boolean));
	}
}

function summary(name, groups) {
	if (!groups.length) return null;
	return table([name, "#Games", "#Score", ""], el("tbody", {}, groups.slice(0, ROWS).map(group)));
}

function group({ name, won, drawn, lost, points }) {
	const games = won + drawn + lost;
	const share = (count, kind, i) => svg("rect", { class: kind, x: i, width: count, height: 1 });
	const bar = svg("svg", { class: "wdl", viewBox: `0 0 ${games || 1} 1`, preserveAspectRatio: "none", role: "img", "aria-label": `${won} won, ${drawn} drawn, ${lost} lost` },
		share(won, "won", 0), share(drawn, "drawn", won), share(lost, "lost", won + drawn));
	return el("tr", {},
		el("th", { scope: "row" }, name),
		el("td", { class: "count" }, String(games)),
		el("td", { class: "count" }, games ? `${Math.round((100 * points) / games)} %` : "–"),
		el("td", {}, bar));
}

/** One line for each kind of rating, all on one scale. */
function ratings(kinds) {
	const lines = Object.entries(kinds).filter(([, points]) => points.length > 1);
	if (!lines.length) return null;
	const all = lines.flatMap(([, points]) => points);
	const [first, last] = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
	const low = Math.floor(Math.min(...all.map(([, rating]) => rating)) / 50) * 50;
	const high = Math.ceil(Math.max(...all.map(([, rating]) => rating)) / 50) * 50 + 1;
	const x = (at) => ((WIDTH * (at - first)) / Math.max(1, last - first)).toFixed(1);
	const y = (rating) => (HEIGHT * (1 - (rating - low) / (high - low))).toFixed(1);
	const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", class: "ratings", role: "img",
		"aria-label": lines.map(([kind, points]) => `${kind} ${points.at(-1)[1]}`).join(", ") },
		lines.map(([, points], i) => svg("polyline", { class: `kind${i}`, points: points.map(([at, rating]) => `${x(at)},${y(rating)}`).join(" ") })));
	const legend = el("figcaption", {}, lines.map(([kind, points], i) => el("span", { class: `key kind${i}` }, `${kind} ${points.at(-1)[1]}`)),
		el("span", { class: "quiet" }, `${day(first)} to ${day(last)}, ${low} to ${high - 1}`));
	return el("figure", { class: "wide" }, drawing, legend);
}
