// Panel of a player: name, captured pieces, clock.

import { el, pieceIcon, setAttribute, setText } from "./dom.js";
import { checksFromFen, material } from "./chess.js";
import { showClock, timeLeft, timeLeftAt } from "./clocks.js";

export class PlayerPanel {
	constructor() {
		this.title = el("span", { class: "title" });
		this.name = el("strong", {});
		this.rating = el("span", { class: "quiet" });
		this.note = el("span", { class: "note" });
		this.checks = el("span", { class: "checks" });
		this.captured = el("span", { class: "captured", "aria-hidden": "true" });
		this.clock = el("span", { class: "clock", role: "timer" });
		this.node = el("div", { class: "player" },
			el("span", { class: "who" }, this.title, this.name, this.rating, this.note), this.checks, this.captured, this.clock);
	}

	/** `plies` is the number of moves for which the clock is shown; null for the current clock. `fen` is the shown position. */
	show(game, color, board, fen, plies) {
		Object.assign(this, { game, color });
		const { name, title, rating, provisional } = game[color];
		setText(this.title, title ?? "");
		setText(this.name, name);
		setText(this.rating, rating ? `${rating}${provisional ? "?" : ""}` : "");
		setText(this.note, this.#noteText());
		const checks = checksFromFen(fen);
		setText(this.checks, checks ? `${checks[color]} of 3 checks` : "");
		setAttribute(this.node, "aria-label", `${name}, ${color}`);
		setAttribute(this.node, "role", "group");
		this.node.classList.toggle("moving", game.clocks.running === color && !game.result);
		// In a running game the current clock is always shown.
		const past = game.result ? plies : null;
		setAttribute(this.clock, "aria-label", `${name}'s clock`);
		showClock(this.clock, () => (past === null ? timeLeft(game, color) : timeLeftAt(game, color, past)));
		this.#showCaptured(board);
	}

	#noteText() {
		const { game, color } = this;
		if (game.result) return "";
		if (game.draw_offer === color) return "offers a draw";
		if (game.takeback === color) return "asks for a takeback";
		// An answer is shown until the next move.
		const last = game.chat.findLast(({ room }) => room === "game");
		if (last?.ply === game.moves.length && last.from === game[color].name && last.text.startsWith("declined")) return last.text;
		return game.opponent_gone && color !== game.ours ? "has left" : "";
	}

	#showCaptured(board) {
		// In crazyhouse captured pieces are in hand, and a horde is never even.
		const counts = !["crazyhouse", "horde"].includes(this.game.variant);
		const { white, black, lead } = material(counts ? board : []);
		const taken = this.color === "white" ? white : black;
		const ahead = this.color === "white" ? lead : -lead;
		const drawn = `${taken} ${ahead}`;
		if (this.drawn === drawn) return;
		this.drawn = drawn;
		this.captured.replaceChildren(...taken.map(pieceIcon), ...(ahead > 0 ? [`+${ahead}`] : []));
	}
}
