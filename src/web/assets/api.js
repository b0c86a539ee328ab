// What the page asks of the daemon. Who may do more than look has its key, from an address with `#key=`.

const KEY_STORAGE = "knightwatch-key";
const KEY_HEADER = "x-knightwatch-key";

/** Takes the key out of the address, where it would be seen; a bookmark of the page needs none then. */
function readKey() {
	const found = /^#key=(.+)$/.exec(location.hash);
	if (found) {
		localStorage.setItem(KEY_STORAGE, found[1]);
		history.replaceState(null, "", location.pathname);
	}
	return localStorage.getItem(KEY_STORAGE);
}

let key = readKey();

// Another key, where the page is open already.
addEventListener("hashchange", () => readKey() !== key && location.reload());
addEventListener("storage", (event) => event.key === KEY_STORAGE && event.newValue && event.newValue !== key && location.reload());

/** The headers that tell the daemon that this window may do more than look. */
export const keyHeaders = () => (key ? { [KEY_HEADER]: key } : {});

/** Whether this window may do more than look. */
export const hasKey = () => key !== null;

/** The key does not open this page: this window only watches from now on. */
function dropKey() {
	// Another window may have a better one.
	if (localStorage.getItem(KEY_STORAGE) === key) localStorage.removeItem(KEY_STORAGE);
	key = null;
	dispatchEvent(new Event("watching"));
}

/** Finds out whether the key opens, as after a restart of the daemon. What cannot be asked now is found out by the next call. */
export async function checkKey() {
	if (key === null) return;
	const tried = key;
	const found = await fetch("/api/key", { headers: { [KEY_HEADER]: tried } }).then((response) => response.json()).catch(() => null);
	if (found?.valid === false && key === tried) dropKey();
}

export const WATCH_ONLY_TEXT = "This window only watches. To do more, open the page's address with its key: knightwatch page prints it, and the demo at its start.";

async function readResponse(response) {
	const text = await response.text();
	let body = text;
	try {
		body = JSON.parse(text);
	} catch {
		// Not everything that answers speaks JSON.
	}
	if (response.ok) return body;
	if (response.headers.get(KEY_HEADER) === "wrong") dropKey();
	const error = new Error(errorText(body?.error ?? body) || `The server answers ${response.status} without saying why.`);
	throw Object.assign(error, { status: response.status });
}

/** What the site says in a word or two. */
const ERROR_TEXTS = {
	invalidFen: "No game can begin with this position.",
	"Invalid clock": "A clock needs minutes, or seconds a move.",
};

const FIELD_NAMES = { "clock.limit": "The minutes of the clock", "clock.increment": "The seconds a move", days: "The days a move", fen: "The position", variant: "The variant" };

/** A sentence of its own. */
function sentence(text) {
	const whole = Object.hasOwn(ERROR_TEXTS, text) ? ERROR_TEXTS[text] : text.trim();
	return whole && whole.charAt(0).toUpperCase() + whole.slice(1) + (/[.!?…]$/.test(whole) ? "" : ".");
}

/** Errors are a sentence or a word, or lists of them by field. */
function errorText(error) {
	if (typeof error === "string") return sentence(error);
	const known = (text) => Object.hasOwn(ERROR_TEXTS, text);
	const told = ([field, text]) => (field === "global" || known(`${text}`) ? sentence(`${text}`) : sentence(`${FIELD_NAMES[field] ?? field}: ${text}`));
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
	return readResponse(await request(path, { method: "POST", headers: { [KEY_HEADER]: key ?? "" }, body }));
}

export const get = async (path) => readResponse(await request(path));

/** The same for what may be given up; null then, and when it has failed, which is told. */
export async function getOrNull(path, signal) {
	try {
		return await readResponse(await request(path, { signal }));
	} catch (error) {
		if (!signal.aborted) showToast(error.message, true);
		return null;
	}
}

/** A call of the person's own, as the Board API has it. */
export const boardCall = (game, call) => post(`/play/api/board/game/${game}/${call}`);

export const controlCall = (call) => post(`/control/${call}`);

const toastNode = document.getElementById("toasts");

/** Tells something in a corner, until it has been read or another thing is told. */
export function showToast(text, bad = false) {
	toastNode.textContent = text;
	toastNode.className = bad ? "bad" : "";
	toastNode.hidden = false;
	clearTimeout(showToast.timer);
	showToast.timer = setTimeout(() => (toastNode.hidden = true), bad ? 8000 : 3000);
}

/** Does something that may fail, and tells when it has. */
export async function attempt(what) {
	try {
		return await what();
	} catch (error) {
		showToast(error.message, true);
		return null;
	}
}
