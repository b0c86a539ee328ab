// Actions of the user in a game: buttons and typed moves.

import { button, confirmButton, el, setAttribute, setText } from "./dom.js";
import { attempt, boardCall, controlCall, hasKey, post, showToast } from "./api.js";
import { boardFromFen, opposite, parseTypedMove, sideToMove } from "./chess.js";
import { controlledColor, offersControl, store, userColor } from "./store.js";

/** Challenges the bot. Returns the id of the challenge, which is the id of the game. */
export async function challengeBot(form, bot = store.snapshot.account) {
	const response = await post(`/play/api/challenge/${encodeURIComponent(bot.name)}`, form);
	return response.id ?? response.challenge.id;
}

/** Number of plies after which a side may offer a draw again. */
const DRAW_OFFER_PLIES = 20;

/** The site answers ignored offers with success; an offer that has no effect within this time was ignored, in ms. */
const OFFER_TIMEOUT_MS = 3000;

/** A text that changes with each move, offer and answer. */
const offerState = (game) => JSON.stringify([game.moves.length, game.chat.findLast(({ room }) => room === "game")]);

/** Challenges the bot to the same game with the other color. Returns the id. */
function offerRematch(game) {
	const form = { color: opposite(userColor(game)) };
	if (game.clock) {
		form["clock.limit"] = game.clock.base_ms / 1000;
		form["clock.increment"] = game.clock.increment_ms / 1000;
	}
	form.variant = game.variant;
	if (["chess960", "fromPosition"].includes(game.variant)) form.fen = game.start_fen;
	return challengeBot(form, game[game.ours]);
}

export class GameActions {
	/** `newGame` is the dialog of a new game; `play(uci)` makes a move, unless `busy()` with another one. */
	constructor({ newGame, play, busy }) {
		Object.assign(this, { play, busy });
		const call = (text) => () => attempt(() => boardCall(this.game.id, text));
		/** Ids of the games in which the bot has ignored a takeback request. */
		this.takebackRefused = new Set();
		this.buttons = {
			takeback: button("Take back", () => this.#offer("takeback/yes", (game) => {
				this.takebackRefused.add(game.id);
				return `${game[game.ours].name} accepts no takebacks in this game.`;
			})),
			draw: button("Offer draw", () => this.#offer("draw/yes", () => "A draw cannot be offered now.")),
			accept: button("Accept draw", call("draw/yes"), { class: "main" }),
			decline: button("Decline", call("draw/no")),
			abort: button("Abort", call("abort")),
			resign: confirmButton("Resign", "Really resign?", () => attempt(() => boardCall(this.game.id, "resign"))),
			now: button("Move now", () => attempt(() => controlCall(`move-now?game=${this.game.id}`))),
			rematch: button("Rematch", () => newGame.send(() => offerRematch(this.game)), { class: "main" }),
			another: button("New game", () => newGame.open()),
		};
		for (const [name, node] of Object.entries(this.buttons)) node.dataset.act = name;
		this.input = el("input", {
			type: "text", id: "move", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
			"aria-label": "Your move", "aria-describedby": "move-problem",
		});
		this.problem = el("p", { id: "move-problem", class: "problem", role: "alert" });
		this.form = el("form", { class: "typed", onsubmit: (event) => this.#onTyped(event) }, this.input, this.problem);
		this.node = el("section", { class: "actions", "aria-label": "Your game" }, this.form, el("div", { class: "buttons" }, Object.values(this.buttons)));
	}

	show(game) {
		// The confirmation and a typed move belong to an earlier game.
		if (this.game?.id !== game.id) {
			this.buttons.resign.dispatchEvent(new Event("disarm"));
			this.input.value = "";
		}
		// The error belongs to an earlier position.
		if (this.game?.id !== game.id || this.plies !== game.moves.length) setText(this.problem, "");
		this.game = game;
		this.plies = game.moves.length;
		const color = controlledColor(game);
		const playing = color !== null && !game.result;
		const offered = game.draw_offer === opposite(color ?? "white") && playing;
		const begun = game.moves.length >= 2;
		const visible = {
			takeback: playing && begun && game.takebacks_allowed && !this.takebackRefused.has(game.id),
			draw: playing && begun && !offered,
			accept: offered,
			decline: offered,
			abort: playing && !begun,
			resign: playing && begun,
			now: hasKey() && offersControl("move-now") && !game.result,
			rematch: color !== null && Boolean(game.result),
			another: color !== null && Boolean(game.result),
		};
		for (const [name, node] of Object.entries(this.buttons)) node.hidden = !visible[name];
		const { draw, takeback, now } = this.buttons;
		const offers = playing && game.draw_offer === color;
		const last = playing ? game.last_draw_offer[color] : null;
		const early = last !== null && game.moves.length - last <= DRAW_OFFER_PLIES;
		setAttribute(draw, "disabled", offers || early);
		setAttribute(draw, "title", early && !offers ? "A draw can be offered again after ten more moves of each side" : null);
		setText(draw, offers ? "Draw offered" : "Offer draw");
		const requested = playing && game.takeback === color;
		setAttribute(takeback, "disabled", requested);
		setText(takeback, requested ? "Takeback requested" : "Take back");
		// Disabled instead of hidden, so that the other buttons do not move.
		setAttribute(now, "disabled", sideToMove(game.fen) !== game.ours);
		const castles = !["antichess", "racingKings"].includes(game.variant);
		const examples = ["Nf3", castles ? "O-O" : "Ke3", game.variant === "crazyhouse" ? "N@f3" : "e2e4"];
		setAttribute(this.input, "placeholder", `Type a move: ${examples.join(", ")}`);
		this.form.hidden = !playing;
		this.node.hidden = !playing && !Object.values(visible).includes(true);
	}

	/** Sends an offer or a request. Shows `ignoredText(game)` if it has no effect. */
	async #offer(call, ignoredText) {
		const { id } = this.game;
		const before = offerState(this.game);
		if ((await attempt(() => boardCall(id, call))) === null) return;
		setTimeout(() => {
			const game = store.games.get(id);
			if (!game || game.result || offerState(game) !== before) return;
			showToast(ignoredText(game));
			if (this.game.id === id) this.show(game);
		}, OFFER_TIMEOUT_MS);
	}

	focus() {
		if (!this.form.hidden) this.input.focus();
	}

	#onTyped(event) {
		event.preventDefault();
		const { game } = this;
		const text = this.input.value;
		setText(this.problem, "");
		if (!text.trim()) return;
		if (sideToMove(game.fen) !== userColor(game) || this.busy()) return setText(this.problem, "It is not your turn.");
		const moves = parseTypedMove(boardFromFen(game.fen), game.legal, text);
		if (moves.length === 1) {
			this.input.value = "";
			this.play(moves[0]);
		} else {
			setText(this.problem, moves.length ? `${text} is ambiguous: ${moves.length} moves match. Add the square that the piece is on.` : `${text} is not a legal move here.`);
		}
	}
}
