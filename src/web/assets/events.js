// The one stream of events: opened again whenever it ends, with a fresh snapshot each time.

import { keyHeaders } from "./api.js";

const KINDS = ["snapshot", "game", "moved", "thinking", "chat", "status", "note", "challenge", "arena", "settings", "play"];

const RECONNECT_MS = 400;

/** Where there are too many pages, one of them has to go first. */
const FULL_RETRY_MS = 5000;

/** A browser gives a site six connections for all windows; one that nobody looks at for so long gives its own back. */
const HIDDEN_TIMEOUT_MS = 30_000;

/** Hands on every event of a stream until it ends. */
async function readEvents(body, heard) {
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
				heard(kind, JSON.parse(data));
			} catch (error) {
				// One that cannot be shown does not end the stream.
				reportError(error);
			}
		}
	}
}

/** Calls `heard(kind, data)` for every event and `lost(why)` when none will come: `full`, `gone` or `asleep`. While `stays()`,
 * it listens also unseen. */
export function listen(url, heard, lost, stays) {
	let source = null;
	let timer = 0;
	const close = () => {
		clearTimeout(timer);
		source?.abort();
		source = null;
	};
	const open = async () => {
		close();
		const mine = new AbortController();
		source = mine;
		let why = "gone";
		try {
			// With the key, for which there are places of its own. An EventSource has no headers.
			const answer = await fetch(url, { headers: keyHeaders(), signal: mine.signal });
			if (answer.ok) await readEvents(answer.body, heard);
			else if (answer.status === 503) why = "full";
		} catch {
			// It has broken, or was given up.
		}
		if (source !== mine) return;
		source = null;
		lost(why);
		timer = setTimeout(open, why === "full" ? FULL_RETRY_MS : RECONNECT_MS);
	};
	let unseen = 0;
	const doze = () => (unseen = setTimeout(sleep, HIDDEN_TIMEOUT_MS));
	const sleep = () => {
		if (stays()) return doze();
		close();
		lost("asleep");
	};
	const look = () => {
		clearTimeout(unseen);
		if (document.hidden) doze();
		else if (!source) open();
	};
	document.addEventListener("visibilitychange", look);
	open();
	look();
}
