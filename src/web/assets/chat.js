// What is said beside the board.

import { el } from "./dom.js";
import { attempt, mayAct, post } from "./api.js";
import { side } from "./store.js";

export class Chat {
	constructor() {
		this.lines = el("ol", { class: "lines", "aria-label": "Messages" });
		this.input = el("input", { type: "text", maxlength: 140, autocomplete: "off", "aria-label": "Message", placeholder: "Say something" });
		this.form = el("form", { onsubmit: (event) => this.#send(event) }, this.input);
		this.node = el("section", { class: "chat", "aria-label": "Chat" }, el("h2", {}, "Chat"), this.lines, this.form);
	}

	show(game) {
		this.game = game;
		this.form.hidden = !(side(game) && mayAct());
		this.node.hidden = this.form.hidden && !game.chat.length;
		const drawn = `${game.id} ${game.chat.length} ${game.chat.at(-1)?.at}`;
		if (this.drawn === drawn) return;
		this.drawn = drawn;
		this.lines.replaceChildren(
			...game.chat.map(({ from, text, room }) =>
				el("li", {}, el("b", {}, from), room === "spectator" && el("i", {}, " to those who watch"), ` ${text}`),
			),
		);
		this.lines.scrollTop = this.lines.scrollHeight;
	}

	#send(event) {
		event.preventDefault();
		const text = this.input.value.trim();
		if (!text) return;
		this.input.value = "";
		attempt(() => post(`/play/api/board/game/${this.game.id}/chat`, { room: "player", text }));
	}
}
