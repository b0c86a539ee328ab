// What the daemon has told us, and who wants to know when it changes.

import { hasKey } from "./api.js";

export const store = {
	/** The latest snapshot, kept up to date; null before the first. */
	snapshot: null,
	/** By id, in the order in which they are told. */
	games: new Map(),
	connected: false,
	/** Why not, as stream.js has it; null before the first try. */
	disconnectReason: null,
	/** How far the daemon's clock is ahead of ours, in ms. */
	clockOffset: 0,
};

const listeners = [];

/** `listener(kind, id)` is called after every change; `id` is that of its game, if it has one. */
export const onChange = (listener) => listeners.push(listener);

const notifyListeners = (kind, id) => listeners.forEach((listener) => listener(kind, id ?? null));

export const now = () => Date.now() + store.clockOffset;

/** Which side the person before this page has in a game, if any. */
export function userColor(game) {
	const user = store.snapshot?.play?.user;
	if (!user) return null;
	return game.white.name === user ? "white" : game.black.name === user ? "black" : null;
}

/** The side that this window plays in a game, if any: whose words and colors it shows. */
export const controlledColor = (game) => (hasKey() ? userColor(game) : null);

/** Who of several accounts of ours plays a game; null where there is one. */
export const ourAccount = (game) => (store.snapshot?.accounts ? game[game.ours].name : null);

export const runningGames = () => [...store.games.values()].filter((game) => !game.result);

export const offersControl = (control) => store.snapshot?.control?.includes(control) ?? false;

export function onDisconnect(why) {
	if (!store.connected && store.disconnectReason === why) return;
	store.connected = false;
	store.disconnectReason = why;
	notifyListeners("connection");
}

export function onEvent(kind, data) {
	eventHandlers[kind](data);
	notifyListeners(kind, kind === "game" ? data.id : (data.game ?? null));
}

/** What is kept of the lists that grow. */
const MAX_ENTRIES = 200;

function pushBounded(list, item) {
	list.push(item);
	if (list.length > MAX_ENTRIES) list.shift();
}

const eventHandlers = {
	snapshot(data) {
		store.snapshot = data;
		const over = data.games.filter((game) => game.result).reverse();
		const games = [...data.games.filter((game) => !game.result), ...over];
		store.games = new Map(games.map((game) => [game.id, game]));
		store.clockOffset = data.now - Date.now();
		store.connected = true;
	},
	game(game) {
		// Those that are over stand in the order in which they ended.
		if (game.result) store.games.delete(game.id);
		store.games.set(game.id, game);
		const over = [...store.games.values()].filter(({ result }) => result);
		if (over.length > MAX_ENTRIES) store.games.delete(over[0].id);
	},
	moved({ game: id, move, fen, check, legal, clocks }) {
		const game = store.games.get(id);
		if (!game) return;
		// A move in the place of another one: those before it stay.
		game.moves.length = Math.min(game.moves.length, move.ply - 1);
		game.moves.push(move);
		Object.assign(game, { fen, check, legal, clocks, thinking: null });
		// Who moves declines what the other has offered, and asks for nothing any more.
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
	status(data) {
		store.clockOffset = data.now - Date.now();
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
	play(guest) {
		store.snapshot.play = guest;
	},
};
