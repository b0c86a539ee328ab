// A player beside the board: name, what was taken, clock.

import { el, figure, mark, say } from "./dom.js";
import { material } from "./chess.js";
import { face, left, leftAt } from "./clocks.js";

export class Seat {
	constructor() {
		this.title = el("span", { class: "title" });
		this.name = el("strong", {});
		this.rating = el("span", { class: "quiet" });
		this.news = el("span", { class: "news" });
		this.taken = el("span", { class: "taken", "aria-hidden": "true" });
		this.clock = el("span", { class: "clock", role: "timer" });
		this.node = el("div", { class: "seat" },
			el("span", { class: "who" }, this.title, this.name, this.rating, this.news), this.taken, this.clock);
	}

	/** `plies`: after how many moves the clock is wanted; null for now. */
	show(game, color, board, plies) {
		Object.assign(this, { game, color });
		const { name, title, rating, provisional } = game[color];
		say(this.title, title ?? "");
		say(this.name, name);
		say(this.rating, rating ? `${rating}${provisional ? "?" : ""}` : "");
		say(this.news, this.#news());
		mark(this.node, "aria-label", `${name}, ${color}`);
		mark(this.node, "role", "group");
		this.node.classList.toggle("moving", game.clocks.running === color && !game.result);
		// Who looks back while a game is on must not take an old clock for the one that runs.
		const past = game.result ? plies : null;
		mark(this.clock, "aria-label", `${name}'s clock`);
		face(this.clock, () => (past === null ? left(game, color) : leftAt(game, color, past)));
		this.#take(board);
	}

	#news() {
		const { game, color } = this;
		if (game.result) return "";
		if (game.draw_offer === color) return "offers a draw";
		if (game.takeback === color) return "asks for a takeback";
		// What was answered is news until the next move.
		const last = game.chat.findLast(({ room }) => room === "game");
		if (last?.ply === game.moves.length && last.from === game[color].name && last.text.startsWith("declined")) return last.text;
		return game.gone && color !== game.ours ? "has left" : "";
	}

	#take(board) {
		const { white, black, lead } = material(board);
		const taken = this.color === "white" ? white : black;
		const ahead = this.color === "white" ? lead : -lead;
		const drawn = `${taken} ${ahead}`;
		if (this.drawn === drawn) return;
		this.drawn = drawn;
		this.taken.replaceChildren(...taken.map(figure), ...(ahead > 0 ? [`+${ahead}`] : []));
	}
}
