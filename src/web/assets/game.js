// View of a game: board, players, moves, graph, engine, chat.

import { button, el, icon, isTyping, setAttribute, setText } from "./dom.js";
import { attempt, boardCall, controlCall, get, showToast } from "./api.js";
import { GameActions } from "./actions.js";
import { Board } from "./board.js";
import { Autoplay } from "./autoplay.js";
import { bottomColor, isFlipped, showEvaluation } from "./cards.js";
import { ChatPanel } from "./chat.js";
import { afterMove, boardFromFen, explosionSquares, goalSquares, kingSquare, legalTargets, moveNumbering, moveSquares, opposite, parseUci, pocketsFromFen, premoveTargets, sanAsWords, sideToMove, squareName } from "./chess.js";
import { Graph } from "./graph.js";
import { BoardInput } from "./input.js";
import { menuEntry, popupMenu } from "./menu.js";
import { MoveList } from "./moves.js";
import { PlayerPanel } from "./player.js";
import { controlledColor, hidesEngine, isPlaying, store, userColor } from "./store.js";
import { EnginePanel } from "./thinking.js";
import { describeGame, outcomeFor, resultSentence, scoreText, whiteScore, winnerColor } from "./format.js";

/** Path of the PGN below that of the game. */
const PGN_PATH = "/game.pgn";

/** Wheel distance per move, in pixels. */
const WHEEL_STEP_PX = 50;

/** The latest offer or answer. */
const lastOffer = (game) => game.chat.findLast(({ room }) => room === "game");

