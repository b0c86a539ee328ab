// A button that opens a list of things to do.

import { el, icon } from "./dom.js";

/** Between a button and its list, in px. */
const GAP_PX = 6;

/** An entry of a list: `act` is what a click does, or where a link leads. */
export function menuEntry(name, text, act, attributes) {
	const content = [icon(name), el("span", {}, text)];
	return typeof act === "function"
		? el("button", { type: "button", onclick: act, ...attributes }, content)
		: el("a", { href: act, ...attributes }, content);
}

/** The list that `opener` opens; it closes when an entry is chosen, with Escape, and with a click elsewhere. */
export function popupMenu(opener, label, entries) {
	const chosen = (event) => event.target.closest("a, button") && node.hidePopover();
	const node = el("div", { class: "menu", popover: "auto", role: "group", "aria-label": label, onclick: chosen, onkeydown: onArrowKey }, entries);
	opener.popoverTargetElement = node;
	node.addEventListener("beforetoggle", ({ newState }) => newState === "open" && placeMenu(node, opener.getBoundingClientRect()));
	return node;
}

/** Beside its button, on the side where there is more room. */
function placeMenu(node, { left, right, top, bottom }) {
	const px = (number) => `${Math.max(GAP_PX, Math.round(number))}px`;
	const [low, far] = [top > innerHeight / 2, left > innerWidth / 2];
	Object.assign(node.style, {
		top: low ? "auto" : px(bottom + GAP_PX),
		bottom: low ? px(innerHeight - top + GAP_PX) : "auto",
		left: far ? "auto" : px(left),
		right: far ? px(document.documentElement.clientWidth - right) : "auto",
	});
}

/** The arrow keys lead through the entries. */
function onArrowKey(event) {
	const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
	if (!step) return;
	event.preventDefault();
	const entries = [...event.currentTarget.children].filter((entry) => entry.checkVisibility());
	const at = entries.indexOf(document.activeElement);
	entries.at((at + step) % entries.length)?.focus();
}
