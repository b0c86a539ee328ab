// Event stream: reopened whenever it ends, with a new snapshot each time.

import { absolute, keyHeaders } from "./api.js";

const KINDS = ["snapshot", "game", "moved", "thinking", "chat", "status", "note", "challenge", "arena", "settings", "play"];

const RECONNECT_MS = 400;

/** Delay before the next attempt if too many pages are open. */
const FULL_RETRY_MS = 5000;

/** Time after which a hidden window closes its stream: browsers allow six connections per site over all windows. */
const HIDDEN_TIMEOUT_MS = 30_000;

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

/** Calls `onEvent(kind, data, began)` for every event and `onDisconnect(why)` when the stream has ended: `full`, `lost` or `hidden`.
 * The stream of a hidden window stays open while `keepOpen()` returns true. */
export function listen(url, onEvent, onDisconnect, keepOpen) {
	let source = null;
	let timer = 0;
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
			else if (response.status === 503) why = "full";
		} catch {
			// The connection was lost or aborted.
		}
		// It may be open although nothing comes.
		controller.abort();
		if (source !== controller) return;
		source = null;
		onDisconnect(why);
		timer = setTimeout(open, why === "full" ? FULL_RETRY_MS : RECONNECT_MS);
	};
	let hiddenTimer = 0;
	const startHiddenTimer = () => (hiddenTimer = setTimeout(onHiddenTimeout, HIDDEN_TIMEOUT_MS));
	const onHiddenTimeout = () => {
		if (keepOpen()) return startHiddenTimer();
		close();
		onDisconnect("hidden");
	};
	const onVisibilityChange = () => {
		clearTimeout(hiddenTimer);
		if (document.hidden) startHiddenTimer();
		else if (!source) open();
	};
	document.addEventListener("visibilitychange", onVisibilityChange);
	open();
	onVisibilityChange();
}
