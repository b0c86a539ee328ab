// Event stream: reopened whenever it ends, with a new snapshot each time.

import { absolute, keyHeaders } from "./api.js";

const KINDS = ["snapshot", "game", "moved", "thinking", "chat", "status", "note", "challenge", "arena", "settings", "play"];

const RECONNECT_MS = 400;

/** Delay before the next attempt if too many pages are open. */
const FULL_RETRY_MS = 5000;

/** Time after which a hidden window closes its stream: browsers allow six connections per site over all windows. */
const HIDDEN_TIMEOUT_MS = 30_000;

/** Calls `onEvent` for every event of a stream until it ends. */
async function readEvents(body, onEvent) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const events = (rest + value).split("\n\n");
		rest = events.pop();
		for (const event of events) {
			const [, kind, data] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? [];
			if (!KINDS.includes(kind)) continue;
			try {
				onEvent(kind, JSON.parse(data));
			} catch (error) {
				// An error of a handler does not end the stream.
				reportError(error);
			}
		}
	}
}

/** Calls `onEvent(kind, data)` for every event and `onDisconnect(why)` when the stream has ended: `full`, `lost` or `hidden`.
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
			const response = await fetch(absolute(url), { headers: keyHeaders(), signal: controller.signal });
			if (response.ok) await readEvents(response.body, onEvent);
			else if (response.status === 503) why = "full";
		} catch {
			// The connection was lost or aborted.
		}
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
