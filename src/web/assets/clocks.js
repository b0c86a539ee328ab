// Clocks that run between what the daemon tells.

import { say } from "./dom.js";
import { now } from "./store.js";
import { clock } from "./words.js";

/** Below this a clock is red, in ms. */
const SHORT = 10_000;

/** What a server gives where there is no limit is no time. */
const unlimited = (game) => game.time_control === "unlimited";

/** What a side has left, in ms; null without a clock. */
export function left(game, side) {
	const { at, running } = game.clocks;
	const ms = game.clocks[`${side}_ms`];
	if (ms === null || unlimited(game)) return null;
	return running === side && !game.result ? Math.max(0, ms - (now() - at)) : ms;
}

/** What a side had left after so many moves, in ms; null when nobody knows. */
export function leftAt(game, side, plies) {
	if (unlimited(game)) return null;
	const known = game.moves.slice(0, plies).findLast((move) => move[`${side}_ms`] !== null);
	return known?.[`${side}_ms`] ?? game.clock?.start_ms ?? null;
}

const faces = new Map();

/** Lets an element show a clock while it is in the page; `time()` gives it in ms, or null for none. */
export function face(node, time) {
	faces.set(node, time);
	draw(node, time);
	return node;
}

function draw(node, time) {
	const ms = time();
	say(node, ms === null ? "" : clock(ms));
	node.classList.toggle("short", ms !== null && ms < SHORT);
}

/** All that run are drawn again. */
export function tick() {
	for (const [node, time] of faces) {
		if (node.isConnected) draw(node, time);
		else faces.delete(node);
	}
}
