// Keyboard shortcuts, shown with "?" and from the menu.

import { button, el, icon } from "./dom.js";

const SHORTCUTS = [
	["← →", "One move back or forward"],
	["Home End", "To the start, to the latest move"],
	["L", "To the latest move"],
	["F", "Turn the board"],
	["N", "New game"],
	["/", "Type a move"],
	["Esc", "Deselect a piece, close a window"],
	["?", "This list"],
];

const shortcutList = el("dl", { class: "keys" }, SHORTCUTS.flatMap(([keys, action]) => [el("dt", {}, keys.split(" ").map((key) => el("kbd", {}, key))), el("dd", {}, action)]));

const dialog = el("dialog", { "aria-labelledby": "keys-title" },
	el("header", {}, el("h2", { id: "keys-title" }, "Keys"), button(icon("close"), () => dialog.close(), { class: "plain", "aria-label": "Close" })),
	shortcutList,
	el("p", { class: "quiet" }, "On the board the arrow keys move between squares; Enter selects a piece and its destination."));

export function openShortcuts() {
	if (!dialog.isConnected) document.body.append(dialog);
	dialog.showModal();
}
