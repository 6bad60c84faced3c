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
import { digits, milliseconds } from "./words.js";

// The hold outlives its time by two deadlines for the last request, and two for the commit.
const DEADLINES_BEYOND = 4;

const REPEAT_MS = 1000; // between two commits of what has had no answer

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
  #unsettled = []; // [the id of a hold, what was spent of it], whose commit has had no answer
  #stopRepeating; // ends their timer
  #isRepeating = false;

  constructor(engine, size, ms, given) {
    this.#engine = engine;
    this.#request = engine.request(given);
    this.#size = digits(size, "the size", 1);
    this.#ms = milliseconds(ms, "the time", 1);
    this.#ttl = digits(Math.round(this.#ms + DEADLINES_BEYOND * engine.deadlineMs), "the time");
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
    const [hold, spent] = [this.#hold, this.#spent];
    [this.#hold, this.#left, this.#spent] = [undefined, 0, 0];
    const cause = await this.#commit(hold, spent);
    if (cause === undefined) return;
    this.#engine.withoutAnswer(cause);
    this.#unsettled.push([hold, spent]);
    this.#stopRepeating ??= this.#engine.every(REPEAT_MS, () => this.#repeat());
  }

  /**
   * Commits a hold; if that is too late, charges what was spent, as all has come back. Returns the
   * cause if the commit is not answered. A charge is not repeated: it may have been made.
   */
  async #commit(hold, spent) {
    const words = ["RL.COMMIT", ...this.#request.settled(spent), "HOLD", hold];
    let isAnswered = false;
    try {
      const [had] = await this.#engine.call(words, { tries: HOLD_TRIES });
      isAnswered = true;
      if (had === 0) await this.#engine.call(["RL.CHARGE", ...this.#request.charged(spent)]);
    } catch (error) {
      if (error instanceof Mistake) this.#engine.counters.add("mistakes");
      else if (!(error instanceof Unavailable)) throw error;
      else if (!isAnswered) return error.cause;
      else this.#engine.withoutAnswer(error.cause);
    }
    return undefined;
  }

  /** Commits again what has had no answer, until one has none again. It has been told. */
  async #repeat() {
    if (this.#isRepeating) return;
    this.#isRepeating = true;
    try {
      while (this.#unsettled.length > 0) {
        if ((await this.#commit(...this.#unsettled[0])) !== undefined) return;
        this.#unsettled.shift();
      }
      this.#stopRepeating();
      this.#stopRepeating = undefined;
    } finally {
      this.#isRepeating = false;
    }
  }
}
