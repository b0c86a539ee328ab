// The keys of the page, shown by "?" and from the menu.

import { button, el, icon } from "./dom.js";

const SHORTCUTS = [
	["← →", "One move back, one on"],
	["Home End", "To the start, to the latest move"],
	["L", "To the latest move"],
	["F", "Turn the board"],
	["N", "New game"],
	["/", "Type a move"],
	["Esc", "Give up a piece that was taken up, close a window"],
	["?", "This list"],
];

const shortcutList = el("dl", { class: "keys" }, SHORTCUTS.flatMap(([keys, does]) => [el("dt", {}, keys.split(" ").map((key) => el("kbd", {}, key))), el("dd", {}, does)]));

const dialog = el("dialog", { "aria-labelledby": "keys-title" },
	el("header", {}, el("h2", { id: "keys-title" }, "Keys"), button(icon("close"), () => dialog.close(), { class: "plain", "aria-label": "Close" })),
	shortcutList,
	el("p", { class: "quiet" }, "On the board the arrow keys lead from square to square, and Enter takes a piece up and puts it down."));

export function openShortcuts() {
	if (!dialog.isConnected) document.body.append(dialog);
	dialog.showModal();
}
