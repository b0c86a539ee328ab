// Creation and update of elements. Strings are only inserted as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const el = (tag, attributes, ...children) =>
	setUp(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
	setUp(document.createElementNS(SVG, tag), attributes, children);

/** Attributes that begin with `on` are listeners; null, undefined and false are skipped. */
function setUp(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes ?? {})) {
		if (value === null || value === undefined || value === false) continue;
		if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
		else node.setAttribute(name, value === true ? "" : value);
	}
	node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
	return node;
}

export const button = (content, onclick, attributes) => el("button", { type: "button", onclick, ...attributes }, content);

/** A labeled select with options as `[value, text]`. */
export const select = (name, label, options) =>
	el("label", {}, label, el("select", { name }, options.map(([value, text]) => el("option", { value }, text))));

/** A table with these column headers; a leading `#` marks a column of numbers. */
export const dataTable = (heads, body, kind) =>
	el("table", { class: kind }, el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col", class: text[0] === "#" && "count" }, text.replace("#", ""))))), body);

const listKeys = new WeakMap();

/** Shows a child for each item. Children of known items are reused, so that they keep the focus and the selection. */
export function syncList(parent, items, make, key = JSON.stringify) {
	const before = listKeys.get(parent) ?? new Map();
	const after = new Map();
	for (const item of items) {
		let name = key(item);
		// Equal items get different keys.
		while (after.has(name)) name += "+";
		after.set(name, before.get(name) ?? make(item));
	}
	listKeys.set(parent, after);
	for (const [name, child] of before) {
		if (!after.has(name)) child.remove();
	}
	[...after.values()].forEach((child, i) => parent.children[i] !== child && parent.insertBefore(child, parent.children[i] ?? null));
}

/** Time after which a click is a confirmation, and not the second one of a double click, in ms. */
const CONFIRM_DELAY_MS = 500;

/** Time after which a confirmation is no longer expected, in ms. */
const CONFIRM_TIMEOUT_MS = 10_000;

/** A button that needs a second click as confirmation, before another element is pressed or focused. The event `disarm` also
 * cancels the question. */
export function confirmButton(text, question, action, attributes) {
	let confirming = false;
	let asked = 0;
	let timer = 0;
	const setConfirming = (value) => {
		confirming = value;
		clearTimeout(timer);
		if (value) timer = setTimeout(disarm, CONFIRM_TIMEOUT_MS);
		setText(node, value ? question : text);
		node.classList.toggle("danger", value);
	};
	const click = ({ timeStamp }) => {
		if (confirming && timeStamp - asked < CONFIRM_DELAY_MS) return;
		asked = timeStamp;
		setConfirming(!confirming);
		if (!confirming) action();
	};
	const disarm = () => setConfirming(false);
	// Not on `blur`: Safari does not focus a button that is clicked, and a second click takes the focus from it.
	const onElsewhere = ({ target }) => confirming && !node.contains(target) && disarm();
	for (const kind of ["pointerdown", "focusin"]) document.addEventListener(kind, onElsewhere, true);
	// A key that is held down does not confirm.
	const keydown = (event) => event.repeat && (event.key === "Enter" || event.key === " ") && event.preventDefault();
	const node = button(text, click, { ondisarm: disarm, onkeydown: keydown, ...attributes });
	return node;
}

/** Sets the text, unless it is unchanged. */
export function setText(node, text) {
	if (node.textContent !== text) node.textContent = text;
}

/** Sets an attribute, or removes it if the value is null, undefined or false. */
export function setAttribute(node, name, value) {
	if (value === null || value === undefined || value === false) node.removeAttribute(name);
	else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** A small picture of a piece. */
export const pieceIcon = (piece) =>
	svg("svg", { viewBox: "0 0 45 45", class: "figure", "aria-hidden": "true" }, svg("use", { href: `#${piece}` }));

/** Time limit for loading the pieces, and the delay before the next attempt, in ms. */
const PIECES_TIMEOUT_MS = 10_000;
const PIECES_RETRY_MS = 1000;

/** Adds the symbols of the pieces to the page, for `<use>`; retries until they are loaded. */
export async function loadPieces() {
	try {
		await addPieces();
	} catch {
		setTimeout(loadPieces, PIECES_RETRY_MS);
	}
}

/** Black pieces are recolored white ones. */
async function addPieces() {
	const response = await fetch(`${location.origin}/assets/pieces.svg`, { signal: AbortSignal.timeout(PIECES_TIMEOUT_MS) });
	if (!response.ok) throw new Error(`status ${response.status}`);
	const symbols = new DOMParser().parseFromString(await response.text(), "image/svg+xml").documentElement;
	const colors = symbols.dataset.black.split(";");
	const swap = (text, color, i) => (i % 2 ? text : text.replaceAll(color, colors[i + 1]));
	symbols.innerHTML += colors.reduce(swap, symbols.innerHTML.replaceAll('id="w', 'id="b'));
	symbols.setAttribute("class", "visually-hidden");
	symbols.setAttribute("aria-hidden", "true");
	document.body.append(document.importNode(symbols, true));
}

/** Whether an input field has the focus. */
export const isTyping = () => document.activeElement?.matches("input:not([type=checkbox]), textarea, select") ?? false;

const ICONS = {
	first: "M18 6l-6 6 6 6M11 6l-6 6 6 6",
	back: "M15 6l-6 6 6 6",
	on: "M9 6l6 6-6 6",
	live: "M6 6l6 6-6 6M13 6l6 6-6 6",
	flip: "M7 20V5M3.5 8.5L7 5l3.5 3.5M17 4v15M13.5 15.5L17 19l3.5-3.5",
	copy: "M9 9h10v10H9zM5 15V5h10",
	keys: "M3 7h18v11H3zM8 14.5h8M7 10.5h.01M12 10.5h.01M17 10.5h.01",
	menu: "M5 7h14M5 12h14M5 17h14",
	save: "M12 4v11M8 11l4 4 4-4M5 19h14",
	share: "M12 15V4M8 8l4-4 4 4M6 12v8h12v-8",
	theme: "M12 4a8 8 0 1 0 8 8 6.2 6.2 0 0 1-8-8z",
	close: "M6 6l12 12M18 6L6 18",
	play: "M8 5.5l10 6.5-10 6.5z",
	stop: "M8.5 6v12M15.5 6v12",
	settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.8v4.4M9 14.8v4.4",
};

export const icon = (name) =>
	svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
