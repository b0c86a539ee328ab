// Formatting of numbers, times, games and results.

import { VARIANTS } from "./chess.js";

const MINUS = "\u2212";

const twoDigits = (n) => String(n).padStart(2, "0");

/** `2 d 5 h`, `1:02:03`, `4:05`, and tenths in the last twenty seconds. */
export function formatClock(ms) {
	if (ms < 20_000) {
		const tenths = Math.floor(ms / 100);
		return `0:${twoDigits(Math.floor(tenths / 10))}.${tenths % 10}`;
	}
	const seconds = Math.floor(ms / 1000);
	if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)} d ${Math.floor(seconds / 3600) % 24} h`;
	const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
	return h ? `${h}:${twoDigits(m)}:${twoDigits(s)}` : `${m}:${twoDigits(s)}`;
}

/** `2.3 s`, `41 s`, `3 min`, `5 h`. */
export function formatDuration(ms) {
	if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
	if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
	if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
	return `${Math.round(ms / 3_600_000)} h`;
}

/** `950`, `41k`, `3.2M`. */
export function formatCount(n) {
	if (n < 1000) return String(n);
	if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`;
	return n < 1e9 ? `${(n / 1e6).toFixed(n < 1e7 ? 2 : 1)}M` : `${(n / 1e9).toFixed(1)}G`;
}

/** `100 %` with a no-break space. */
export const formatPercent = (share) => `${Math.round(share * 100)}\u00a0%`;

/** `14:02`, with the date if it is another day or with `always`. */
export function formatTime(ms, always = false) {
	const date = new Date(ms);
	const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
	return !always && date.toDateString() === new Date().toDateString() ? time : `${formatDate(ms)} ${time}`;
}

/** A local date, as in the browser's date fields. */
export const formatDate = (ms) => new Date(ms).toLocaleDateString([], { year: "numeric", month: "2-digit", day: "2-digit" });

/** `+7`, `−12`, `±0`. */
export const formatSigned = (n) => (n ? `${n < 0 ? MINUS : "+"}${Math.abs(n)}` : "±0");

/** White's win probability and score in search information of ours; null without a score. */
export function whiteScore(report, ours) {
	if (!report || (report.cp === null && report.mate === null)) return null;
	const sign = ours === "white" ? 1 : -1;
	if (report.mate !== null) {
		const mate = report.mate * sign;
		return { win: mate > 0 ? 1 : 0, text: `#${mate < 0 ? MINUS : ""}${Math.abs(mate)}` };
	}
	const cp = report.cp * sign;
	return { win: sign > 0 ? report.win : 1 - report.win, text: `${cp < 0 ? MINUS : "+"}${(Math.abs(cp) / 100).toFixed(2)}` };
}

export const OUTCOME_LABELS = { won: "Won", drawn: "Drawn", lost: "Lost", void: "Void", open: "Open", unknown: "Over" };

/** Empty for standard chess. */
export const variantLabel = (variant) => (variant === "standard" ? "" : (VARIANTS[variant] ?? variant));

/** `3+2 blitz, rated, Chess960`. */
export function describeGame(game) {
	const variant = variantLabel(game.variant);
	const known = game.time_control !== "unlimited" && game.speed !== "unknown";
	const speed = known ? ` ${game.speed}` : "";
	return [`${game.time_control}${speed}`, game.rated ? "rated" : "casual", variant].filter(Boolean).join(", ");
}

/** `BOT Rookie (800?)`. */
export function playerLabel({ name, title, rating, provisional }) {
	return `${title ? `${title} ` : ""}${name}${rating ? ` (${rating}${provisional ? "?" : ""})` : ""}`;
}

/** `1-0`, `½-½`; empty for a game that does not count. */
export const scoreText = ({ score }) => (score === "1/2-1/2" ? "½-½" : score === "*" ? "" : score);

/** The result in one line: `1-0, checkmate`. */
export const describeResult = (result) => [scoreText(result), result.text].filter(Boolean).join(", ");

/** The outcome for a color: `won`, `drawn`, `lost` or `unknown`. */
export function outcomeFor({ result, ours }, color) {
	return color === ours ? result.outcome : ({ won: "lost", lost: "won" }[result.outcome] ?? result.outcome);
}

/** The color that has won, or null. */
export const winnerColor = ({ score }) => ({ "1-0": "white", "0-1": "black" })[score] ?? null;

/** How to call a side: for the player of color `me`, or for spectators if `me` is null. */
const displayName = (game, color, me) => (color === me ? "You" : me ? game[color].name : color === "white" ? "White" : "Black");

/** Texts of lost games by the status of the server. */
const LOSS_TEXTS = {
	mate: () => "Checkmate",
	resign: (who) => `${who} resigned`,
	outoftime: (who) => `${who} ran out of time`,
	timeout: (who) => `${who} left the game`,
	noStart: (who) => `${who} did not move`,
};

const DRAW_TEXTS = {
	stalemate: "Stalemate",
	outoftime: "Time ran out against too little material to mate",
	"insufficient material": "Insufficient material",
	"fifty moves": "Fifty moves without progress",
	"threefold repetition": "Threefold repetition",
	agreement: "Draw by agreement",
};

export const capitalize = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The result as a sentence for the player of color `me`, or for spectators if `me` is null. */
export function resultSentence(game, me) {
	const { status, text, score } = game.result;
	const won = winnerColor(game.result);
	const join = (...parts) => (me ? `${parts.join(". ")}.` : parts.join(" · "));
	if (won) {
		const loser = displayName(game, won === "white" ? "black" : "white", me);
		return join(LOSS_TEXTS[status]?.(loser) ?? capitalize(text), `${displayName(game, won, me)} ${won === me ? "win" : "wins"}`);
	}
	if (me && text === "agreement") return "You agreed on a draw.";
	if (score === "1/2-1/2") return join(DRAW_TEXTS[status] ?? DRAW_TEXTS[text] ?? capitalize(text), me ? "It is a draw" : "Draw");
	return me && status === "aborted" ? "The game was aborted: it does not count." : capitalize(text);
}
