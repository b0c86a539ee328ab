// What the person before the page can do in a game: buttons, and moves that are typed.

import { button, el, mark, say, twice } from "./dom.js";
import { attempt, board, control, mayAct, post } from "./api.js";
import { other, pieces, turn, typed } from "./chess.js";
import { allows, side, store } from "./store.js";

/** Challenges the bot. The id of the challenge is that of the game. */
export async function challenge(form, bot = store.snapshot.account) {
	const answer = await post(`/play/api/challenge/${encodeURIComponent(bot.name)}`, form);
	return answer.id ?? answer.challenge.id;
}

/** The same game again, with the other color; gives the id. */
function again(game) {
	const form = { color: other(side(game)) };
	if (game.clock) {
		form["clock.limit"] = game.clock.base_ms / 1000;
		form["clock.increment"] = game.clock.increment_ms / 1000;
	}
	if (game.variant === "chess960") form.variant = "chess960";
	if (game.variant !== "standard") form.fen = game.start_fen;
	return challenge(form, game[game.ours]);
}

export class Actions {
	/** `newGame.open()` opens the form of a new one, `newGame.ask(send)` waits for what becomes of a challenge; `play(uci)` makes a
	 * move, unless `busy()` with another one. */
	constructor({ newGame, play, busy }) {
		Object.assign(this, { play, busy });
		const call = (text) => () => attempt(() => board(this.game.id, text));
		this.buttons = {
			takeback: button("Take back", call("takeback/yes")),
			draw: button("Offer draw", call("draw/yes")),
			accept: button("Accept draw", call("draw/yes"), { class: "main" }),
			decline: button("Decline", call("draw/no")),
			abort: button("Abort", call("abort")),
			resign: twice("Resign", "Really resign?", () => attempt(() => board(this.game.id, "resign"))),
			now: button("Move now", () => attempt(() => control(`move-now?game=${this.game.id}`))),
			rematch: button("Rematch", () => newGame.ask(() => again(this.game)), { class: "main" }),
			another: button("New game", () => newGame.open()),
		};
		for (const [name, node] of Object.entries(this.buttons)) node.dataset.act = name;
		this.input = el("input", {
			type: "text", id: "move", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
			"aria-label": "Your move", "aria-describedby": "move-problem", placeholder: "Type a move: Nf3, O-O, e2e4",
		});
		this.problem = el("p", { id: "move-problem", class: "problem", role: "alert" });
		this.form = el("form", { class: "typed", onsubmit: (event) => this.#typed(event) }, this.input, this.problem);
		this.node = el("section", { class: "actions", "aria-label": "Your game" }, this.form, el("div", { class: "buttons" }, Object.values(this.buttons)));
	}

	show(game) {
		// Nobody has been asked about this one.
		if (this.game?.id !== game.id) this.buttons.resign.dispatchEvent(new Event("blur"));
		// What was wrong was so in another position.
		if (this.game?.id !== game.id || this.plies !== game.moves.length) say(this.problem, "");
		this.game = game;
		this.plies = game.moves.length;
		const mine = mayAct() ? side(game) : null;
		const on = mine !== null && !game.result;
		const offered = game.draw_offer === other(mine ?? "white") && on;
		const begun = game.moves.length >= 2;
		const visible = {
			takeback: on && begun,
			draw: on && begun && !offered,
			accept: offered,
			decline: offered,
			abort: on && !begun,
			resign: on && begun,
			now: mayAct() && allows("move-now") && !game.result && turn(game.fen) === game.ours,
			rematch: mine !== null && Boolean(game.result),
			another: mine !== null && Boolean(game.result),
		};
		for (const [name, node] of Object.entries(this.buttons)) node.hidden = !visible[name];
		mark(this.buttons.draw, "disabled", game.draw_offer === mine && on);
		say(this.buttons.draw, game.draw_offer === mine && on ? "Draw offered" : "Offer draw");
		this.form.hidden = !on;
		this.node.hidden = !on && !Object.values(visible).includes(true);
	}

	focus() {
		if (!this.form.hidden) this.input.focus();
	}

	#typed(event) {
		event.preventDefault();
		const { game } = this;
		const text = this.input.value;
		say(this.problem, "");
		if (!text.trim()) return;
		if (turn(game.fen) !== side(game) || this.busy()) return say(this.problem, "It is not your turn.");
		const moves = typed(pieces(game.fen), game.legal, text);
		if (moves.length === 1) {
			this.input.value = "";
			this.play(moves[0]);
		} else {
			say(this.problem, moves.length ? `${text} can be ${moves.length} moves: say from where.` : `${text} is not a legal move here.`);
		}
	}
}
