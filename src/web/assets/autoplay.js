// Automatic replay of a game.

/** Time between two moves, in ms. */
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

	/** Starts or stops. Returns whether it is running now. */
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
