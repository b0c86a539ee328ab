// What is said beside the board.

import { button, el, setAttribute, syncList } from "./dom.js";
import { attempt, hasKey, post } from "./api.js";
import { controlledColor, userColor } from "./store.js";

export class ChatPanel {
	/** `look(ply)` is called with how many moves were on the board when a line was said that was clicked. */
	constructor(goTo) {
		this.goTo = goTo;
		this.lines = el("ol", { class: "lines", "aria-label": "Messages" });
		this.input = el("input", { type: "text", maxlength: 140, autocomplete: "off", "aria-label": "Message", placeholder: "Say something" });
		this.form = el("form", { onsubmit: (event) => this.#send(event) }, this.input);
		this.node = el("section", { class: "chat", "aria-label": "Chat" }, el("h2", {}, "Chat"), this.lines, this.form);
	}

	show(game) {
		this.game = game;
		this.form.hidden = !(userColor(game) && hasKey());
		this.node.hidden = this.form.hidden && !game.chat.length;
		const drawn = `${game.id} ${game.chat.length} ${game.chat.at(-1)?.at}`;
		if (this.drawn === drawn) return;
		this.drawn = drawn;
		// What is new is read out, but not all that was said in another game, or before the daemon was started anew.
		// What the game itself says is read with the moves.
		const one = this.id === game.id && game.chat.length - this.count <= 1 && game.chat.at(-1)?.room !== "game";
		setAttribute(this.lines, "aria-live", one ? "polite" : "off");
		Object.assign(this, { id: game.id, count: game.chat.length });
		syncList(this.lines, game.chat, (said) => this.#line(game, said), (said) => `${game.id} ${JSON.stringify(said)}`);
		this.lines.scrollTop = this.lines.scrollHeight;
	}

	async #send(event) {
		event.preventDefault();
		const text = this.input.value.trim();
		if (!text || this.sending) return;
		this.sending = true;
		const sent = await attempt(() => post(`/play/api/board/game/${this.game.id}/chat`, { room: "player", text }));
		this.sending = false;
		// What was not sent can be sent again, and who writes on goes on.
		if (sent !== null && this.input.value.trim() === text) this.input.value = "";
	}

	#line(game, { from, text, room, ply }) {
		const who = room === "game" && from === game[controlledColor(game)]?.name ? "You" : from;
		const said = [el("b", {}, who), room === "spectator" && el("i", {}, " to those who watch"), ` ${text}`];
		const jump = () => this.goTo(ply);
		const at = ply === null ? said : [button(said, jump, { title: "Show the position in which this was said" })];
		return el("li", { class: room === "game" && "game" }, at);
	}
}
