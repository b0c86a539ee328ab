// Clocks that continue to run between events.

import { setText } from "./dom.js";
import { now } from "./store.js";
import { formatClock } from "./format.js";

/** A clock below this time is red, in ms. */
const LOW_TIME_MS = 10_000;

/** The clock values of a game without a time limit have no meaning. */
const isUnlimited = (game) => game.time_control === "unlimited";

/** Time left of a side, in ms; null without a clock. */
export function timeLeft(game, side) {
	const { at, running } = game.clocks;
	const ms = game.clocks[`${side}_ms`];
	if (ms === null || isUnlimited(game)) return null;
	return running === side && !game.result ? Math.max(0, ms - Math.max(0, now() - at)) : ms;
}

/** Time left of a side after so many moves, in ms; null if unknown. */
export function timeLeftAt(game, side, plies) {
	if (isUnlimited(game)) return null;
	const moves = game.moves.slice(0, plies);
	const known = moves.findLast((move) => move[`${side}_ms`] !== null);
	if (known) return known[`${side}_ms`];
	return moves.some(({ by }) => by === side) ? null : (game.clock?.start_ms ?? null);
}

const clockNodes = new Map();

/** Shows a clock in an element while it is in the page; `time()` returns the time in ms, or null for no clock. */
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

/** Redraws all clocks. */
export function drawClocks() {
	for (const [node, time] of clockNodes) {
		if (node.isConnected) drawClock(node, time);
		else clockNodes.delete(node);
	}
}
