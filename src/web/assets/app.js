// Entry point: opens the event stream and shows the view that the address selects.

import { checkKey, hasKey, WATCH_ONLY_TEXT } from "./api.js";
import { BotView } from "./bot.js";
import { drawClocks } from "./clocks.js";
import { el, icon, isTyping, loadPieces, setAttribute, setText } from "./dom.js";
import { HistoryView } from "./history.js";
import { GamesView } from "./games.js";
import { openShortcuts } from "./shortcuts.js";
import { menuEntry, popupMenu } from "./menu.js";
import { NewGameDialog } from "./new_game.js";
import { notify, setTurnIcon } from "./notify.js";
import { status } from "./status.js";
import { controlledColor, onChange, onDisconnect, onEvent, runningGames, store } from "./store.js";
import { sideToMove } from "./chess.js";
import { listen } from "./events.js";
import { themeToggle } from "./theme.js";
import { claimReload } from "./storage.js";
import { SettingsDialog } from "./settings.js";
import { resultSentence } from "./format.js";

/** Interval for redrawing the clocks, in ms. */
const CLOCK_INTERVAL_MS = 100;

const byId = (id) => document.getElementById(id);
const newGame = new NewGameDialog();
const settings = new SettingsDialog();
const gamesView = new GamesView({ newGame, announce, onOpen: () => gamesView.node.hidden || markTab("live") });
const views = { live: gamesView, games: new HistoryView(), bot: new BotView() };

/** Announcements within this time are joined, in ms. */
const ANNOUNCE_JOIN_MS = 100;

let lastAnnounced = 0;

/** Announces a text to screen readers; with `more` it is added to an announcement that has just been made. */
function announce(text, more = false) {
	const joined = more && Date.now() - lastAnnounced < ANNOUNCE_JOIN_MS;
	lastAnnounced = Date.now();
	setText(byId("read"), joined ? `${byId("read").textContent}. ${text}` : text);
}

function route() {
	const [, view = "", id = null, ply = null] = location.hash.split("?")[0].split("/");
	const name = Object.hasOwn(views, view) ? view : "live";
	for (const [key, { node }] of Object.entries(views)) node.hidden = key !== name;
	setText(byId("skip"), name === "live" ? "Skip to the board" : "Skip to the content");
	if (name === "live") gamesView.openGame(view === "game" ? id : null, ply === null ? null : Number(ply) || 0);
	else views[name].open();
	markTab(name);
}

/** Marks the tab of the view; a game of the past belongs to the tab Games. */
function markTab(name) {
	const current = name === "live" && gamesView.isPast && store.snapshot?.records ? "games" : name;
	for (const link of document.querySelectorAll("[data-view]")) {
		setAttribute(link, "aria-current", link.dataset.view === current ? "page" : null);
	}
}

const OUTDATED_TEXT = "A new version is running: reload this page.";

/** Hash of the files that this page was loaded from. */
const LOADED_ASSETS = document.querySelector("meta[name=assets]").content;

let isOutdated = false;

/** Reloads the page if the daemon has other files now; during games of the user the banner says so instead. */
function checkAssets() {
	const assets = store.snapshot?.assets;
	if (!assets) return;
	isOutdated = assets !== LOADED_ASSETS;
	if (isOutdated && !runningGames().some(controlledColor) && claimReload(assets)) location.reload();
}

function showHeader() {
	const { kind, short, long } = status();
	setText(byId("status"), short);
	setAttribute(byId("status"), "title", long);
	byId("status").className = kind;
	const play = store.snapshot?.play;
	byId("new").hidden = !(play && store.snapshot.account && hasKey());
	document.querySelector("[data-view=games]").hidden = !store.snapshot?.records;
	const text = kind === "bad" ? long : isOutdated ? OUTDATED_TEXT : play && !hasKey() ? WATCH_ONLY_TEXT : "";
	byId("banner").hidden = !text;
	byId("banner").className = kind;
	setText(byId("banner"), text);
	document.title = windowTitle();
	notifyUser();
}

