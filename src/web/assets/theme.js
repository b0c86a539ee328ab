// Light or dark: as the system has it, until somebody chooses.

import { el, icon, say } from "./dom.js";

const KEPT = "knightwatch-theme";
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

export function theme(button) {
	const kept = localStorage.getItem(KEPT);
	if (kept) root.dataset.theme = kept;
	const text = el("span", {});
	const label = () => say(text, isDark() ? "Light colors" : "Dark colors");
	button.append(icon("theme"), text);
	button.addEventListener("click", () => {
		root.dataset.theme = isDark() ? "light" : "dark";
		localStorage.setItem(KEPT, root.dataset.theme);
		label();
	});
	system.addEventListener("change", label);
	label();
}
