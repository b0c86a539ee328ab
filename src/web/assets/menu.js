// Popup menus.

import { el, icon } from "./dom.js";

/** Distance between a button and its menu, in px. */
const GAP_PX = 6;

/** A menu entry; `action` is a click handler or the address of a link. */
export function menuEntry(name, text, action, attributes) {
	const content = [icon(name), el("span", {}, text)];
	return typeof action === "function"
		? el("button", { type: "button", onclick: action, ...attributes }, content)
		: el("a", { href: action, ...attributes }, content);
}

/** A menu that `opener` opens. A choice, Escape or a click elsewhere closes it. */
export function popupMenu(opener, label, entries) {
	const chosen = (event) => event.target.closest("a, button") && node.hidePopover();
	const node = el("div", { class: "menu", popover: "auto", role: "group", "aria-label": label, onclick: chosen, onkeydown: onArrowKey }, entries);
	opener.popoverTargetElement = node;
	node.addEventListener("beforetoggle", ({ newState }) => newState === "open" && placeMenu(node, opener.getBoundingClientRect()));
	return node;
}

/** Places a menu next to its button, on the side with more space. */
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

/** Moves the focus between the entries with the arrow keys. */
function onArrowKey(event) {
	const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
	if (!step) return;
	event.preventDefault();
	const entries = [...event.currentTarget.children].filter((entry) => entry.checkVisibility());
	const at = entries.indexOf(document.activeElement);
	entries.at((at + step) % entries.length)?.focus();
}
