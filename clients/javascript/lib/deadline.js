// The end of one call: it covers the connecting, the login and the reply.
import { Lost } from "./exchange.js";

/** The longest time of Node's timers: those of a longer one are due at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

export class Deadline {
  #timer;
  #passed;
  #reject;

  /** @param keepsAlive whether the program is to run until it passes or is cleared */
  constructor(ms, keepsAlive = true) {
    this.#passed = new Promise((_, reject) => {
      this.#reject = reject;
      const pass = () => reject(new Lost("timeout", "no reply in time"));
      // What has arrived while the program was busy is read first.
      this.#timer = setTimeout(() => setImmediate(pass), Math.min(ms, TIMER_MS_MAX));
    });
    this.#passed.catch(() => {});
    if (!keepsAlive) this.#timer.unref();
  }

  /** The value of the promise; rejects with Lost if the deadline passes before. */
  race(promise) {
    return Promise.race([promise, this.#passed]);
  }

  /** Ends what races with it now, by this error. */
  cut(error) {
    this.#reject(error);
    this.clear();
  }

  clear() {
    clearTimeout(this.#timer);
  }
}