/** Ids of the running games of the user. */
let userGames = new Set();

/** Notifies the user of their turn and of the end of their games. */
function notifyUser() {
	const mine = [...store.games.values()].filter(controlledColor);
	const turns = store.connected ? mine.filter((game) => !game.result && controlledColor(game) === sideToMove(game.fen)) : [];
	setTurnIcon(turns.length > 0);
	for (const game of turns) {
		const last = game.moves.at(-1);
		notify(game.id, game.moves.length, "Your move", last ? `${game[last.by].name} played ${last.san}.` : "The game begins.");
	}
	for (const game of mine.filter(({ id, result }) => result && userGames.has(id))) notify(game.id, "over", "The game is over", resultSentence(game, controlledColor(game)));
	userGames = new Set(mine.filter(({ result }) => !result).map(({ id }) => id));
}

function skipToContent() {
	if (!gamesView.node.hidden && gamesView.game) gamesView.gameView.board.focus();
	else byId("main").focus();
}

function windowTitle() {
	// A disconnected page does not know the current state.
	if (!store.connected) return `${status().short} – Knightwatch`;
	const running = runningGames();
	if (running.some((game) => controlledColor(game) === sideToMove(game.fen))) return "Your move – Knightwatch";
	return running.length ? `${running.length} running – Knightwatch` : "Knightwatch";
}

function onKeyDown(event) {
	if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
	// With Caps Lock or Shift, letters are capitals.
	const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
	if (key === "?" && !isTyping()) openShortcuts();
	else if (key === "n" && !byId("new").hidden && !isTyping()) newGame.open();
	else if (gamesView.node.hidden || !gamesView.game || !gamesView.gameView.onKey(key)) return;
	event.preventDefault();
}

function onStoreChange(kind, id) {
	if (kind === "snapshot") checkAssets();
	if (kind !== "thinking") showHeader();
	if (kind === "connection") return views.bot.onEvent(kind);
	if (kind === "snapshot") views.games.updateAccounts();
	// The requested game may only be in the records.
	if (kind === "snapshot" && gamesView.requestedId && !store.games.has(gamesView.requestedId)) gamesView.openGame(gamesView.requestedId, gamesView.ply);
	gamesView.onEvent(kind, id);
	views.bot.onEvent(kind);
	views.games.onEvent(kind, store.games.get(id));
}

/** Reserves the height of the header and the banner, so that the board fits below them. */
function updateTopOffset() {
	document.documentElement.style.setProperty("--top", `${byId("main").offsetTop}px`);
}

const topObserver = new ResizeObserver(updateTopOffset);
for (const node of [document.querySelector(".top"), byId("banner")]) topObserver.observe(node);
onChange(onStoreChange);
// The daemon may have been restarted with another key.
onChange((kind) => kind === "snapshot" && checkKey());
// Without the key the page offers no actions.
addEventListener("access", () => onStoreChange("snapshot", null));
const themeButton = el("button", { type: "button", id: "theme" });
themeToggle(themeButton);
byId("menu").append(icon("menu"));
document.body.append(popupMenu(byId("menu"), "Menu", [themeButton, menuEntry("settings", "Settings", () => settings.open(), { id: "settings" }), menuEntry("keys", "Keys", () => openShortcuts(), { id: "keys", title: "?" })]));
byId("new").addEventListener("click", () => newGame.open());
byId("skip").addEventListener("click", skipToContent);
byId("main").append(...Object.values(views).map(({ node }) => node));
document.body.append(newGame.node, settings.node);
addEventListener("hashchange", route);
addEventListener("keydown", onKeyDown);
setInterval(() => {
	drawClocks();
	if (!gamesView.node.hidden) gamesView.update();
}, CLOCK_INTERVAL_MS);
loadPieces();
route();
// The stream of a hidden window stays open during games of the user, for the title and notifications.
listen("/events", onEvent, onDisconnect, () => runningGames().some(controlledColor));
