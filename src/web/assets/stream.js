// The one stream of events: opened again whenever it ends, with a fresh snapshot each time.

const KINDS = ["snapshot", "game", "moved", "thinking", "chat", "status", "note", "challenge", "arena", "settings"];

const AGAIN_MS = 400;

/** A browser gives a site six connections for all windows; one that nobody looks at gives its own back. */
const UNSEEN_MS = 300_000;

/** Calls `heard(kind, data)` for every event and `lost()` when the daemon cannot be reached. */
export function listen(url, heard, lost) {
	let source = null;
	let timer = 0;
	const close = () => {
		clearTimeout(timer);
		source?.close();
		source = null;
	};
	const open = () => {
		close();
		source = new EventSource(url);
		for (const kind of KINDS) {
			source.addEventListener(kind, (message) => heard(kind, JSON.parse(message.data)));
		}
		source.onerror = () => {
			close();
			lost();
			timer = setTimeout(open, AGAIN_MS);
		};
	};
	let unseen = 0;
	document.addEventListener("visibilitychange", () => {
		clearTimeout(unseen);
		if (document.hidden) unseen = setTimeout(close, UNSEEN_MS);
		else if (!source) open();
	});
	open();
}
