// Status of the bot as text.

import { formatTime } from "./format.js";
import { ourAccount, runningGames, store } from "./store.js";

const nextAttempt = (ms) => (ms ? `, next at ${formatTime(ms)}` : "");

/** Short and long texts for the reasons of a disconnection. */
const DISCONNECTED = {
	lost: ["Connection lost", "The connection to the daemon is lost; retrying."],
	full: ["Too many pages", "Too many windows with this page are open: close some, and this one reconnects."],
	hidden: ["Suspended", "This window was hidden for a while; it reconnects when it is visible."],
	rejected: ["Key rejected", "The key or password of this window is no longer accepted: reload this page."],
	forbidden: ["Refused", "The daemon refuses requests to this address; retrying every minute."],
	blocked: ["Blocked", "Too many wrong keys came from this address; retrying in a minute."],
};

/** `{kind, short, long}`: `kind` is `good`, `calm` or `bad`. */
export function status() {
	const { snapshot, connected } = store;
	if (!connected) {
		const [short, long] = DISCONNECTED[store.disconnectReason] ?? DISCONNECTED.lost;
		return { kind: "bad", short, long };
	}
	return describeState(snapshot, runningGames().length);
}

/** Status texts of the accounts, if there are several. */
export const accountStates = () => (store.snapshot.accounts ?? []).map((one) => {
	const games = runningGames().filter((game) => ourAccount(game) === one.account?.name);
	return `${one.name}: ${describeState(one, games.length).long}`;
});

function describeState({ offline, idle, draining, paused, online, account, accounts }, games) {
	if (offline) {
		const retry = offline.retry_at ? `, next attempt at ${formatTime(offline.retry_at)}` : "";
		return { kind: "bad", short: "Offline", long: `Offline: ${offline.reason}${retry}` };
	}
	if (!online) return { kind: "calm", short: "Connecting", long: "Not connected to the server yet" };
	if (draining !== null) {
		const left = draining ? `${plural(draining, "game")} to be finished` : "no game is running; a challenge or a tournament is still pending";
		return { kind: "calm", short: "Stopping", long: `Stopping: ${left}` };
	}
	if (paused) return { kind: "calm", short: "Paused", long: `Paused: no new games; ${plural(games, "game")} running` };
	if (!games && idle) return { kind: "calm", short: "Idle", long: `Idle: ${idle.reason}${nextAttempt(idle.next)}` };
	const name = account && !accounts ? ` as ${account.name}` : "";
	return { kind: "good", short: games ? `${plural(games, "game")} on` : "Online", long: `Online${name}` };
}

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
