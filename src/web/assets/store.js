// Client-side state: the latest snapshot with all changes since, and its listeners.

import { hasKey } from "./api.js";

export const store = {
	/** The latest snapshot, kept up to date; null before the first. */
	snapshot: null,
	/** Games by id, running ones in the order of their start, finished ones in the order of their end. */
	games: new Map(),
	connected: false,
	/** Why not connected, as in events.js; null before the first attempt. */
	disconnectReason: null,
	/** Offset of the daemon's clock from ours, in ms. */
	clockOffset: 0,
};

const listeners = [];

/** `listener(kind, id)` is called after every change; `id` is the id of its game or null. */
export const onChange = (listener) => listeners.push(listener);

const notifyListeners = (kind, id) => listeners.forEach((listener) => listener(kind, id ?? null));

export const now = () => Date.now() + store.clockOffset;

/** The color of the user of this page in a game, or null. */
export function userColor(game) {
	const user = store.snapshot?.play?.user;
	if (!user) return null;
	return game.white.name === user ? "white" : game.black.name === user ? "black" : null;
}

/** The color that this window plays in a game; null without the key. */
export const controlledColor = (game) => (hasKey() ? userColor(game) : null);

/** Whether this window plays a game that is running. */
export const isPlaying = (game) => controlledColor(game) !== null && !game.result;

/** Whether the evaluation of a game is hidden: while this window plays it, unless the user has enabled it. */
export const hidesEngine = (game) => isPlaying(game) && !store.snapshot.play.show_engine;

/** The account that plays a game, if there are several; else null. */
export const ourAccount = (game) => (store.snapshot?.accounts ? game[game.ours].name : null);

export const runningGames = () => [...store.games.values()].filter((game) => !game.result);

export const offersControl = (control) => store.snapshot?.control?.includes(control) ?? false;

export function onDisconnect(why) {
	if (!store.connected && store.disconnectReason === why) return;
	store.connected = false;
	store.disconnectReason = why;
	notifyListeners("connection");
}

export function onEvent(kind, data, began) {
	eventHandlers[kind](data, began);
	notifyListeners(kind, kind === "game" ? data.id : (data.game ?? null));
}

/** Maximum length of the lists. */
const MAX_ENTRIES = 200;

function pushBounded(list, item) {
	list.push(item);
	if (list.length > MAX_ENTRIES) list.shift();
}

/** Number of clock offsets that count: enough to skip slow events, few enough to follow a correction of either clock. */
const MAX_OFFSETS = 10;

let offsets = [];

/** Updates the clock offset. An event may take seconds to arrive, which makes its offset smaller, so the largest of the last ones counts. */
function updateClockOffset(data, began) {
	offsets = store.connected ? [...offsets, data.now - began].slice(-MAX_OFFSETS) : [data.now - began];
	store.clockOffset = Math.max(...offsets);
}

const eventHandlers = {
	snapshot(data, began) {
		store.snapshot = data;
		const finished = data.games.filter((game) => game.result).reverse();
		const games = [...data.games.filter((game) => !game.result), ...finished];
		store.games = new Map(games.map((game) => [game.id, game]));
		updateClockOffset(data, began);
		store.connected = true;
	},
	game(game) {
		// Finished games are ordered by their end.
		if (game.result) store.games.delete(game.id);
		store.games.set(game.id, game);
		const finished = [...store.games.values()].filter(({ result }) => result);
		if (finished.length > MAX_ENTRIES) store.games.delete(finished[0].id);
	},
	moved({ game: id, move, fen, check, legal, clocks }) {
		const game = store.games.get(id);
		if (!game) return;
		// A move with a known ply replaces that move and all later ones.
		game.moves.length = Math.min(game.moves.length, move.ply - 1);
		game.moves.push(move);
		Object.assign(game, { fen, check, legal, clocks, thinking: null });
		// A move declines the offer of the opponent and withdraws the mover's own requests.
		if (game.draw_offer && game.draw_offer !== move.by) game.draw_offer = null;
		game.takeback = null;
	},
	thinking({ game, ply, report }) {
		const known = store.games.get(game);
		if (known?.moves.length === ply) known.thinking = report;
	},
	chat({ game, line }) {
		const known = store.games.get(game);
		if (known) pushBounded(known.chat, line);
	},
	status(data, began) {
		updateClockOffset(data, began);
		Object.assign(store.snapshot, data);
	},
	note(note) {
		pushBounded(store.snapshot.log, note);
	},
	challenge(challenge) {
		pushBounded(store.snapshot.challenges, challenge);
	},
	arena(arena) {
		const others = store.snapshot.arenas.filter(({ id, account }) => id !== arena.id || (account && arena.account && account !== arena.account));
		store.snapshot.arenas = [...others, arena].slice(-MAX_ENTRIES);
	},
	settings(settings) {
		const others = store.snapshot.settings.filter(({ account }) => account !== settings.account);
		store.snapshot.settings = [...others, settings];
	},
	play(playUser) {
		store.snapshot.play = playUser;
	},
};
