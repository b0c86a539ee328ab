// Tells a person who looks elsewhere that it is their turn: a notification if they have asked for it, and a mark on the icon.

const KEPT = "knightwatch-notify";

const icon = document.querySelector("link[rel=icon]");

/** What was told, so that nothing is told twice. */
const told = new Set();

export const canNotify = () => "Notification" in window;

export const notifies = () => canNotify() && Notification.permission === "granted" && localStorage.getItem(KEPT) === "yes";

/** Switches notifications on or off, and asks the browser where that is needed; gives whether they are on. */
export async function setNotifies(on) {
	if (on && canNotify() && Notification.permission === "default") await Notification.requestPermission();
	localStorage.setItem(KEPT, on ? "yes" : "no");
	return notifies();
}

/** Marks the icon while it is the person's turn. */
export const markIcon = (turn) => icon.setAttribute("href", turn ? "/assets/icon-move.svg" : "/assets/icon.svg");

/** Notifies of this, once for each `key`, unless the page is looked at. */
export function notify(key, title, body) {
	const known = told.has(key);
	told.add(key);
	if (known || !document.hidden || !notifies()) return;
	try {
		const note = new Notification(title, { body, tag: title, icon: "/assets/icon.svg" });
		note.onclick = () => window.focus();
	} catch {
		// Phones show notifications of service workers alone.
	}
}
