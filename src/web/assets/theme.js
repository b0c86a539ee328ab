// Light or dark: as the system has it, until somebody chooses.

import { el, icon, setText } from "./dom.js";

const STORAGE_KEY = "knightwatch-theme";
const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => (root.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark";

export function themeToggle(button) {
	const kept = localStorage.getItem(STORAGE_KEY);
	if (kept) root.dataset.theme = kept;
	const text = el("span", {});
	const label = () => setText(text, isDark() ? "Light colors" : "Dark colors");
	button.append(icon("theme"), text);
	button.addEventListener("click", () => {
		root.dataset.theme = isDark() ? "light" : "dark";
		localStorage.setItem(STORAGE_KEY, root.dataset.theme);
		label();
	});
	systemDark.addEventListener("change", label);
	label();
}
