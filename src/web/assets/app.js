// The page begins here: it listens, and shows the view that the address names.

import { mayAct, tryKey, WATCHES } from "./api.js";
import { Bot } from "./bot.js";
import { tick } from "./clocks.js";
import { el, icon, loadPieces, mark, say, typing } from "./dom.js";
import { History } from "./history.js";
import { Live } from "./live.js";
import { openKeys } from "./keys.js";
import { entry, menu } from "./menu.js";
import { NewGame } from "./newgame.js";
import { markIcon, notify } from "./notify.js";
import { status } from "./status.js";
import { heard, lost, me, onChange, running, side, store } from "./store.js";
import { turn } from "./chess.js";
import { listen } from "./stream.js";
import { theme } from "./theme.js";
import { Settings } from "./settings.js";
import { verdict } from "./words.js";

/** As often clocks are drawn, in ms. */
const TICK = 100;

const $ = (id) => document.getElementById(id);
const newGame = new NewGame();
const settings = new Settings();
const live = new Live({ newGame, read, opened: () => live.node.hidden || tabs("live") });
const views = { live, games: new History(), bot: new Bot() };

/** What comes at once is read as one. */
const AT_ONCE = 100;

let lastRead = 0;

/** Reads something out; with `more` after what has just been read. */
function read(text, more = false) {
	const joined = more && Date.now() - lastRead < AT_ONCE;
	lastRead = Date.now();
	say($("read"), joined ? `${$("read").textContent}. ${text}` : text);
}

function route() {
	const [, view = "", id = null, ply = null] = location.hash.split("?")[0].split("/");
	const name = Object.hasOwn(views, view) ? view : "live";
	for (const [key, { node }] of Object.entries(views)) node.hidden = key !== name;
	say($("skip"), name === "live" ? "Skip to the board" : "Skip to the content");
	if (name === "live") live.want(view === "game" ? id : null, ply === null ? null : Number(ply) || 0);
	else views[name].open();
	tabs(name);
}

/** Marks the tab that the view belongs to: a game of the past is one of all games. */
function tabs(name) {
	const current = name === "live" && live.past && store.snapshot?.records ? "games" : name;
	for (const link of document.querySelectorAll("[data-view]")) {
		mark(link, "aria-current", link.dataset.view === current ? "page" : null);
	}
}

function head() {
	const { kind, short, long } = status();
	say($("status"), short);
	mark($("status"), "title", long);
	$("status").className = kind;
	const play = store.snapshot?.play;
	$("new").hidden = !(play && store.snapshot.account && mayAct());
	document.querySelector("[data-view=games]").hidden = !store.snapshot?.records;
	const words = kind === "bad" ? long : play && !mayAct() ? WATCHES : "";
	$("banner").hidden = !words;
	$("banner").className = kind;
	say($("banner"), words);
	document.title = title();
	call();
}

/** The ids of the games that the person plays. */
let playing = new Set();

/** Calls the person who plays here and looks elsewhere. */
function call() {
	const mine = [...store.games.values()].filter(me);
	const turns = store.connected ? mine.filter((game) => !game.result && me(game) === turn(game.fen)) : [];
	markIcon(turns.length > 0);
	for (const game of turns) {
		const last = game.moves.at(-1);
		notify(`${game.id} ${game.moves.length}`, "Your move", last ? `${game[last.by].name} played ${last.san}.` : "The game begins.");
	}
	for (const game of mine.filter(({ id, result }) => result && playing.has(id))) notify(`${game.id} over`, "The game is over", verdict(game, me(game)));
	playing = new Set(mine.filter(({ result }) => !result).map(({ id }) => id));
}

function skip() {
	if (!live.node.hidden && live.shown) live.table.board.focus();
	else $("main").focus();
}

function title() {
	// What stands in a tab must not look like news when nothing is heard.
	if (!store.connected) return `${status().short} – Knightwatch`;
	const on = running();
	if (on.some((game) => side(game) === turn(game.fen))) return "Your move – Knightwatch";
	return on.length ? `${on.length} on – Knightwatch` : "Knightwatch";
}

function keys(event) {
	if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
	if (event.key === "?" && !typing()) openKeys();
	else if (event.key === "n" && !$("new").hidden && !typing()) newGame.open();
	else if (live.node.hidden || !live.shown || !live.table.key(event.key)) return;
	event.preventDefault();
}

function changed(kind, id) {
	if (kind !== "thinking") head();
	if (kind === "connection") return;
	if (kind === "snapshot") {
		// Another daemon may be there now.
		tryKey();
		views.games.told();
	}
	// What the address names may be in the records only.
	if (kind === "snapshot" && live.wanted && !store.games.has(live.wanted)) live.want(live.wanted, live.ply);
	live.heard(kind, id);
	views.bot.heard(kind);
	views.games.heard(kind, store.games.get(id));
}

/** What stands above the view takes its height from the board. */
function measure() {
	document.documentElement.style.setProperty("--top", `${$("main").offsetTop}px`);
}

const above = new ResizeObserver(measure);
for (const node of [document.querySelector(".top"), $("banner")]) above.observe(node);
onChange(changed);
// What could be done can be done no more.
addEventListener("watching", () => changed("snapshot", null));
const colors = el("button", { type: "button", id: "theme" });
theme(colors);
$("menu").append(icon("menu"));
document.body.append(menu($("menu"), "Menu", [colors, entry("settings", "Settings", () => settings.open(), { id: "settings" }), entry("keys", "Keys", () => openKeys(), { id: "keys", title: "?" })]));
$("new").addEventListener("click", () => newGame.open());
$("skip").addEventListener("click", skip);
$("main").append(...Object.values(views).map(({ node }) => node));
document.body.append(newGame.node, settings.node);
addEventListener("hashchange", route);
addEventListener("keydown", keys);
setInterval(() => {
	tick();
	if (!live.node.hidden) live.choose();
}, TICK);
await loadPieces();
route();
// The title tells who plays here when to come back.
listen("/events", heard, lost, () => mayAct() && running().some(side));
