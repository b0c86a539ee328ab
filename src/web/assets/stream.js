// The one stream of events: opened again whenever it ends, with a fresh snapshot each time.

const KINDS = ["snapshot", "game", "moved", "thinking", "chat", "status", "note", "challenge", "arena", "settings", "play"];

const AGAIN_MS = 400;

/** Where there are too many pages, one of them has to go first. */
const FULL_MS = 5000;

/** An answer that takes longer is none. */
const PATIENCE_MS = 2000;

/** A browser gives a site six connections for all windows; one that nobody looks at for so long gives its own back. */
const UNSEEN_MS = 30_000;

/** Why there is no stream, which a stream itself does not tell: `full` or `gone`. */
async function reason(url) {
	const asked = { method: "HEAD", signal: AbortSignal.timeout(PATIENCE_MS) };
	const answer = await fetch(url, asked).catch(() => null);
	return answer?.status === 503 ? "full" : "gone";
}

/** Calls `heard(kind, data)` for every event and `lost(why)` when none will come: `full`, `gone` or `asleep`. While `stays()`,
 * it listens also unseen. */
export function listen(url, heard, lost, stays) {
	let source = null;
	let timer = 0;
	const close = () => {
		clearTimeout(timer);
		source?.close();
		source = null;
	};
	const open = () => {
		close();
		const mine = new EventSource(url);
		source = mine;
		for (const kind of KINDS) {
			mine.addEventListener(kind, (message) => heard(kind, JSON.parse(message.data)));
		}
		mine.onerror = async () => {
			mine.close();
			const why = await reason(url);
			// Given up meanwhile.
			if (source !== mine) return;
			lost(why);
			timer = setTimeout(open, why === "full" ? FULL_MS : AGAIN_MS);
		};
	};
	let unseen = 0;
	const doze = () => (unseen = setTimeout(sleep, UNSEEN_MS));
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
