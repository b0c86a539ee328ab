// What the page asks of the daemon. Who may do more than look has the key of the URL printed at start.

const KEY = "knightwatch-key";
const HEADER = "x-knightwatch-key";

/** Takes the key out of the address, where it would be seen and kept. */
function takeKey() {
	const found = /^#key=(.+)$/.exec(location.hash);
	if (found) {
		sessionStorage.setItem(KEY, found[1]);
		history.replaceState(null, "", location.pathname);
	}
	return sessionStorage.getItem(KEY);
}

let key = takeKey();

// A new key, where the page is open already.
addEventListener("hashchange", () => takeKey() !== key && location.reload());

/** Whether this window may do more than look. */
export const mayAct = () => key !== null;

/** The key is that of an earlier start: this window only watches from now on. */
function dropKey() {
	sessionStorage.removeItem(KEY);
	key = null;
	dispatchEvent(new Event("watching"));
}

export const WATCHES = "This window only watches. To do more, open the address printed at the start, with #key=…";

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
	throw new Error(problem(body?.error ?? body) || `the server answers ${response.status}`);
}

/** What the site says in a word. */
const WORDS = { invalidFen: "No game can begin with this position." };

/** Errors are a sentence or a word, or lists of them by field. */
function problem(error) {
	if (typeof error === "string") return Object.hasOwn(WORDS, error) ? WORDS[error] : error.trim();
	return Object.entries(error).map(([field, text]) => (field === "global" ? `${text}` : `${field}: ${text}`)).join("; ");
}

export async function post(path, form) {
	const body = form && new URLSearchParams(form);
	return answer(await fetch(path, { method: "POST", headers: { [HEADER]: key ?? "" }, body }));
}

export const get = async (path) => answer(await fetch(path));

/** The same for what may be given up; null then, and when it has failed, which is told. */
export async function ask(path, signal) {
	try {
		return await answer(await fetch(path, { signal }));
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
