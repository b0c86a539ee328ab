// Positions and moves. The legal moves come from the daemon.

const PIECE_NAMES = { P: "pawn", N: "knight", B: "bishop", R: "rook", Q: "queen", K: "king" };
const PIECE_VALUES = { P: 1, N: 3, B: 3, R: 5, Q: 9, K: 0 };

/** Squares are numbers, a1 = 0, b1 = 1, h8 = 63. */
export const squareIndex = (name) => name.charCodeAt(0) - 97 + 8 * (name.charCodeAt(1) - 49);

export const squareName = (square) => "abcdefgh"[square & 7] + ((square >> 3) + 1);

/** The variants of Lichess and their names in PGN. */
export const VARIANTS = {
	standard: "Standard", chess960: "Chess960", crazyhouse: "Crazyhouse", antichess: "Antichess", atomic: "Atomic", horde: "Horde",
	kingOfTheHill: "King of the Hill", racingKings: "Racing Kings", threeCheck: "Three-check", fromPosition: "From Position",
};

/** The squares that win the game for the king that reaches one of them. */
export const goalSquares = (variant) => ({ kingOfTheHill: ["d4", "e4", "d5", "e5"], racingKings: Array.from("abcdefgh", (file) => `${file}8`) }[variant] ?? []).map(squareIndex);

/** The 64 squares of a FEN: `wK`, `bP`, ... or null. */
export function boardFromFen(fen) {
	const board = Array(64).fill(null);
	let at = 56;
	// Crazyhouse marks promoted pieces with `~`, and has the pockets as a ninth row.
	for (const c of fen.split(" ")[0].replaceAll("~", "").split("/", 8).join("/")) {
		if (c === "/") at -= 16;
		else if (c >= "1" && c <= "8") at += Number(c);
		else board[at++] = (c === c.toUpperCase() ? "w" : "b") + c.toUpperCase();
	}
	return board;
}

/** The pieces of both sides in hand in a FEN of crazyhouse: `wN`, `bP`, ... */
export const pocketsFromFen = (fen) => Array.from(fen.split(" ")[0].split("/")[8] ?? "", (c) => (c === c.toUpperCase() ? "w" : "b") + c.toUpperCase());

/** The numbers of checks that White and Black have given in a FEN of three-check; null in other variants. */
export function checksFromFen(fen) {
	const match = /\+(\d)\+(\d)$/.exec(fen);
	return match && { white: Number(match[1]), black: Number(match[2]) };
}

/** The square of an atomic capture and those around it; none if the move is no capture. */
export function explosionSquares({ san, uci }) {
	if (!san.includes("x")) return [];
	const { to } = parseUci(uci);
	return Array.from({ length: 64 }, (_, square) => square).filter((square) => Math.abs((square & 7) - (to & 7)) <= 1 && Math.abs((square >> 3) - (to >> 3)) <= 1);
}

export const sideToMove = (fen) => (fen.split(" ")[1] === "b" ? "black" : "white");

export const opposite = (color) => (color === "white" ? "black" : "white");

/** `white knight`. */
export const pieceName = (piece) => `${piece[0] === "w" ? "white" : "black"} ${PIECE_NAMES[piece[1]]}`;

export const kingSquare = (board, color) => board.indexOf(`${color[0]}K`);

/** The origin of a drop is `P@`, `N@`, ... */
export const parseUci = (uci) => ({ from: uci[1] === "@" ? uci.slice(0, 2) : squareIndex(uci), to: squareIndex(uci.slice(2)), promotion: uci[4] ?? null });

/** The squares of a move, for highlighting. */
export function moveSquares(uci) {
	const { from, to } = parseUci(uci);
	return [from, to].filter(Number.isInteger);
}

/** The squares of king and rook if this move is castling, in either notation (`e1g1` or `e1h1`); else null. */
export function castling(board, from, to) {
	const king = board[from];
	if (king?.[1] !== "K" || from >> 3 !== to >> 3) return null;
	const onto = board[to] === `${king[0]}R`;
	if (!onto && Math.abs(to - from) !== 2) return null;
	const rank = from & 56;
	const short = to > from;
	const rook = onto ? to : rank + (short ? 7 : 0);
	return { rook, kingTo: rank + (short ? 6 : 2), rookTo: rank + (short ? 5 : 3) };
}

