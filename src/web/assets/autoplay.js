// Plays through a game by itself, move after move.

/** From move to move, in ms. */
const INTERVAL_MS = 1000;

export class Autoplay {
	/** `next()` shows the next move. */
	constructor(next) {
		this.next = next;
		this.timer = 0;
	}

	get isRunning() {
		return this.timer !== 0;
	}

	/** Begins or stops; tells whether it runs now. */
	toggle() {
		if (this.isRunning) this.stop();
		else this.timer = setInterval(this.next, INTERVAL_MS);
		return this.isRunning;
	}

	stop() {
		clearInterval(this.timer);
		this.timer = 0;
	}
}