export class GameView {
	/** `newGame` is the dialog of a new game; `announce(text, more)` is that of app.js. */
	constructor({ newGame, announce }) {
		this.announce = announce;
		this.flippedGames = new Set();
		this.board = new Board({ squares: true, coordinates: true });
		this.input = new BoardInput(this.board, {
			movable: () => this.#movablePieces(),
			play: (uci) => this.#play(uci),
			press: () => this.#endPreview(),
			cancel: () => this.#setPremove(null),
		});
		const goTo = (ply) => this.goTo(ply);
		this.moves = new MoveList(goTo);
		this.graph = new Graph(goTo);
		this.thinking = new EnginePanel((step) => {
			this.step = step;
			this.#showBoard();
		});
		this.actions = new GameActions({ newGame, play: (uci) => this.#play(uci), busy: () => this.pending });
		this.chat = new ChatPanel(goTo);
		this.autoplay = new Autoplay(() => this.#autoplayStep());
		this.players = [new PlayerPanel(), new PlayerPanel()];
		this.#build();
	}

	#build() {
		const tool = (name, label, act) => button(icon(name), act, { class: "tool", "aria-label": label, title: label });
		const [top, bottom] = this.players;
		this.evalBar = el("div", { class: "evalbar", role: "img" }, el("div"));
		this.stateTag = el("p", { class: "tag", hidden: true });
		const save = (text, what) => menuEntry("save", text, "", { "data-share": what, download: true });
		this.downloads = { game: save("Download game (PGN)", "game"), picture: save("Download picture of the board", "picture"),
			animation: save("Download animation", "animation"), graph: save("Download graph", "graph") };
		this.shareButton = button([icon("share"), "Share"], null, { class: "tool text" });
		const copy = (what, text) => menuEntry("copy", text, () => this.#copy(what), { "data-share": what });
		this.menu = popupMenu(this.shareButton, "Share", [copy("FEN", "Copy position (FEN)"), copy("PGN", "Copy game (PGN)"), ...Object.values(this.downloads)]);
		this.latest = tool("live", "To the latest move (End)", () => this.goTo(Infinity));
		this.playButton = button(icon("play"), () => this.#toggleAutoplay(), { class: "tool" });
		this.tools = el("div", { class: "tools", role: "toolbar", "aria-label": "Look through the game" },
			tool("first", "To the start (Home)", () => this.goTo(0)),
			tool("back", "One move back (←)", () => this.#stepBy(-1)),
			tool("on", "One move on (→)", () => this.#stepBy(1)),
			this.latest,
			this.playButton,
			el("span", { class: "space" }),
			this.stateTag,
			tool("flip", "Turn the board (F)", () => this.flip()),
			this.shareButton, this.menu);
		this.pockets = el("div", { class: "pockets", hidden: true }, this.input.pockets.map(({ node }) => node));
		this.boardArea = el("div", { class: "board-area" }, top.node,
			el("div", { class: "boardrow" }, this.evalBar, el("div", { class: "frame" }, this.board.node, this.input.menu), this.pockets),
			bottom.node, this.tools);
		this.heading = el("h1", {});
		this.score = el("b", {});
		this.verdict = el("span", {});
		this.result = el("p", { class: "result", hidden: true }, this.score, " ", this.verdict);
		this.turn = el("p", { class: "turn", hidden: true });
		this.link = el("a", { class: "quiet", rel: "noreferrer", target: "_blank" });
		this.showEngine = el("input", { type: "checkbox", onchange: () => this.#toggleEngine() });
		this.showEngineLabel = el("label", { class: "switch" }, this.showEngine, "Show what the engine thinks");
		this.panel = el("aside", { class: "panel", "aria-label": "The game" },
			el("header", {}, this.heading, this.link, this.result, this.turn),
			this.moves.node, this.graph.node, this.thinking.node, this.showEngineLabel, this.actions.node, this.chat.node);
		this.node = el("div", { class: "game-view", hidden: true }, this.boardArea, this.panel);
		this.wheelDelta = 0;
		this.board.node.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
	}

	/** Shows a game. */
	open(game) {
		if (this.game?.id !== game.id) {
			this.ply = null;
			this.step = null;
			this.pending = null;
			this.#setPremove(null);
			this.autoplay.stop();
			this.board.setTabStop(Math.max(0, kingSquare(boardFromFen(game.fen), bottomColor(game))));
		}
		this.game = game;
		this.plies = game.moves.length;
		this.lastOffer = JSON.stringify(lastOffer(game));
		this.node.hidden = false;
		this.refresh();
	}

	/** Handles an event of the game; `kind` is the name of the event. */
	onEvent(kind, game) {
		this.game = game;
		const before = this.plies;
		this.plies = game.moves.length;
		this.#announceOffer(kind);
		// Events without a new position, such as draw offers, keep the pending move and the premove.
		const changed = kind === "moved" || this.plies !== before || game.result;
		if (changed) this.pending = null;
		const last = game.moves.at(-1);
		if (kind === "moved") {
			// Moves are announced to players only.
			if (controlledColor(game)) this.announce(`${this.#playerName(last.by)}: ${sanAsWords(last.san, game.variant, game.fen)}`, true);
			if (this.ply === null) this.step = null;
		} else if (kind === "snapshot") {
			if (this.plies < before || game.result) this.#setPremove(null);
		} else if (kind === "game") {
			if (changed) this.#setPremove(null);
			if (game.result) this.announce(`The game is over: ${resultSentence(game, controlledColor(game))}`, true);
		}
		if (kind === "thinking") this.#showThinking();
		else this.refresh();
		// The opponent may have moved while the page was disconnected.
		if (kind === "moved" || kind === "snapshot") this.#playPremove();
	}

	refresh() {
		const { game } = this;
		if (this.ply !== null && this.ply >= game.moves.length) this.ply = null;
		setText(this.heading, describeGame(game));
		setText(this.link, game.tournament ? `tournament ${game.tournament}` : game.id);
		setAttribute(this.link, "href", game.url);
		const { game: pgn, picture, animation, graph } = this.downloads;
		const link = (node, path, name) => {
			setAttribute(node, "href", `/game/${game.id}${path}`);
			setAttribute(node, "download", `${game.id}${name}`);
		};
		link(pgn, PGN_PATH, ".pgn");
		link(picture, `.svg?ply=${this.#shownPly()}`, `-${this.#shownPly()}.svg`);
		link(animation, "/animated.svg", "-animated.svg");
		link(graph, "/graph.svg", "-graph.svg");
		// The simulator has no game pages, and imported games may have none.
		this.link.hidden = Boolean(store.snapshot.play) || !game.url;
		this.result.hidden = !game.result;
		if (game.result) {
			setText(this.score, scoreText(game.result));
			setText(this.verdict, resultSentence(game, controlledColor(game)));
			this.result.className = `result ${outcomeFor(game, controlledColor(game) ?? game.ours)}`;
		}
		this.#showTurn();
		const hidden = hidesEngine(game);
		this.showEngineLabel.hidden = !isPlaying(game);
		this.showEngine.checked = store.snapshot.play?.show_engine;
		this.node.classList.toggle("engine-hidden", hidden);
		this.node.classList.toggle("mine", controlledColor(game) !== null);
		graph.hidden = hidden;
		this.moves.show(game, this.#shownPly(), hidden);
		this.graph.show(game, this.#shownPly());
		this.actions.show(game);
		this.chat.show(game);
		this.#showThinking();
	}

	/** Whether the user looks through the game. */
	get isBrowsing() {
		return this.ply !== null || this.autoplay.isRunning;
	}

	/** Shows the position after `ply` moves and stops the automatic replay. */
	goTo(ply) {
		this.autoplay.stop();
		this.#showPly(ply);
	}

	#showPly(ply) {
		this.ply = ply >= this.game.moves.length ? null : Math.max(0, ply);
		this.step = null;
		this.refresh();
		const move = this.game.moves[this.#shownPly() - 1];
		this.announce(move ? `Move ${this.#moveNumber(this.#shownPly() - 1)}, ${move.by}: ${sanAsWords(move.san, this.game.variant, move.fen)}` : "The start");
	}

	flip() {
		const { id } = this.game;
		if (!this.flippedGames.delete(id)) this.flippedGames.add(id);
		this.input.close();
		this.refresh();
	}

	/** Handles a key outside of input fields. Returns whether it is a shortcut. */
	onKey(name) {
		// It also closes menus, so it is no shortcut of this view alone.
		if (name === "Escape" && !isTyping() && !document.querySelector(":popover-open")) this.input.reset();
		const act = {
			ArrowLeft: () => this.#stepBy(-1),
			ArrowRight: () => this.#stepBy(1),
			Home: () => this.goTo(0),
			End: () => this.goTo(Infinity),
			l: () => this.goTo(Infinity),
			f: () => this.flip(),
			"/": () => this.actions.focus(),
		}[name];
		if (!act || isTyping()) return false;
		act();
		return true;
	}

	/** Shows the side to move, in the place of the result. A move that is sent and not confirmed yet counts. */
	#showTurn() {
		const { game } = this;
		const color = this.pending ? opposite(sideToMove(game.fen)) : sideToMove(game.fen);
		this.turn.hidden = Boolean(game.result);
		const yours = controlledColor(game) === color;
		this.turn.classList.toggle("yours", yours);
		const theirs = controlledColor(game) ? `${game[color].name} is to move` : `${color === "white" ? "White" : "Black"} is to move`;
		setText(this.turn, yours ? "Your turn" : theirs);
	}

	/** `You`, or the name of a side. */
	#playerName = (color) => (controlledColor(this.game) === color ? "You" : this.game[color].name);

	/** Announces a new offer or answer once. */
	#announceOffer(kind) {
		const last = lastOffer(this.game);
		const offer = JSON.stringify(last);
		const fresh = last && offer !== this.lastOffer && kind !== "snapshot";
		this.lastOffer = offer;
		if (!fresh) return;
		const own = last.from === this.game[controlledColor(this.game)]?.name;
		this.announce(`${own ? "You" : last.from} ${last.text}`, true);
	}

	/** The wheel steps through the moves; at both ends it scrolls the page. */
	#onWheel(event) {
		if (event.ctrlKey || !event.deltaY) return;
		const back = event.deltaY < 0;
		if (back ? this.#shownPly() === 0 : this.ply === null) return;
		event.preventDefault();
		// Some browsers report lines instead of pixels.
		this.wheelDelta += event.deltaMode ? Math.sign(event.deltaY) * WHEEL_STEP_PX : event.deltaY;
		if (Math.abs(this.wheelDelta) < WHEEL_STEP_PX) return;
		this.wheelDelta = 0;
		this.#stepBy(back ? -1 : 1);
	}

	/** Starts or stops the automatic replay; at the latest position it starts from the beginning. */
	#toggleAutoplay() {
		if (this.autoplay.toggle()) this.#showPly(this.ply === null ? 0 : this.ply + 1);
		else this.refresh();
	}

	/** Shows the next move of the automatic replay. */
	#autoplayStep() {
		const next = this.#shownPly() + 1;
		if (next >= this.game.moves.length) this.autoplay.stop();
		this.#showPly(next);
	}

	/** Number of moves before the shown position. */
	#shownPly = () => this.ply ?? this.game.moves.length;

	#stepBy = (by) => this.goTo(this.#shownPly() + by);

	#bottom = () => (this.flippedGames.has(this.game.id) ? opposite(bottomColor(this.game)) : bottomColor(this.game));

	async #toggleEngine() {
		const { checked } = this.showEngine;
		if ((await attempt(() => controlCall(`show-engine?shown=${checked}`))) === null) this.showEngine.checked = !checked;
	}

	/** The latest search information for the shown position, the number of moves before its position, and whether it is live. */
	#report() {
		const { game } = this;
		if (this.ply === null && game.thinking) return [game.thinking, game.moves.length, true];
		for (let i = this.#shownPly() - 1; i >= 0; i--) {
			if (game.moves[i].thought) return [game.moves[i].thought, i, false];
		}
		return [null, 0, false];
	}

	#showThinking() {
		const { game } = this;
		const [report, ply, live] = this.#report();
		this.thinking.show(game, report, ply, live);
		const value = whiteScore(report, game.ours);
		showEvaluation(this.evalBar, value, this.#bottom());
		setAttribute(this.evalBar, "aria-label", value ? `Evaluation ${value.text}` : "No evaluation");
		this.#showBoard();
	}

	#arrows() {
		if (hidesEngine(this.game) || this.step || this.pending) return [];
		const arrow = (uci, kind) => ({ from: parseUci(uci).from, to: parseUci(uci).to, kind });
		const [report, ply, live] = this.#report();
		const line = report?.pv ?? [];
		if (live) return line.slice(0, 2).map((step, i) => arrow(step.uci, i ? "reply" : "best")).reverse();
		// After a past move of ours: the expected reply. On the latest position it would look like advice.
		return this.ply !== null && ply === this.#shownPly() - 1 && line[1] ? [arrow(line[1].uci, "reply")] : [];
	}

	/** Badges of the kings for the result. */
	#badges(board) {
		const { game } = this;
		if (!game.result) return [];
		const won = winnerColor(game.result);
		const badges = won ? [[kingSquare(board, opposite(won)), "lost"]] : game.result.outcome === "drawn" ? ["white", "black"].map((color) => [kingSquare(board, color), "drawn"]) : [];
		// In some variants a side can be without a king.
		return badges.filter(([square]) => square >= 0);
	}

	#showBoard() {
		const { game, step } = this;
		if (!game) return;
		const at = this.#shownPly();
		const move = game.moves[at - 1];
		const below = this.#bottom();
		const flipped = isFlipped(game, below) || (game.variant === "racingKings" && this.flippedGames.has(game.id));
		const goal = goalSquares(game.variant);
		const fen = step?.fen ?? (this.ply === null ? game.fen : (move?.fen ?? game.start_fen));
		const label = `Board, ${move ? `after ${this.#moveLabel(at - 1)}` : "at the start"}`;
		const arrows = this.#arrows();
		if (step) {
			this.board.show({ board: boardFromFen(fen), last: moveSquares(step.uci), goal, flipped, label: "Board, expected line" });
		} else if (this.pending && this.ply === null) {
			this.board.show({ board: this.pending.board, last: moveSquares(this.pending.uci), goal, flipped, label });
		} else {
			const board = boardFromFen(fen);
			const check = this.ply === null ? game.check : move?.check;
			this.board.show({
				board, arrows, goal, flipped, label,
				explosion: game.variant === "atomic" && move ? explosionSquares(move) : [],
				last: move ? moveSquares(move.uci) : [],
				check: check ? kingSquare(board, sideToMove(fen)) : null,
				badges: this.ply === null ? this.#badges(board) : [],
			});
		}
		const words = step ? "Expected line" : this.ply === null ? "" : "Looking back";
		this.stateTag.hidden = !words;
		setText(this.stateTag, words);
		this.latest.classList.toggle("attention", this.ply !== null);
		const playing = this.autoplay.isRunning ? "Stop" : "Play the moves one after another";
		if (this.playButton.title !== playing) {
			setAttribute(this.playButton, "title", playing);
			setAttribute(this.playButton, "aria-label", playing);
			this.playButton.replaceChildren(icon(this.autoplay.isRunning ? "stop" : "play"));
		}
		setAttribute(this.playButton, "disabled", !game.moves.length);
		const sides = [opposite(below), below];
		sides.forEach((color, i) => this.players[i].show(game, color, this.board.board, fen, this.ply));
		this.pockets.hidden = game.variant !== "crazyhouse";
		const movable = this.#movablePieces();
		sides.forEach((color, i) => this.input.pockets[i].show(color, game[color].name, pocketsFromFen(fen), movable?.color === color));
		this.input.refresh();
	}

	#moveNumber = (i) => moveNumbering(this.game.start_fen)(i).number;

	#moveLabel = (i) => `${this.#moveNumber(i)}${this.game.moves[i].by === "black" ? "…" : "."} ${this.game.moves[i].san}`;

	/** The pieces that the user can move or premove; null if none. */
	#movablePieces() {
		const { game } = this;
		const color = game ? controlledColor(game) : null;
		if (!color || game.result || this.ply !== null || this.step) return null;
		const { board } = this.board;
		if (sideToMove(game.fen) === color && !this.pending) return { color, targets: legalTargets(board, game.legal) };
		return { color, targets: premoveTargets(board, pocketsFromFen(game.fen), color) };
	}

	/** Ends the preview of a move of the expected line: after a touch on it no other event may do so. */
	#endPreview() {
		if (!this.step) return;
		this.step = null;
		this.#showBoard();
	}