/** The board after a legal move, before any explosion. */
export function afterMove(fen, uci) {
	const { from, to, promotion } = parseUci(uci);
	const board = boardFromFen(fen);
	const next = [...board];
	if (uci[1] === "@") {
		next[to] = sideToMove(fen)[0] + uci[0];
		return next;
	}
	const piece = board[from];
	next[from] = null;
	const castled = castling(board, from, to);
	if (castled) {
		next[castled.rook] = null;
		next[castled.kingTo] = piece;
		next[castled.rookTo] = `${piece[0]}R`;
		return next;
	}
	// A pawn that goes aslant to an empty square takes in passing.
	if (piece?.[1] === "P" && (from ^ to) & 7 && !board[to]) next[(from & 56) | (to & 7)] = null;
	next[to] = promotion ? piece[0] + promotion.toUpperCase() : piece;
	return next;
}

/** From each square to where, and with which moves: several where a pawn promotes. Castling goes by king or rook. */
export function legalTargets(board, legal) {
	const from = new Map();
	const add = (source, to, uci) => {
		if (!from.has(source)) from.set(source, new Map());
		const all = from.get(source);
		all.set(to, [...(all.get(to) ?? []), uci]);
	};
	const castles = [];
	for (const uci of legal) {
		const move = parseUci(uci);
		const castled = castling(board, move.from, move.to);
		if (castled) castles.push([uci, move.from, castled]);
		else add(move.from, move.to, uci);
	}
	for (const [uci, king, { rook, kingTo }] of castles) {
		for (const to of [rook, kingTo]) {
			if (to !== king && !from.get(king)?.has(to)) add(king, to, uci);
		}
	}
	return from;
}

/** The squares that pieces of this color could reach on an empty board, for premoves; `pockets` are the pieces in hand. */
export function premoveTargets(board, pockets, color) {
	const from = new Map();
	for (const [side, kind] of pockets) {
		if (side !== color[0]) continue;
		const squares = [...board.keys()].filter((to) => kind !== "P" || (to > 7 && to < 56));
		from.set(`${kind}@`, new Map(squares.map((to) => [to, [`${kind}@${squareName(to)}`]])));
	}
	board.forEach((piece, source) => {
		if (piece?.[0] !== color[0]) return;
		const all = new Map();
		for (let to = 0; to < 64; to++) {
			if (to !== source && canReach(board, piece, source, to)) all.set(to, [squareName(source) + squareName(to)]);
		}
		from.set(source, all);
	});
	return from;
}

function canReach(board, [color, kind], from, to) {
	const dx = Math.abs((to & 7) - (from & 7));
	const dy = (to >> 3) - (from >> 3);
	const up = color === "w" ? dy : -dy;
	const ay = Math.abs(dy);
	switch (kind) {
		case "P": return (dx <= 1 && up === 1) || (dx === 0 && up === 2 && (color === "w" ? from < 16 : from > 47));
		case "N": return dx * ay === 2;
		case "B": return dx === ay;
		case "R": return dx === 0 || ay === 0;
		case "Q": return dx === ay || dx === 0 || ay === 0;
		default: return (dx <= 1 && ay <= 1) || castling(board, from, to) !== null;
	}
}

