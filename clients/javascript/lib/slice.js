// Tokens that are taken at once, as a hold, and spent one by one.
//
// For a key that is asked too often to ask weir each time. What is left at the end comes back with
// the commit of what was spent. If the process dies, all of the slice comes back although some of
// it may have been spent: so a process that dies again and again may admit a slice more each time.
import { HOLD_TRIES, checked } from "./engine.js";
import { Mistake, Unavailable } from "./errors.js";
import { newId } from "./hold.js";
import { END_OF_SCOPE } from "./scope.js";
import { Turns } from "./turns.js";
import { digits } from "./words.js";

// The hold outlives its time by two deadlines for the last request, and two for the commit.
const DEADLINES_BEYOND = 4;

/** Made by `limiter.slice`. The limits must not say cost=. */
export class Slice {
  #engine;
  #request;
  #size;
  #ms;
  #ttl;
  #turns = new Turns();
  #hold; // the id of the present one
  #end = 0;
  #left = 0;
  #spent = 0;
  #stop; // ends the timer

  constructor(engine, size, ms, given) {
    this.#engine = engine;
    this.#request = engine.request(given);
    this.#size = digits(size, "the size");
    this.#ms = ms;
    this.#ttl = digits(Math.round(ms + DEADLINES_BEYOND * engine.deadlineMs), "the time");
  }

  /**
   * Spends a token, or throws Limited. One call asks weir for more while the others wait, for a
   * deadline at most. It may take two: to settle the last slice, and to take the next one.
   */
  async spend() {
    if (this.#spendHere()) return;
    const wait = { isOver: false, timer: undefined };
    const late = new Promise((resolve) => {
      wait.timer = setTimeout(resolve, this.#engine.deadlineMs);
    }).then(() => (wait.isOver = true));
    const wasClosed = this.#engine.isClosed;
    const turn = this.#turns.run(async () => {
      clearTimeout(wait.timer);
      if (this.#engine.isClosed && !wasClosed) this.#endWithout("connection");
      else if (!wait.isOver && !this.#spendHere()) await this.#takeAndSpend();
    });
    await Promise.race([turn, late]);
    if (wait.isOver) this.#endWithout("timeout");
  }

  /** Settles the slice, so that what is left comes back. */
  giveBack() {
    return this.#turns.run(() => this.#settle());
  }

  [END_OF_SCOPE]() {
    return this.giveBack();
  }

  /** Returns if calls are allowed without an answer, else throws Limited. */
  #endWithout(cause) {
    checked(this.#engine.withoutAnswer(cause), this.#request);
  }

  /** Spends a token that is there. Returns whether one was. */
  #spendHere() {
    if (this.#left === 0 || this.#engine.clock() >= this.#end) return false;
    this.#left -= 1;
    this.#spent += 1;
    return true;
  }

  async #takeAndSpend() {
    await this.#settle();
    const begin = this.#engine.clock();
    const id = newId();
    const options = ["UPTO", this.#size, "HOLD", id, "TTL", this.#ttl];
    const taken = await this.#engine.decideOrKeep("RL.TAKE", this.#request, options);
    checked(taken, this.#request);
    if (taken.reason !== "allowed") return; // without an answer there is no hold
    this.#hold = id;
    this.#left = taken.granted - 1;
    this.#spent = 1;
    this.#end = begin + this.#ms;
    const end = () => this.#turns.run(() => (this.#hold === id ? this.#settle() : undefined));
    this.#stop = this.#engine.every(this.#ms, end);
  }

  async #settle() {
    this.#stop?.();
    this.#stop = undefined;
    if (this.#hold === undefined) return;
    const spent = this.#spent;
    const words = ["RL.COMMIT", ...this.#request.settled(spent), "HOLD", this.#hold];
    [this.#hold, this.#left, this.#spent] = [undefined, 0, 0];
    try {
      const [had] = await this.#engine.call(words, { tries: HOLD_TRIES });
      if (had === 0) { // too late: all of it has come back
        await this.#engine.call(["RL.CHARGE", ...this.#request.charged(spent)]);
      }
    } catch (error) {
      if (error instanceof Unavailable) this.#engine.withoutAnswer(error.cause);
      else if (error instanceof Mistake) this.#engine.counters.add("mistakes");
      else throw error;
    }
  }
}
