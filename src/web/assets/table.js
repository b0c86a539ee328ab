// One game, watched or played: board, players, moves, curve, engine, chat.

import { button, el, icon, mark, say, typing } from "./dom.js";
import { attempt, board, control, mayAct, tell } from "./api.js";
import { Actions } from "./play.js";
import { Board } from "./board.js";
import { Autoplay } from "./autoplay.js";
import { bottom } from "./cards.js";
import { Chat } from "./chat.js";
import { after, dreams, kingOf, nameOf, numbering, other, parse, pieces, spoken, targets, touched, turn } from "./chess.js";
import { Graph } from "./graph.js";
import { Hand } from "./hand.js";
import { entry, menu } from "./menu.js";
import { Moves } from "./moves.js";
import { pgn } from "./pgn.js";
import { Seat } from "./seat.js";
import { me, side, store } from "./store.js";
import { Thinking } from "./thinking.js";
import { kind, outcome, points, score, verdict, winner } from "./words.js";

/** The wheel goes on by a move for each so many pixels. */
const WHEEL = 50;

/** The latest of what the game says of offers and their answers. */
const lastOffer = (game) => game.chat.findLast(({ room }) => room === "game");

export class Table {
	/** `newGame` is the form of a new game, `read(text, more)` reads something out, with `more` besides what is read just now. */
	constructor({ newGame, read }) {
		this.read = read;
		this.flips = new Set();
		this.board = new Board({ squares: true, coordinates: true });
		this.hand = new Hand(this.board, {
			grip: () => this.#grip(),
			play: (uci) => this.#play(uci),
			drop: () => this.#setAhead(null),
		});
		const look = (ply) => this.look(ply);
		this.moves = new Moves(look);
		this.graph = new Graph(look);
		this.thinking = new Thinking((step) => {
			this.step = step;
			this.#showBoard();
		});
		this.actions = new Actions({ newGame, play: (uci) => this.#play(uci), busy: () => this.pending });
		this.chat = new Chat(look);
		this.auto = new Autoplay(() => this.#goOn());
		this.seats = [new Seat(), new Seat()];
		this.#build();
	}

	#build() {
		const tool = (name, label, act) => button(icon(name), act, { class: "tool", "aria-label": label, title: label });
		const [top, bottom] = this.seats;
		this.share = el("div", { class: "share" });
		this.bar = el("div", { class: "evalbar", role: "img" }, this.share);
		this.tag = el("p", { class: "tag", hidden: true });
		const save = (text, what) => entry("save", text, "", { "data-share": what, download: true });
		this.saved = { game: save("Download game (PGN)", "game"), picture: save("Download picture of the board", "picture"),
			film: save("Download animation", "film"), curve: save("Download graph", "curve") };
		this.saved.game.addEventListener("click", () => this.#save());
		this.sharing = button([icon("share"), "Share"], null, { class: "tool text" });
		const copy = (what, text) => entry("copy", text, () => this.#copy(what), { "data-share": what });
		this.menu = menu(this.sharing, "Share", [copy("FEN", "Copy position (FEN)"), copy("PGN", "Copy game (PGN)"), ...Object.values(this.saved)]);
		this.live = tool("live", "To the latest move (End)", () => this.look(Infinity));
		this.play = button(icon("play"), () => this.#toggleAuto(), { class: "tool" });
		this.tools = el("div", { class: "tools", role: "toolbar", "aria-label": "Look through the game" },
			tool("first", "To the start (Home)", () => this.look(0)),
			tool("back", "One move back (←)", () => this.#walk(-1)),
			tool("on", "One move on (→)", () => this.#walk(1)),
			this.live,
			this.play,
			el("span", { class: "space" }),
			this.tag,
			tool("flip", "Turn the board (F)", () => this.flip()),
			this.sharing, this.menu);
		this.stage = el("div", { class: "stage" }, top.node,
			el("div", { class: "boardrow" }, this.bar, el("div", { class: "frame" }, this.board.node, this.hand.menu)),
			bottom.node, this.tools);
		this.heading = el("h1", {});
		this.points = el("b", {});
		this.verdict = el("span", {});
		this.result = el("p", { class: "result", hidden: true }, this.points, " ", this.verdict);
		this.turn = el("p", { class: "turn", hidden: true });
		this.link = el("a", { class: "quiet", rel: "noreferrer", target: "_blank" });
		this.numbers = el("input", { type: "checkbox", onchange: () => this.#turnNumbers() });
		this.numbersLabel = el("label", { class: "switch" }, this.numbers, "Show what the engine thinks");
		this.panel = el("aside", { class: "panel", "aria-label": "The game" },
			el("header", {}, this.heading, this.link, this.result, this.turn),
			this.moves.node, this.graph.node, this.thinking.node, this.numbersLabel, this.actions.node, this.chat.node);
		this.node = el("div", { class: "table", hidden: true }, this.stage, this.panel);
		this.wheel = 0;
		this.board.node.addEventListener("wheel", (event) => this.#roll(event), { passive: false });
	}

	/** Puts another game on the table. */
	open(game) {
		if (this.game?.id !== game.id) {
			this.ply = null;
			this.step = null;
			this.pending = null;
			this.#setAhead(null);
			this.auto.stop();
			this.board.stop(kingOf(pieces(game.fen), bottom(game)));
		}
		this.game = game;
		this.plies = game.moves.length;
		this.offer = JSON.stringify(lastOffer(game));
		this.node.hidden = false;
		this.refresh();
	}

	/** Something has happened in the game; `kind` as the stream names it. */
	heard(kind, game) {
		this.game = game;
		const before = this.plies;
		this.plies = game.moves.length;
		this.#readOffer(kind);
		// A draw offer, say, leaves alone what is on its way and what was chosen in advance.
		const another = kind === "moved" || this.plies !== before || game.result;
		if (another) this.pending = null;
		const last = game.moves.at(-1);
		if (kind === "moved") {
			// Who only looks on is not talked to all the time.
			if (side(game)) this.read(`${this.#name(last.by)}: ${spoken(last.san)}`, true);
			if (this.ply === null) this.step = null;
		} else if (kind === "snapshot") {
			if (this.plies < before || game.result) this.#setAhead(null);
		} else if (kind === "game") {
			if (another) this.#setAhead(null);
			if (game.result) this.read(`The game is over: ${verdict(game, me(game))}`, true);
		}
		if (kind === "thinking") this.#showThinking();
		else this.refresh();
		// The move that was waited for may have been made while nobody was told.
		if (kind === "moved" || kind === "snapshot") this.#playAhead();
	}

	refresh() {
		const { game } = this;
		if (this.ply !== null && this.ply >= game.moves.length) this.ply = null;
		say(this.heading, kind(game));
		say(this.link, game.tournament ? `tournament ${game.tournament}` : game.id);
		mark(this.link, "href", game.url);
		const { picture, film, curve } = this.saved;
		const link = (node, path, name) => {
			mark(node, "href", `/game/${game.id}${path}`);
			mark(node, "download", `${game.id}${name}.svg`);
		};
		link(picture, `.svg?ply=${this.#at()}`, `-${this.#at()}`);
		link(film, "/animated.svg", "-animated");
		link(curve, "/graph.svg", "-graph");
		// The simulator has no page of the game.
		this.link.hidden = Boolean(store.snapshot.play);
		this.result.hidden = !game.result;
		if (game.result) {
			say(this.points, points(game.result));
			say(this.verdict, verdict(game, me(game)));
			this.result.className = `result ${outcome(game, me(game) ?? game.ours)}`;
		}
		this.#showTurn();
		const off = this.#hidesNumbers();
		this.numbersLabel.hidden = !this.#plays();
		this.numbers.checked = store.snapshot.play?.numbers;
		this.node.classList.toggle("blind", off);
		this.node.classList.toggle("mine", mayAct() && side(game) !== null);
		curve.hidden = off;
		this.moves.show(game, this.#at(), off);
		this.graph.show(game, this.#at());
		this.actions.show(game);
		this.chat.show(game);
		this.#showThinking();
	}

	/** Shows the game after so many moves, as somebody wants it. */
	look(ply) {
		this.auto.stop();
		this.#turnTo(ply);
	}

	#turnTo(ply) {
		this.ply = ply >= this.game.moves.length ? null : Math.max(0, ply);
		this.step = null;
		this.refresh();
		const move = this.game.moves[this.#at() - 1];
		this.read(move ? `Move ${this.#number(this.#at() - 1)}, ${move.by}: ${spoken(move.san)}` : "The start");
	}

	flip() {
		const { id } = this.game;
		if (!this.flips.delete(id)) this.flips.add(id);
		this.hand.close();
		this.refresh();
	}

	/** A key pressed anywhere but in a field. Tells whether it meant something. */
	key(name) {
		const act = {
			ArrowLeft: () => this.#walk(-1),
			ArrowRight: () => this.#walk(1),
			Home: () => this.look(0),
			End: () => this.look(Infinity),
			l: () => this.look(Infinity),
			f: () => this.flip(),
			"/": () => this.actions.focus(),
		}[name];
		if (!act || typing()) return false;
		act();
		return true;
	}

	/** Who is to move, where the result will stand. */
	#showTurn() {
		const { game } = this;
		const color = turn(game.fen);
		this.turn.hidden = Boolean(game.result);
		const yours = me(game) === color;
		this.turn.classList.toggle("yours", yours);
		const theirs = me(game) ? `${game[color].name} is to move` : `${color === "white" ? "White" : "Black"} is to move`;
		say(this.turn, yours ? "Your turn" : theirs);
	}

	/** `You`, or the name of a side. */
	#name = (color) => (me(this.game) === color ? "You" : this.game[color].name);

	/** An offer or an answer to one is read out once; what was before somebody looked is not. */
	#readOffer(kind) {
		const last = lastOffer(this.game);
		const offer = JSON.stringify(last);
		const fresh = last && offer !== this.offer && kind !== "snapshot";
		this.offer = offer;
		if (!fresh) return;
		const own = last.from === this.game[me(this.game)]?.name;
		this.read(`${own ? "You" : last.from} ${last.text}`, true);
	}

	/** The wheel goes through the moves; where there is none further on, it moves the page. */
	#roll(event) {
		if (event.ctrlKey || !event.deltaY) return;
		const back = event.deltaY < 0;
		if (back ? this.#at() === 0 : this.ply === null) return;
		event.preventDefault();
		// Some count in lines, not in pixels.
		this.wheel += event.deltaMode ? Math.sign(event.deltaY) * WHEEL : event.deltaY;
		if (Math.abs(this.wheel) < WHEEL) return;
		this.wheel = 0;
		this.#walk(back ? -1 : 1);
	}

	/** Plays the game by itself, from the start if the end is on the board. */
	#toggleAuto() {
		if (this.auto.toggle()) this.#turnTo(this.ply === null ? 0 : this.ply + 1);
		else this.refresh();
	}

	/** The next move of a game that plays by itself, up to the last one. */
	#goOn() {
		const next = this.#at() + 1;
		if (next >= this.game.moves.length) this.auto.stop();
		this.#turnTo(next);
	}

	/** How many moves are on the board that is shown. */
	#at = () => this.ply ?? this.game.moves.length;

	#walk = (by) => this.look(this.#at() + by);

	#below = () => (this.flips.has(this.game.id) ? other(bottom(this.game)) : bottom(this.game));

	/** Who plays against the engine does not see its cards unless he wants to. */
	#hidesNumbers = () => this.#plays() && !store.snapshot.play.numbers;

	/** Whether the person before this page plays the game that is on. */
	#plays = () => mayAct() && side(this.game) !== null && !this.game.result;

	async #turnNumbers() {
		const { checked } = this.numbers;
		if ((await attempt(() => control(`numbers?shown=${checked}`))) === null) this.numbers.checked = !checked;
	}

	/** The engine's latest word on what is shown, and how many moves were made when it spoke. */
	#report() {
		const { game } = this;
		if (this.ply === null && game.thinking) return [game.thinking, game.moves.length, true];
		for (let i = this.#at() - 1; i >= 0; i--) {
			if (game.moves[i].thought) return [game.moves[i].thought, i, false];
		}
		return [null, 0, false];
	}

	#showThinking() {
		const { game } = this;
		const [report, ply, live] = this.#report();
		this.thinking.show(game, report, ply, live);
		const value = score(report, game.ours);
		const below = this.#below();
		const win = value?.win ?? 0.5;
		this.share.style.height = `${100 * (below === "white" ? win : 1 - win)}%`;
		this.share.className = `share ${below}`;
		this.bar.classList.toggle("unknown", !value);
		mark(this.bar, "aria-label", value ? `Evaluation ${value.text}` : "No evaluation");
		this.#showBoard();
	}

	#arrows() {
		if (this.#hidesNumbers() || this.step || this.pending) return [];
		const arrow = (uci, kind) => ({ from: parse(uci).from, to: parse(uci).to, kind });
		const [report, ply, live] = this.#report();
		const line = report?.pv ?? [];
		if (live) return line.slice(0, 2).map((step, i) => arrow(step.uci, i ? "reply" : "best")).reverse();
		// Where one looks back after a move of ours, the answer that was expected. On the board that is played on, it would look like
		// advice.
		return this.ply !== null && ply === this.#at() - 1 && line[1] ? [arrow(line[1].uci, "reply")] : [];
	}

	/** The kings at the end of a game, as the result has it. */
	#badges(board) {
		const { game } = this;
		if (!game.result) return [];
		const won = winner(game.result);
		if (won) return [[kingOf(board, other(won)), "lost"]];
		return game.result.outcome === "drawn" ? ["white", "black"].map((color) => [kingOf(board, color), "drawn"]) : [];
	}

	#showBoard() {
		const { game, step } = this;
		if (!game) return;
		const at = this.#at();
		const move = game.moves[at - 1];
		const below = this.#below();
		const flipped = below === "black";
		const label = `Board, ${move ? `after ${this.#numbered(at - 1)}` : "at the start"}`;
		const arrows = this.#arrows();
		if (step) {
			this.board.show({ board: pieces(step.fen), last: touched(step.uci), flipped, label: "Board, expected line" });
		} else if (this.pending && this.ply === null) {
			this.board.show({ board: this.pending.board, last: touched(this.pending.uci), flipped, label });
		} else {
			const fen = this.ply === null ? game.fen : (move?.fen ?? game.start_fen);
			const board = pieces(fen);
			const check = this.ply === null ? game.check : move?.check;
			this.board.show({
				board, arrows, flipped, label,
				last: move ? touched(move.uci) : [],
				check: check ? kingOf(board, turn(fen)) : null,
				badges: this.ply === null ? this.#badges(board) : [],
			});
		}
		const words = step ? "Expected line" : this.ply === null ? "" : "Looking back";
		this.tag.hidden = !words;
		say(this.tag, words);
		this.live.classList.toggle("calls", this.ply !== null);
		const playing = this.auto.runs ? "Stop" : "Play the moves one after another";
		if (this.play.title !== playing) {
			mark(this.play, "title", playing);
			mark(this.play, "aria-label", playing);
			this.play.replaceChildren(icon(this.auto.runs ? "stop" : "play"));
		}
		mark(this.play, "disabled", !game.moves.length);
		[other(below), below].forEach((color, i) => this.seats[i].show(game, color, this.board.board, this.ply));
		this.hand.refresh();
	}

	#number = (i) => numbering(this.game.start_fen)(i).number;

	#numbered = (i) => `${this.#number(i)}${this.game.moves[i].by === "black" ? "…" : "."} ${this.game.moves[i].san}`;

	/** What the person may do at the board: move, or choose a move in advance. */
	#grip() {
		const { game } = this;
		const color = game && mayAct() ? side(game) : null;
		if (!color || game.result || this.ply !== null || this.step) return null;
		const { board } = this.board;
		if (turn(game.fen) === color && !this.pending) return { color, targets: targets(board, game.legal) };
		return { color, targets: dreams(board, color) };
	}

	#play(uci) {
		const { game } = this;
		if (turn(game.fen) !== side(game) || this.pending) {
			const { from, to } = parse(uci);
			this.read(`In advance: ${nameOf(from)} to ${nameOf(to)}`);
			return this.#setAhead(uci);
		}
		if (this.ply !== null) this.look(Infinity);
		this.step = null;
		// What was chosen before was meant for another position.
		this.#setAhead(null);
		this.pending = { uci, board: after(pieces(game.fen), uci) };
		this.#showBoard();
		this.#send(game, uci, this.pending);
	}

	async #send(game, uci, pending) {
		const done = await attempt(() => board(game.id, `move/${uci}`));
		if (!done && this.pending === pending) {
			this.pending = null;
			this.#setAhead(null);
			this.#showBoard();
		}
	}

	#setAhead(uci) {
		this.ahead = uci;
		this.hand.ahead = uci ? touched(uci) : [];
		if (this.board.board) this.hand.refresh();
	}

	/** Plays what was chosen in advance if it is legal now; pawns become queens. */
	#playAhead() {
		const { game, ahead } = this;
		if (!ahead || this.pending || turn(game.fen) !== side(game)) return;
		this.#setAhead(null);
		const { from, to } = parse(ahead);
		const moves = targets(pieces(game.fen), game.legal).get(from)?.get(to) ?? [];
		if (moves.length) this.#play(moves.find((uci) => uci[4] === "q") ?? moves[0]);
	}

	/** The link that was clicked gets the game as it is now. */
	#save() {
		const { game } = this.saved;
		URL.revokeObjectURL(game.href);
		game.href = URL.createObjectURL(new Blob([pgn(this.game)], { type: "application/x-chess-pgn" }));
		game.download = `${this.game.id}.pgn`;
	}

	async #copy(what) {
		const { game } = this;
		const move = game.moves[this.#at() - 1];
		const text = what === "PGN" ? pgn(game) : (move?.fen ?? game.start_fen);
		if ((await attempt(() => navigator.clipboard.writeText(text).then(() => true))) !== null) tell(`${what} copied.`);
	}
}