/** The legal moves that match a typed text: `Nf3`, `exd5`, `e8=Q`, `O-O`, `e2e4`, `N@f3`. */
export function parseTypedMove(board, legal, text) {
	const plain = text.trim().replace(/[+#!?]+$/, "").replace("=", "");
	const exact = legal.filter((uci) => uci.toLowerCase() === plain.toLowerCase().replace(/^@/, "p@"));
	if (exact.length) return exact;
	const castles = /^[o0]-?[o0](-?[o0])?$/i.exec(plain);
	if (castles) {
		return legal.filter((uci) => {
			const { from, to } = parseUci(uci);
			const castled = castling(board, from, to);
			return castled && (castled.kingTo & 7) === (castles[1] ? 2 : 6);
		});
	}
	const found = matchSan(board, legal, plain);
	// Lower-case piece letters, such as `nf3`, are accepted if nothing else matches.
	return found.length || !/^[nrqk]/.test(plain) ? found : matchSan(board, legal, plain[0].toUpperCase() + plain.slice(1));
}

function matchSan(board, legal, text) {
	const match = /^([KQRBN]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])([qrbnk]?)$/.exec(text.replace(/[QRBNK]$/, (c) => c.toLowerCase()));
	if (!match) return [];
	const [, kind, file, rank, to, promotion] = match;
	return legal.filter((uci) => {
		const move = parseUci(uci);
		return (
			board[move.from]?.[1] === (kind || "P") &&
			move.to === squareIndex(to) &&
			!castling(board, move.from, move.to) &&
			(!file || uci[0] === file) &&
			(!rank || uci[1] === rank) &&
			(move.promotion ?? "") === (promotion || (move.promotion ? "q" : ""))
		);
	});
}

/** A move and the FEN after it for screen readers: `knight takes f3, check`. */
export function sanAsWords(san, variant, fen) {
	const end = san.endsWith("#") ? `, ${endAsWords(variant, fen)}` : san.endsWith("+") ? ", check" : "";
	if (san.startsWith("O-O")) return `castles${san.startsWith("O-O-O") ? " long" : ""}${end}`;
	const drop = /^([QRBNP]?)@([a-h][1-8])/.exec(san);
	if (drop) return `${PIECE_NAMES[drop[1] || "P"]} dropped on ${drop[2]}${end}`;
	const match = /^([KQRBN]?)([a-h]?[1-8]?)(x?)([a-h][1-8])(?:=([QRBNK]))?[+#]?$/.exec(san);
	if (!match) return san;
	const [, piece, from, takes, to, promoted] = match;
	const words = [PIECE_NAMES[piece], from, takes && "takes", to, promoted && `becomes ${PIECE_NAMES[promoted]}`];
	return words.filter(Boolean).join(" ") + end;
}

/** What has ended the game: SAN marks mates and wins by a rule of the variant alike. */
function endAsWords(variant, fen) {
	const board = boardFromFen(fen);
	const isGoalReached = goalSquares(variant).some((square) => board[square]?.[1] === "K");
	switch (variant) {
		case "antichess": return "no pieces or moves left";
		case "atomic": return board.includes("wK") && board.includes("bK") ? "mate" : "the king explodes";
		case "horde": return board.some((piece) => piece?.[0] === "w") ? "mate" : "the horde is captured";
		case "kingOfTheHill": return isGoalReached ? "king in the center" : "mate";
		case "racingKings": return isGoalReached ? "the race is won" : "mate";
		case "threeCheck": return Object.values(checksFromFen(fen) ?? {}).includes(3) ? "third check" : "mate";
		default: return "mate";
	}
}

/** The material advantage of each side as pieces of the other, and White's lead in pawns. */
export function material(board) {
	const more = { white: [], black: [] };
	let lead = 0;
	for (const kind of "QRBNP") {
		const count = (color) => board.filter((piece) => piece === color + kind).length;
		const difference = count("w") - count("b");
		lead += difference * PIECE_VALUES[kind];
		const side = difference > 0 ? "white" : "black";
		for (let i = 0; i < Math.abs(difference); i++) more[side].push((side === "white" ? "b" : "w") + kind);
	}
	return { ...more, lead };
}

/** The move number of a game's i-th ply, from 0, and whether it is Black's. */
export function moveNumbering(startFen) {
	const [, side, , , , full] = startFen.split(" ");
	const offset = side === "b" ? 1 : 0;
	const first = Number(full) || 1;
	return (i) => ({ number: first + Math.floor((i + offset) / 2), black: (i + offset) % 2 === 1 });
}
