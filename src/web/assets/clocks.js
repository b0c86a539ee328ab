// Clocks that run between what the daemon tells.

import { setText } from "./dom.js";
import { now } from "./store.js";
import { formatClock } from "./format.js";

/** Below this a clock is red, in ms. */
const LOW_TIME_MS = 10_000;

/** What a server gives where there is no limit is no time. */
const isUnlimited = (game) => game.time_control === "unlimited";

/** What a side has left, in ms; null without a clock. */
export function timeLeft(game, side) {
	const { at, running } = game.clocks;
	const ms = game.clocks[`${side}_ms`];
	if (ms === null || isUnlimited(game)) return null;
	return running === side && !game.result ? Math.max(0, ms - (now() - at)) : ms;
}

/** What a side had left after so many moves, in ms; null when nobody knows. */
export function timeLeftAt(game, side, plies) {
	if (isUnlimited(game)) return null;
	const known = game.moves.slice(0, plies).findLast((move) => move[`${side}_ms`] !== null);
	return known?.[`${side}_ms`] ?? game.clock?.start_ms ?? null;
}

const clockNodes = new Map();

/** Lets an element show a clock while it is in the page; `time()` gives it in ms, or null for none. */
export function showClock(node, time) {
	clockNodes.set(node, time);
	drawClock(node, time);
	return node;
}

function drawClock(node, time) {
	const ms = time();
	setText(node, ms === null ? "" : formatClock(ms));
	node.classList.toggle("low", ms !== null && ms < LOW_TIME_MS);
}

/** All that run are drawn again. */
export function drawClocks() {
	for (const [node, time] of clockNodes) {
		if (node.isConnected) drawClock(node, time);
		else clockNodes.delete(node);
	}
}
