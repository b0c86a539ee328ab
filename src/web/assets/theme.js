// Light or dark colors: the choice of the user, or else that of the system.

import { el, icon, setText } from "./dom.js";
import { storage } from "./storage.js";

const STORAGE_KEY = "knightwatch-theme";
const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => (root.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark";

export function themeToggle(button) {
	const stored = storage.getItem(STORAGE_KEY);
	if (stored) root.dataset.theme = stored;
	const text = el("span", {});
	const label = () => setText(text, isDark() ? "Light colors" : "Dark colors");
	button.append(icon("theme"), text);
	button.addEventListener("click", () => {
		root.dataset.theme = isDark() ? "light" : "dark";
		storage.setItem(STORAGE_KEY, root.dataset.theme);
		label();
	});
	systemDark.addEventListener("change", label);
	label();
}
