// Conversion of a game to PGN.

import { moveNumbering, VARIANTS } from "./chess.js";

const LINE_WIDTH = 80;

/** Variants in which Lichess writes the start position. */
const OWN_START = ["chess960", "fromPosition", "horde", "racingKings"];

export function gameToPgn(game) {
	const date = new Date(game.started).toISOString().slice(0, 10).replaceAll("-", ".");
	const result = game.result?.score ?? "*";
	const tags = {
		Event: `${game.rated ? "Rated" : "Casual"} ${game.speed === "unknown" ? "" : `${game.speed} `}game`,
		Site: game.url,
		Date: date,
		Round: "-",
		White: game.white.name,
		Black: game.black.name,
		Result: result,
		WhiteTitle: game.white.title,
		BlackTitle: game.black.title,
		WhiteElo: game.white.rating,
		BlackElo: game.black.rating,
		TimeControl: game.clock ? `${game.clock.base_ms / 1000}+${game.clock.increment_ms / 1000}` : "-",
		Variant: game.variant === "standard" ? null : (VARIANTS[game.variant] ?? game.variant),
	};
	if (OWN_START.includes(game.variant)) Object.assign(tags, { SetUp: "1", FEN: game.start_fen });
	const quoted = (value) => String(value).replace(/["\\]/g, "\\$&");
	const head = Object.entries(tags).filter(([, value]) => value !== null && value !== undefined);
	return `${head.map(([name, value]) => `[${name} "${quoted(value)}"]`).join("\n")}\n\n${wrapTokens([...moveTokens(game), result])}\n`;
}

function moveTokens(game) {
	const number = moveNumbering(game.start_fen);
	return game.moves.flatMap((move, i) => {
		const { number: n, black } = number(i);
		return black ? (i ? [move.san] : [`${n}...`, move.san]) : [`${n}.`, move.san];
	});
}

function wrapTokens(tokens) {
	const lines = [""];
	for (const token of tokens) {
		const line = lines.at(-1);
		if (!line) lines[lines.length - 1] = token;
		else if (line.length + 1 + token.length < LINE_WIDTH) lines[lines.length - 1] += ` ${token}`;
		else lines.push(token);
	}
	return lines.join("\n");
}
