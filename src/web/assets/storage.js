// Storage for settings, the key and automatic reloads.

/** Whether the browser stores anything; it can be set to block that. */
export const isStorageAvailable = (() => {
	try {
		localStorage.setItem("knightwatch-test", "");
		localStorage.removeItem("knightwatch-test");
		return true;
	} catch {
		return false;
	}
})();

const items = new Map();

/** Storage that lasts as long as the page. */
const memory = { getItem: (name) => items.get(name) ?? null, setItem: (name, text) => items.set(name, text), removeItem: (name) => items.delete(name) };

export const storage = isStorageAvailable ? localStorage : memory;

/** Returns whether this window may reload itself for files with this hash: once, so that it never does so in a loop. */
export function claimReload(hash) {
	const name = `knightwatch-reloaded-${hash}`;
	try {
		if (sessionStorage.getItem(name) !== null) return false;
		sessionStorage.setItem(name, "");
		return true;
	} catch {
		return false;
	}
}
