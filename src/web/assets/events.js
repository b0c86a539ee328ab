// Event stream: reopened whenever it ends, with a new snapshot each time.

import { absolute, dropKey, keyHeaders, rejectsKey } from "./api.js";

const KINDS = ["snapshot", "game", "moved", "thinking", "chat", "status", "note", "challenge", "arena", "settings", "play"];

/** Delay before the next attempt by the reason why there is no stream. More than 20 wrong keys a minute are blocked, and with each
 * the browser may ask for a password. */
const RETRY_MS = { lost: 400, full: 5000, rejected: 60_000, forbidden: 60_000, blocked: 60_000 };

/** Reasons by the status of the response. */
const REFUSALS = { 401: "rejected", 403: "forbidden", 429: "blocked", 503: "full" };

/** Time after which a hidden window closes its stream: browsers allow six connections per site over all windows. */
const HIDDEN_TIMEOUT_MS = 30_000;

/** The lock of the only hidden window that keeps its stream. */
const HIDDEN_LOCK = "knightwatch-hidden";

/** Time without any data after which a connection is lost. The daemon sends a comment every ten seconds. */
const SILENCE_MS = 30_000;

/** Waits for a response or a part of one; fails if none comes in time, as when the other end is gone without a word. */
async function inTime(received) {
	let timer = 0;
	const silence = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("silence")), SILENCE_MS)));
	try {
		return await Promise.race([received, silence]);
	} finally {
		clearTimeout(timer);
	}
}

/** Calls `onEvent(kind, data, began)` for every event of a stream until it ends; `began` is when its first part arrived. */
async function readEvents(body, onEvent) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	let began = 0;
	for (;;) {
		const { value, done } = await inTime(reader.read());
		if (done) return;
		const arrived = Date.now();
		if (!rest) began = arrived;
		const events = (rest + value).split("\n\n");
		rest = events.pop();
		for (const event of events) {
			const [, kind, data] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? [];
			if (!KINDS.includes(kind)) continue;
			try {
				onEvent(kind, JSON.parse(data), began);
			} catch (error) {
				// An error of a handler does not end the stream.
				reportError(error);
			}
			began = arrived;
		}
	}
}

/** Calls `onGranted()` when this hidden window may keep its stream, as one window may at a time. Returns a function that ends
 * this. Browsers have locks only over HTTPS and for localhost; without them every window may. */
function claimStream(onGranted) {
	const controller = new AbortController();
	const { signal } = controller;
	const hold = () => new Promise((release) => {
		if (signal.aborted) return release();
		signal.addEventListener("abort", release);
		onGranted();
	});
	if (navigator.locks) navigator.locks.request(HIDDEN_LOCK, { signal }, hold).catch(() => {});
	else onGranted();
	return () => controller.abort();
}

/** Calls `onEvent(kind, data, began)` for every event and `onDisconnect(why)` if there is no stream: with a key of `RETRY_MS`, or
 * `hidden`. The stream of one hidden window stays open while `keepOpen()` returns true. */
export function listen(url, onEvent, onDisconnect, keepOpen) {
	let source = null;
	let timer = 0;
	/** After a refusal, the time of the next attempt by `performance.now()`. */
	let earliest = 0;
	const close = () => {
		clearTimeout(timer);
		source?.abort();
		source = null;
	};
	const open = async () => {
		close();
		const controller = new AbortController();
		source = controller;
		let why = "lost";
		try {
			// Not an EventSource, which cannot send the key; the daemon reserves streams for pages with the key.
			const response = await inTime(fetch(absolute(url), { headers: keyHeaders(), signal: controller.signal }));
			if (response.ok) await readEvents(response.body, onEvent);
			else why = REFUSALS[response.status] ?? why;
			if (rejectsKey(response)) dropKey();
		} catch {
			// The connection was lost or aborted.
		}
		// It may be open although nothing comes.
		controller.abort();
		if (source !== controller) return;
		source = null;
		if (why !== "lost" && why !== "full") earliest = performance.now() + RETRY_MS[why];
		onDisconnect(why);
		reopen(RETRY_MS[why]);
	};
	const reopen = (ms) => {
		clearTimeout(timer);
		timer = setTimeout(open, Math.max(ms, earliest - performance.now()));
	};
	let hiddenTimer = 0;
	let mayKeep = false;
	let endClaim = () => {};
	const startHiddenTimer = () => {
		clearTimeout(hiddenTimer);
		hiddenTimer = setTimeout(onHiddenTimeout, HIDDEN_TIMEOUT_MS);
	};
	const onHiddenTimeout = () => {
		if (!keepOpen()) endClaim();
		else if (mayKeep) return startHiddenTimer();
		close();
		// The reason of a refusal stays.
		if (performance.now() >= earliest) onDisconnect("hidden");
	};
	const onGranted = () => {
		mayKeep = true;
		if (!keepOpen()) return;
		// It may have been closed while another window had the lock.
		if (!source) reopen(0);
		startHiddenTimer();
	};
	document.addEventListener("visibilitychange", () => {
		clearTimeout(hiddenTimer);
		endClaim();
		mayKeep = false;
		if (document.hidden) {
			endClaim = claimStream(onGranted);
			startHiddenTimer();
		} else if (!source) {
			reopen(0);
		}
	});
	// A window that opens in the background has no stream before it is visible.
	if (document.hidden) onDisconnect("hidden");
	else open();
}
