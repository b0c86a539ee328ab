// Chat of a game.

import { button, el, setAttribute, syncList } from "./dom.js";
import { attempt, post } from "./api.js";
import { controlledColor } from "./store.js";

export class ChatPanel {
	/** `goTo(ply)` is called when a line is clicked, with the number of moves on the board at that time. */
	constructor(goTo) {
		this.goTo = goTo;
		this.lines = el("ol", { class: "lines", "aria-label": "Messages" });
		this.input = el("input", { type: "text", maxlength: 140, autocomplete: "off", "aria-label": "Message", placeholder: "Say something" });
		this.form = el("form", { onsubmit: (event) => this.#send(event) }, this.input);
		this.node = el("section", { class: "chat", "aria-label": "Chat" }, el("h2", {}, "Chat"), this.lines, this.form);
	}

	show(game) {
		this.game = game;
		this.form.hidden = !controlledColor(game);
		this.node.hidden = this.form.hidden && !game.chat.length;
		const drawn = `${game.id} ${game.chat.length} ${game.chat.at(-1)?.at}`;
		if (this.drawn === drawn) return;
		this.drawn = drawn;
		// A new line is announced, but not the chat of another game or after a restart of the daemon. Offers are announced with the
		// moves.
		const announced = this.id === game.id && game.chat.length - this.count <= 1 && game.chat.at(-1)?.room !== "game";
		setAttribute(this.lines, "aria-live", announced ? "polite" : "off");
		Object.assign(this, { id: game.id, count: game.chat.length });
		syncList(this.lines, game.chat, (line) => this.#line(game, line), (line) => `${game.id} ${JSON.stringify(line)}`);
		this.lines.scrollTop = this.lines.scrollHeight;
	}

	async #send(event) {
		event.preventDefault();
		const text = this.input.value.trim();
		if (!text || this.sending) return;
		this.sending = true;
		const sent = await attempt(() => post(`/play/api/board/game/${this.game.id}/chat`, { room: "player", text }));
		this.sending = false;
		// The text stays if sending has failed or the user has edited it.
		if (sent !== null && this.input.value.trim() === text) this.input.value = "";
	}

	#line(game, { from, text, room, ply }) {
		const author = room === "game" && from === game[controlledColor(game)]?.name ? "You" : from;
		const content = [el("b", {}, author), room === "spectator" && el("i", {}, " to spectators"), ` ${text}`];
		const jump = () => this.goTo(ply);
		const line = ply === null ? content : [button(content, jump, { title: "Show the position of this message" })];
		return el("li", { class: room === "game" && "game" }, line);
	}
}
