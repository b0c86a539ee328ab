// How the page looks and calls, as the person before it wants it: board colors, board size, notifications.

import { button, el, icon, say } from "./dom.js";
import { canNotify, notifies, setNotifies } from "./notify.js";

const COLORS = "knightwatch-board";
const SIZE = "knightwatch-size";

const BOARDS = [["green", "Green"], ["blue", "Blue"], ["brown", "Brown"], ["grey", "Grey"]];

/** In percent of the window's height; at most as much as leaves everything in sight. */
const LEAST_SIZE = 40;
const FULL_SIZE = 100;

const root = document.documentElement;

function setColors(name) {
	root.dataset.board = name;
	localStorage.setItem(COLORS, name);
}

function setSize(percent) {
	root.style.setProperty("--size", percent);
	localStorage.setItem(SIZE, percent);
}

const kept = (name) => localStorage.getItem(name);

if (BOARDS.some(([name]) => name === kept(COLORS))) setColors(kept(COLORS));
if (kept(SIZE) >= LEAST_SIZE && kept(SIZE) <= FULL_SIZE) setSize(kept(SIZE));

export class Settings {
	constructor() {
		const chosen = root.dataset.board ?? BOARDS[0][0];
		const choice = ([value, text]) => el("label", { class: "choice" },
			el("input", { type: "radio", name: "board", value, checked: value === chosen, onchange: () => setColors(value) }),
			el("span", { class: `swatch ${value}` }, text));
		const size = el("input", { type: "range", name: "size", min: LEAST_SIZE, max: FULL_SIZE, step: 5, value: kept(SIZE) ?? FULL_SIZE, oninput: () => setSize(size.value) });
		this.calls = el("input", { type: "checkbox", name: "notify", onchange: () => this.#notify() });
		this.said = el("p", { class: "problem", role: "alert" });
		this.node = el("dialog", { class: "settings", "aria-labelledby": "settings-title" },
			el("form", { method: "dialog" },
				el("header", {}, el("h2", { id: "settings-title" }, "Settings"),
					button(icon("close"), () => this.node.close(), { class: "plain", "aria-label": "Close" })),
				el("fieldset", {}, el("legend", {}, "Board colors"), el("div", { class: "choices" }, BOARDS.map(choice))),
				el("label", {}, "Board size", size),
				el("label", { class: "switch", hidden: !canNotify() }, this.calls, "Notify me when it is my turn"),
				this.said));
	}

	open() {
		this.calls.checked = notifies();
		say(this.said, "");
		this.node.showModal();
	}

	async #notify() {
		const wanted = this.calls.checked;
		this.calls.checked = await setNotifies(wanted);
		say(this.said, wanted && !this.calls.checked ? "The browser does not allow it: allow notifications of this page in its settings." : "");
	}
}
