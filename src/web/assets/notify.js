// Tells a person who looks elsewhere that it is their turn: a notification if they have asked for it, and a mark on the icon.

const STORAGE_KEY = "knightwatch-notify";

const faviconLink = document.querySelector("link[rel=icon]");

/** What was told, so that nothing is told twice. */
const sent = new Set();

export const notificationsSupported = () => "Notification" in window;

export const notificationsEnabled = () => notificationsSupported() && Notification.permission === "granted" && localStorage.getItem(STORAGE_KEY) === "yes";

/** Switches notifications on or off, and asks the browser where that is needed; gives whether they are on. */
export async function setNotifications(on) {
	if (on && notificationsSupported() && Notification.permission === "default") await Notification.requestPermission();
	localStorage.setItem(STORAGE_KEY, on ? "yes" : "no");
	return notificationsEnabled();
}

/** Marks the icon while it is the person's turn. */
export const setTurnIcon = (turn) => faviconLink.setAttribute("href", turn ? "/assets/icon-move.svg" : "/assets/icon.svg");

/** Notifies of this, once for each `key`, unless the page is looked at. */
export function notify(key, title, body) {
	const known = sent.has(key);
	sent.add(key);
	if (known || !document.hidden || !notificationsEnabled()) return;
	try {
		const note = new Notification(title, { body, tag: title, icon: "/assets/icon.svg" });
		note.onclick = () => window.focus();
	} catch {
		// Phones show notifications of service workers alone.
	}
}
