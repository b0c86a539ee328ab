// What the person before the page can do in a game: buttons, and moves that are typed.

import { button, confirmButton, el, setAttribute, setText } from "./dom.js";
import { attempt, boardCall, controlCall, hasKey, post, showToast } from "./api.js";
import { boardFromFen, opposite, parseTypedMove, sideToMove } from "./chess.js";
import { offersControl, store, userColor } from "./store.js";

/** Challenges the bot. The id of the challenge is that of the game. */
export async function challengeBot(form, bot = store.snapshot.account) {
	const answer = await post(`/play/api/challenge/${encodeURIComponent(bot.name)}`, form);
	return answer.id ?? answer.challenge.id;
}

/** After how many plies a side may offer a draw again. */
const DRAW_OFFER_PLIES = 20;

/** The site answers calls that come to nothing as if they were done; what is not seen after this, in ms, was not. */
const OFFER_SEEN_MS = 3000;

/** What the game says of offers and answers: it changes with each. */
const offerState = (game) => JSON.stringify([game.moves.length, game.chat.findLast(({ room }) => room === "game")]);

/** The same game again, with the other color; gives the id. */
function challengeAgain(game) {
	const form = { color: opposite(userColor(game)) };
	if (game.clock) {
		form["clock.limit"] = game.clock.base_ms / 1000;
		form["clock.increment"] = game.clock.increment_ms / 1000;
	}
	if (game.variant === "chess960") form.variant = "chess960";
	if (game.variant !== "standard") form.fen = game.start_fen;
	return challengeBot(form, game[game.ours]);
}

export class GameActions {
	/** `newGame.open()` opens the form of a new one, `newGame.send(send)` waits for what becomes of a challenge; `play(uci)` makes a
	 * move, unless `busy()` with another one. */
	constructor({ newGame, play, busy }) {
		Object.assign(this, { play, busy });
		const call = (text) => () => attempt(() => boardCall(this.game.id, text));
		/** Games in which we give nothing back. */
		this.takebackRefused = new Set();
		this.buttons = {
			takeback: button("Take back", () => this.#offer("takeback/yes", (game) => {
				this.takebackRefused.add(game.id);
				return `${game[game.ours].name} takes nothing back in this game.`;
			})),
			draw: button("Offer draw", () => this.#offer("draw/yes", () => "A draw cannot be offered now.")),
			accept: button("Accept draw", call("draw/yes"), { class: "main" }),
			decline: button("Decline", call("draw/no")),
			abort: button("Abort", call("abort")),
			resign: confirmButton("Resign", "Really resign?", () => attempt(() => boardCall(this.game.id, "resign"))),
			now: button("Move now", () => attempt(() => controlCall(`move-now?game=${this.game.id}`))),
			rematch: button("Rematch", () => newGame.send(() => challengeAgain(this.game)), { class: "main" }),
			another: button("New game", () => newGame.open()),
		};
		for (const [name, node] of Object.entries(this.buttons)) node.dataset.act = name;
		this.input = el("input", {
			type: "text", id: "move", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
			"aria-label": "Your move", "aria-describedby": "move-problem", placeholder: "Type a move: Nf3, O-O, e2e4",
		});
		this.problem = el("p", { id: "move-problem", class: "problem", role: "alert" });
		this.form = el("form", { class: "typed", onsubmit: (event) => this.#onTyped(event) }, this.input, this.problem);
		this.node = el("section", { class: "actions", "aria-label": "Your game" }, this.form, el("div", { class: "buttons" }, Object.values(this.buttons)));
	}

	show(game) {
		// Nobody has been asked about this one.
		if (this.game?.id !== game.id) this.buttons.resign.dispatchEvent(new Event("blur"));
		// What was wrong was so in another position.
		if (this.game?.id !== game.id || this.plies !== game.moves.length) setText(this.problem, "");
		this.game = game;
		this.plies = game.moves.length;
		const mine = hasKey() ? userColor(game) : null;
		const on = mine !== null && !game.result;
		const offered = game.draw_offer === opposite(mine ?? "white") && on;
		const begun = game.moves.length >= 2;
		const visible = {
			takeback: on && begun && game.takebacks_allowed && !this.takebackRefused.has(game.id),
			draw: on && begun && !offered,
			accept: offered,
			decline: offered,
			abort: on && !begun,
			resign: on && begun,
			now: hasKey() && offersControl("move-now") && !game.result,
			rematch: mine !== null && Boolean(game.result),
			another: mine !== null && Boolean(game.result),
		};
		for (const [name, node] of Object.entries(this.buttons)) node.hidden = !visible[name];
		const { draw, takeback, now } = this.buttons;
		const offers = on && game.draw_offer === mine;
		const last = on ? game.last_draw_offer[mine] : null;
		const early = last !== null && game.moves.length - last <= DRAW_OFFER_PLIES;
		setAttribute(draw, "disabled", offers || early);
		setAttribute(draw, "title", early && !offers ? "A draw can be offered again after ten more moves of each side" : null);
		setText(draw, offers ? "Draw offered" : "Offer draw");
		const asks = on && game.takeback === mine;
		setAttribute(takeback, "disabled", asks);
		setText(takeback, asks ? "Takeback asked" : "Take back");
		// It keeps its place while there is nothing to hurry.
		setAttribute(now, "disabled", sideToMove(game.fen) !== game.ours);
		this.form.hidden = !on;
		this.node.hidden = !on && !Object.values(visible).includes(true);
	}

	/** Offers something or asks for it. When nobody has seen it, `why(game)` is told. */
	async #offer(call, why) {
		const { id } = this.game;
		const before = offerState(this.game);
		if ((await attempt(() => boardCall(id, call))) === null) return;
		setTimeout(() => {
			const game = store.games.get(id);
			if (!game || game.result || offerState(game) !== before) return;
			showToast(why(game));
			if (this.game.id === id) this.show(game);
		}, OFFER_SEEN_MS);
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
			setText(this.problem, moves.length ? `${text} can be ${moves.length} moves: say from where.` : `${text} is not a legal move here.`);
		}
	}
}
