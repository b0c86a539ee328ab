// Requests to the daemon. Actions need the key, which comes from an address with `#key=`.

import { isStorageAvailable, storage } from "./storage.js";

const KEY_STORAGE = "knightwatch-key";
const KEY_HEADER = "x-knightwatch-key";

/** Time limit for checking the key, in ms. */
const KEY_TIMEOUT_MS = 10_000;

/** A text of an address without its percent-encoding. */
function decoded(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

/** A path as an address without the user name and password of the page's own, with which browsers refuse to fetch. */
export const absolute = (path) => location.origin + path;

/** Whether the daemon accepts no key of the request. A proxy in front of it may ask for a password of its own. */
export const rejectsKey = ({ status, headers }) => status === 401 && /realm="?Knightwatch/.test(headers.get("www-authenticate"));

/** Whether the daemon accepts these headers; undefined if it does not answer. */
async function accepts(headers) {
	try {
		const response = await fetch(absolute("/api/key"), { headers, signal: AbortSignal.timeout(KEY_TIMEOUT_MS) });
		return rejectsKey(response) ? false : (await response.json()).valid;
	} catch {
		return undefined;
	}
}

/** Whether a text can be a key: requests with other characters in a header fail. */
const canBeKey = (text) => text !== null && /^[\x21-\x7e]+$/.test(text);

/** Moves the key from the address to the local storage, so that it is not visible. A wrong one does not replace another. */
async function readKey() {
	const found = /^#key=(.+)$/.exec(location.hash);
	const item = storage.getItem(KEY_STORAGE);
	const stored = canBeKey(item) ? item : null;
	if (!found) return stored;
	const given = decoded(found[1]);
	// Without a storage, the key survives a reload only in the address, until another view is opened.
	if (isStorageAvailable) history.replaceState(null, "", location.pathname);
	if (!canBeKey(given)) return stored;
	if (stored !== null && (await accepts({ [KEY_HEADER]: given })) === false) return stored;
	storage.setItem(KEY_STORAGE, given);
	return given;
}

let key = await readKey();

/** Whether a window without a key may act: it has the key as the password with which it was opened. */
let signedIn = key === null && (await accepts({})) === true;

// Reloads the page when it gets another key.
addEventListener("hashchange", async () => (await readKey()) !== key && location.reload());
addEventListener("storage", (event) => event.key === KEY_STORAGE && event.newValue && event.newValue !== key && location.reload());

/** Request headers with the key, if any. */
export const keyHeaders = () => (key ? { [KEY_HEADER]: key } : {});

/** Whether this window may send actions. */
export const hasKey = () => key !== null || signedIn;

/** Drops a wrong key: this window only watches from now on. */
export function dropKey() {
	// Another window may have stored a new key.
	if (key !== null && storage.getItem(KEY_STORAGE) === key) storage.removeItem(KEY_STORAGE);
	key = null;
	setSignedIn(false);
}

function setSignedIn(value) {
	signedIn = value;
	dispatchEvent(new Event("access"));
}

/** Drops the key if the daemon rejects it; without a key, checks again whether this window may act. Failed requests are ignored. */
export async function checkKey() {
	const checked = key;
	const accepted = await accepts(keyHeaders());
	if (accepted === undefined || key !== checked || accepted === hasKey()) return;
	if (accepted) setSignedIn(true);
	else dropKey();
}

/** The daemon prints an address with the key only for this machine. */
const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

const ADDRESS_TEXT = isLocal ? "open the page's address with its key: knightwatch page prints it, and the demo at its start." : `open ${location.origin}/#key=KEY, with the key to operate in place of KEY.`;

export const WATCH_ONLY_TEXT = `This window only watches. To do more, ${ADDRESS_TEXT}`;

async function readResponse(response) {
	const text = await response.text();
	let body = text;
	try {
		body = JSON.parse(text);
	} catch {
		// Some responses are plain text.
	}
	if (response.ok) return body;
	if (response.headers.get(KEY_HEADER) === "wrong") dropKey();
	const error = new Error(errorText(body?.error ?? body) || `The server responds with status ${response.status} and no reason.`);
	throw Object.assign(error, { status: response.status });
}

/** Texts for errors of the site that are not sentences. */
const ERROR_TEXTS = {
	invalidFen: "No game can begin with this position.",
	"Invalid clock": "A clock needs minutes, or seconds a move.",
};

const FIELD_NAMES = { "clock.limit": "The minutes of the clock", "clock.increment": "The seconds a move", days: "The days a move", fen: "The position", variant: "The variant" };

/** An error text as a sentence. */
function sentence(text) {
	const content = Object.hasOwn(ERROR_TEXTS, text) ? ERROR_TEXTS[text] : text.trim();
	return content && content.charAt(0).toUpperCase() + content.slice(1) + (/[.!?…]$/.test(content) ? "" : ".");
}

/** Text of an error, which is a string or an object with strings or lists of strings by field. */
function errorText(error) {
	if (typeof error === "string") return sentence(error);
	const known = (text) => Object.hasOwn(ERROR_TEXTS, text);
	const fieldText = ([field, text]) => (field === "global" || known(`${text}`) ? sentence(`${text}`) : sentence(`${FIELD_NAMES[field] ?? field}: ${text}`));
	return Object.entries(error).map(fieldText).join(" ");
}

/** Sends a request. Network errors get a text of ours instead of the browser's. */
async function request(path, options) {
	try {
		return await fetch(absolute(path), options);
	} catch (error) {
		if (options?.signal?.aborted) throw error;
		throw new Error("Knightwatch does not answer: it is not running, or the connection to it is lost.");
	}
}

/** Time limit of an action, in ms. It includes the time in which the browser has no connection for it. */
const POST_TIMEOUT_MS = 30_000;

export async function post(path, form) {
	const body = form && new URLSearchParams(form);
	const signal = AbortSignal.timeout(POST_TIMEOUT_MS);
	try {
		return await readResponse(await request(path, { method: "POST", headers: keyHeaders(), body, signal }));
	} catch (error) {
		if (!signal.aborted || error.status) throw error;
		throw new Error("Knightwatch has not answered in time, so the action may have had no effect. If many windows with this page are open, close some.");
	}
}

export const get = async (path) => readResponse(await request(path));

/** Like `get`, for a request that can be aborted. Returns null if it was aborted or has failed; failures are shown. */
export async function getOrNull(path, signal) {
	try {
		return await readResponse(await request(path, { signal }));
	} catch (error) {
		if (!signal.aborted) showToast(error.message, true);
		return null;
	}
}

/** A Board API request of the user. */
export const boardCall = (game, call) => post(`/play/api/board/game/${game}/${call}`);

export const controlCall = (call) => post(`/control/${call}`);

const toastNode = document.getElementById("toasts");

/** Time to read a character, in ms. */
const MS_PER_CHARACTER = 60;

/** Shows a short message for a few seconds. */
export function showToast(text, bad = false) {
	const shortest = bad ? 8000 : 3000;
	toastNode.textContent = text;
	toastNode.className = bad ? "bad" : "";
	toastNode.hidden = false;
	clearTimeout(showToast.timer);
	showToast.timer = setTimeout(() => (toastNode.hidden = true), Math.max(shortest, MS_PER_CHARACTER * text.length));
}

/** Shows what a `/control/` request has done. */
export const showDone = ({ done }) => showToast(sentence(done));

/** Runs an action; shows its error and returns null if it fails. */
export async function attempt(action) {
	try {
		return await action();
	} catch (error) {
		showToast(error.message, true);
		return null;
	}
}
