// Numbers and moments as people write them.

const MINUS = "\u2212";

const two = (n) => String(n).padStart(2, "0");

/** `2 d 5 h`, `1:02:03`, `4:05`, and tenths in the last twenty seconds. */
export function clock(ms) {
	if (ms < 20_000) {
		const tenths = Math.floor(ms / 100);
		return `0:${two(Math.floor(tenths / 10))}.${tenths % 10}`;
	}
	const seconds = Math.floor(ms / 1000);
	if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)} d ${Math.floor(seconds / 3600) % 24} h`;
	const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
	return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** `2.3 s`, `41 s`, `3 min`, `5 h`. */
export function span(ms) {
	if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
	if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
	if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
	return `${Math.round(ms / 3_600_000)} h`;
}

/** `950`, `41k`, `3.2M`. */
export function count(n) {
	if (n < 1000) return String(n);
	if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`;
	return n < 1e9 ? `${(n / 1e6).toFixed(n < 1e7 ? 2 : 1)}M` : `${(n / 1e9).toFixed(1)}G`;
}

/** `100 %`, never broken between number and sign. */
export const percent = (share) => `${Math.round(share * 100)}\u00a0%`;

/** `14:02`, and the day too when it is another one, or `always`. */
export function moment(ms, always = false) {
	const date = new Date(ms);
	const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
	return !always && date.toDateString() === new Date().toDateString() ? time : `${day(ms)} ${time}`;
}

/** A day of this machine's calendar, written as the browser writes those that are to be chosen. */
export const day = (ms) => new Date(ms).toLocaleDateString([], { year: "numeric", month: "2-digit", day: "2-digit" });

/** `+7`, `−12`, `±0`. */
export const signed = (n) => (n ? `${n < 0 ? MINUS : "+"}${Math.abs(n)}` : "±0");

/** White's view of what we thought: his chance to win, and the score. */
export function score(report, ours) {
	if (!report || (report.cp === null && report.mate === null)) return null;
	const sign = ours === "white" ? 1 : -1;
	if (report.mate !== null) {
		const mate = report.mate * sign;
		return { win: mate > 0 ? 1 : 0, text: `#${mate < 0 ? MINUS : ""}${Math.abs(mate)}` };
	}
	const cp = report.cp * sign;
	return { win: sign > 0 ? report.win : 1 - report.win, text: `${cp < 0 ? MINUS : "+"}${(Math.abs(cp) / 100).toFixed(2)}` };
}

export const RESULTS = { won: "Won", drawn: "Drawn", lost: "Lost", void: "Void", open: "Open", unknown: "Over" };

const VARIANTS = { standard: "", chess960: "Chess960", fromPosition: "From position" };

/** `3+2 blitz, rated, Chess960`. */
export function kind(game) {
	const variant = VARIANTS[game.variant] ?? game.variant;
	const speed = game.time_control === "unlimited" ? "" : ` ${game.speed}`;
	return [`${game.time_control}${speed}`, game.rated ? "rated" : "casual", variant].filter(Boolean).join(", ");
}

/** `BOT Rookie (800?)`. */
export function player({ name, title, rating, provisional }) {
	return `${title ? `${title} ` : ""}${name}${rating ? ` (${rating}${provisional ? "?" : ""})` : ""}`;
}

/** How a game ended, in one line: `1-0, checkmate`. */
export function ending(result) {
	const score = result.score === "1/2-1/2" ? "½-½" : result.score === "*" ? "" : result.score;
	return [score, result.text].filter(Boolean).join(", ");
}