	#play(uci) {
		const { game } = this;
		if (sideToMove(game.fen) !== userColor(game) || this.pending) {
			const { from, to } = parseUci(uci);
			this.announce(`Premove: ${Number.isInteger(from) ? `${squareName(from)} to ${squareName(to)}` : sanAsWords(uci)}`);
			return this.#setPremove(uci);
		}
		if (this.ply !== null) this.goTo(Infinity);
		this.step = null;
		this.#setPremove(null);
		this.pending = { uci, board: afterMove(game.fen, uci) };
		this.#showTurn();
		this.#showBoard();
		this.#send(game, uci, this.pending);
	}

	async #send(game, uci, pending) {
		const done = await attempt(() => boardCall(game.id, `move/${uci}`));
		if (!done && this.pending === pending) {
			this.pending = null;
			this.#setPremove(null);
			this.#showTurn();
			this.#showBoard();
		}
	}

	#setPremove(uci) {
		this.premove = uci;
		this.input.premove = uci ? moveSquares(uci) : [];
		if (this.board.board) this.input.refresh();
	}

	/** Plays the premove if it is legal now; pawns become queens. */
	#playPremove() {
		const { game, premove } = this;
		if (!premove || this.pending || sideToMove(game.fen) !== userColor(game)) return;
		this.#setPremove(null);
		const { from, to } = parseUci(premove);
		const moves = legalTargets(boardFromFen(game.fen), game.legal).get(from)?.get(to) ?? [];
		if (moves.length) this.#play(moves.find((uci) => uci[4] === "q") ?? moves[0]);
	}

	async #copy(what) {
		const { game } = this;
		const move = game.moves[this.#shownPly() - 1];
		await attempt(async () => {
			const text = what === "PGN" ? await get(`/game/${game.id}${PGN_PATH}`) : (move?.fen ?? game.start_fen);
			// Only pages over HTTPS or of this machine may use it.
			if (!navigator.clipboard) throw new Error("This browser copies only over HTTPS or on localhost. Downloads work everywhere.");
			await navigator.clipboard.writeText(text);
			showToast(`${what} copied.`);
		});
	}
}
