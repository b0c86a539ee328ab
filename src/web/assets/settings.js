// Settings of the page: board colors, board size, notifications.

import { button, el, icon, setText } from "./dom.js";
import { notificationsEnabled, notificationsSupported, setNotifications } from "./notify.js";
import { storage } from "./storage.js";

const COLORS_STORAGE = "knightwatch-board";
const SIZE_STORAGE = "knightwatch-size";

const BOARDS = [["green", "Green"], ["blue", "Blue"], ["brown", "Brown"], ["gray", "Gray"]];

/** Board size in percent of the smaller side of the window. */
const MIN_SIZE = 40;
const MAX_SIZE = 100;

const root = document.documentElement;

function setColors(name) {
	root.dataset.board = name;
	storage.setItem(COLORS_STORAGE, name);
}

function setSize(percent) {
	root.style.setProperty("--size", percent);
	storage.setItem(SIZE_STORAGE, percent);
}

const stored = (name) => storage.getItem(name);

if (BOARDS.some(([name]) => name === stored(COLORS_STORAGE))) setColors(stored(COLORS_STORAGE));
if (stored(SIZE_STORAGE) >= MIN_SIZE && stored(SIZE_STORAGE) <= MAX_SIZE) setSize(stored(SIZE_STORAGE));

export class SettingsDialog {
	constructor() {
		const chosen = root.dataset.board ?? BOARDS[0][0];
		const choice = ([value, text]) => el("label", { class: "choice" },
			el("input", { type: "radio", name: "board", value, checked: value === chosen, onchange: () => setColors(value) }),
			el("span", { class: `swatch ${value}` }, text));
		const size = el("input", { type: "range", name: "size", min: MIN_SIZE, max: MAX_SIZE, step: 5, value: stored(SIZE_STORAGE) ?? MAX_SIZE, oninput: () => setSize(size.value) });
		this.notifyBox = el("input", { type: "checkbox", name: "notify", onchange: () => this.#notify() });
		this.problem = el("p", { class: "problem", role: "alert" });
		this.node = el("dialog", { class: "settings", "aria-labelledby": "settings-title" },
			el("form", { method: "dialog" },
				el("header", {}, el("h2", { id: "settings-title" }, "Settings"),
					button(icon("close"), () => this.node.close(), { class: "plain", "aria-label": "Close" })),
				el("fieldset", {}, el("legend", {}, "Board colors"), el("div", { class: "choices" }, BOARDS.map(choice))),
				el("label", {}, "Board size", size),
				el("label", { class: "switch", hidden: !notificationsSupported() }, this.notifyBox, "Notify me when it is my turn"),
				this.problem));
	}

	open() {
		this.notifyBox.checked = notificationsEnabled();
		setText(this.problem, "");
		this.node.showModal();
	}

	async #notify() {
		const wanted = this.notifyBox.checked;
		this.notifyBox.checked = await setNotifications(wanted);
		setText(this.problem, wanted && !this.notifyBox.checked ? "The browser does not allow it: allow notifications of this page in its settings." : "");
	}
}
