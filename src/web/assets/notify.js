// Notifications of the user while the page is hidden, if they have enabled them, and the mark on the icon.

import { storage } from "./storage.js";

const STORAGE_KEY = "knightwatch-notify";

const faviconLink = document.querySelector("link[rel=icon]");

/** Keys of sent notifications. */
const sent = new Set();

/** The latest notification of each game since the page was visible. */
const shown = new Map();

document.addEventListener("visibilitychange", () => {
	if (document.hidden) return;
	for (const note of shown.values()) note.close();
	shown.clear();
});

export const notificationsSupported = () => "Notification" in window;

export const notificationsEnabled = () => notificationsSupported() && Notification.permission === "granted" && storage.getItem(STORAGE_KEY) === "yes";

/** Enables or disables notifications; requests the permission if needed. Returns whether they are enabled. */
export async function setNotifications(on) {
	if (on && notificationsSupported() && Notification.permission === "default") await Notification.requestPermission();
	storage.setItem(STORAGE_KEY, on ? "yes" : "no");
	return notificationsEnabled();
}

/** Marks the icon while it is the user's turn. */
export const setTurnIcon = (turn) => faviconLink.setAttribute("href", turn ? "/assets/icon-move.svg" : "/assets/icon.svg");

/** Shows a notification about a game in place of an earlier one, once for each `event` of the game, unless the page is visible. */
export function notify(game, event, title, body) {
	const key = `${game} ${event}`;
	const known = sent.has(key);
	sent.add(key);
	if (known || !document.hidden || !notificationsEnabled()) return;
	try {
		const note = new Notification(title, { body, tag: game, renotify: true, icon: "/assets/icon.svg" });
		shown.set(game, note);
		note.onclick = () => window.focus();
	} catch {
		// Mobile browsers only allow notifications from service workers.
	}
}
