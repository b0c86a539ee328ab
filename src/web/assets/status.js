// How the bot is doing, in a sentence.

import { formatTime } from "./format.js";
import { ourAccount, runningGames, store } from "./store.js";

const nextAttempt = (ms) => (ms ? `, next at ${formatTime(ms)}` : "");

/** Why nothing new comes. */
const DISCONNECTED = {
	gone: ["Connection lost", "The connection to the daemon is lost; it is tried again."],
	full: ["Too many pages", "Too many windows with this page are open: close some, and this one follows again."],
	asleep: ["Asleep", "Nobody has looked at this window for a while; what it shows is old until somebody does."],
};

/** `{kind, short, long}`: `kind` is `good`, `calm` or `bad`. */
export function status() {
	const { snapshot, connected } = store;
	if (!connected) {
		const [short, long] = DISCONNECTED[store.disconnectReason] ?? DISCONNECTED.gone;
		return { kind: "bad", short, long };
	}
	return describeState(snapshot, runningGames().length);
}

/** How each of several accounts is doing. */
export const accountStates = () => (store.snapshot.accounts ?? []).map((one) => {
	const games = runningGames().filter((game) => ourAccount(game) === one.account?.name);
	return `${one.name}: ${describeState(one, games.length).long}`;
});

function describeState({ offline, idle, draining, paused, online, account, accounts }, games) {
	if (offline) {
		const again = offline.retry_at ? `, tried again at ${formatTime(offline.retry_at)}` : "";
		return { kind: "bad", short: "Offline", long: `Offline: ${offline.reason}${again}` };
	}
	if (!online) return { kind: "calm", short: "Connecting", long: "Not connected to the server yet" };
	if (draining !== null) {
		const left = draining ? `${plural(draining, "game")} to be finished` : "no game is on; a challenge or a tournament is still to be settled";
		return { kind: "calm", short: "Stopping", long: `Stopping: ${left}` };
	}
	if (paused) return { kind: "calm", short: "Paused", long: `Paused: no new games; ${plural(games, "game")} running` };
	if (!games && idle) return { kind: "calm", short: "Idle", long: `Idle: ${idle.reason}${nextAttempt(idle.next)}` };
	const name = account && !accounts ? ` as ${account.name}` : "";
	return { kind: "good", short: games ? `${plural(games, "game")} on` : "Online", long: `Online${name}` };
}

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
