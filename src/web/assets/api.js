// What the page asks of the daemon. Who may do more than look has its key, from an address with `#key=`.

const KEY = "knightwatch-key";
const HEADER = "x-knightwatch-key";

/** Takes the key out of the address, where it would be seen; a bookmark of the page needs none then. */
function takeKey() {
	const found = /^#key=(.+)$/.exec(location.hash);
	if (found) {
		localStorage.setItem(KEY, found[1]);
		history.replaceState(null, "", location.pathname);
	}
	return localStorage.getItem(KEY);
}

let key = takeKey();

// Another key, where the page is open already.
addEventListener("hashchange", () => takeKey() !== key && location.reload());
addEventListener("storage", (event) => event.key === KEY && event.newValue && event.newValue !== key && location.reload());

/** The headers that tell the daemon that this window may do more than look. */
export const withKey = () => (key ? { [HEADER]: key } : {});

/** Whether this window may do more than look. */
export const mayAct = () => key !== null;

/** The key does not open this page: this window only watches from now on. */
function dropKey() {
	// Another window may have a better one.
	if (localStorage.getItem(KEY) === key) localStorage.removeItem(KEY);
	key = null;
	dispatchEvent(new Event("watching"));
}

/** Finds out whether the key opens, as after a restart of the daemon. What cannot be asked now is found out by the next call. */
export async function tryKey() {
	if (key === null) return;
	const tried = key;
	const found = await fetch("/api/key", { headers: { [HEADER]: tried } }).then((response) => response.json()).catch(() => null);
	if (found?.opens === false && key === tried) dropKey();
}

export const WATCHES = "This window only watches. To do more, open the page's address with its key: knightwatch page prints it, and the demo at its start.";

async function answer(response) {
	const text = await response.text();
	let body = text;
	try {
		body = JSON.parse(text);
	} catch {
		// Not everything that answers speaks JSON.
	}
	if (response.ok) return body;
	if (response.headers.get(HEADER) === "wrong") dropKey();
	const error = new Error(problem(body?.error ?? body) || `The server answers ${response.status} without saying why.`);
	throw Object.assign(error, { status: response.status });
}

/** What the site says in a word or two. */
const WORDS = {
	invalidFen: "No game can begin with this position.",
	"Invalid clock": "A clock needs minutes, or seconds a move.",
};

const FIELDS = { "clock.limit": "The minutes of the clock", "clock.increment": "The seconds a move", days: "The days a move", fen: "The position", variant: "The variant" };

/** A sentence of its own. */
function sentence(text) {
	const whole = Object.hasOwn(WORDS, text) ? WORDS[text] : text.trim();
	return whole && whole.charAt(0).toUpperCase() + whole.slice(1) + (/[.!?…]$/.test(whole) ? "" : ".");
}

/** Errors are a sentence or a word, or lists of them by field. */
function problem(error) {
	if (typeof error === "string") return sentence(error);
	const known = (text) => Object.hasOwn(WORDS, text);
	const told = ([field, text]) => (field === "global" || known(`${text}`) ? sentence(`${text}`) : sentence(`${FIELDS[field] ?? field}: ${text}`));
	return Object.entries(error).map(told).join(" ");
}

/** A request; when nobody answers, that is said in words of ours and not in the browser's. */
async function request(path, options) {
	try {
		return await fetch(path, options);
	} catch (error) {
		if (options?.signal?.aborted) throw error;
		throw new Error("Knightwatch does not answer: it is not running, or the connection to it is lost.");
	}
}

export async function post(path, form) {
	const body = form && new URLSearchParams(form);
	return answer(await request(path, { method: "POST", headers: { [HEADER]: key ?? "" }, body }));
}

export const get = async (path) => answer(await request(path));

/** The same for what may be given up; null then, and when it has failed, which is told. */
export async function ask(path, signal) {
	try {
		return await answer(await request(path, { signal }));
	} catch (error) {
		if (!signal.aborted) tell(error.message, true);
		return null;
	}
}

/** A call of the person's own, as the Board API has it. */
export const board = (game, call) => post(`/play/api/board/game/${game}/${call}`);

export const control = (call) => post(`/control/${call}`);

const toasts = document.getElementById("toasts");

/** Tells something in a corner, until it has been read or another thing is told. */
export function tell(text, bad = false) {
	toasts.textContent = text;
	toasts.className = bad ? "bad" : "";
	toasts.hidden = false;
	clearTimeout(tell.timer);
	tell.timer = setTimeout(() => (toasts.hidden = true), bad ? 8000 : 3000);
}

/** Does something that may fail, and tells when it has. */
export async function attempt(what) {
	try {
		return await what();
	} catch (error) {
		tell(error.message, true);
		return null;
	}
}
