// Tokens that are taken at once and spent one by one without asking.
//
// For a key that is asked too often to ask weir each time. RL.SLICE says how many tokens there are
// and how long they may be spent. What is left then comes back with the commit of what was spent. A
// slice that is not committed counts as spent, so a process that dies admits nothing twice. Where
// weir gives no slices of these limits, or a slice comes later than its life, each token is asked
// for.
//
// Several keys (AND), and a weir that does not know RL.SLICE, have RL.TAKE with a hold instead.
// That comes back at its end: so a process that dies again and again may admit a slice more each
// time.
import { readSlice } from "./decision.js";
import { HOLD_TRIES, checked } from "./engine.js";
import { Mistake, Unavailable } from "./errors.js";
import { newId } from "./hold.js";
import { END_OF_SCOPE } from "./scope.js";
import { Turns } from "./turns.js";
import { digits, milliseconds } from "./words.js";

// The hold of RL.TAKE outlives its time by two deadlines for the last request, and two for the
// commit.
const DEADLINES_BEYOND = 4;

const OTHERWISE_MS = 10000; // so long is asked otherwise where there are no slices
const MARGIN_US = 1000; // and a thousandth: clocks drift
const REPEAT_MS = 1000; // between two commits of what has had no answer

/** Made by `limiter.slice`. The limits of several keys must not say cost=. */
export class Slice {
  #engine;
  #request;
  #size;
  #ms;
  #ttl;
  #holdTtl;
  #otherwise; // the command that is asked in place of RL.SLICE
  #otherwiseUntil = Infinity;
  #turns = new Turns();
  #hold; // the present one: its id, whether it lapses, and when
  #end = 0;
  #left = 0;
  #spent = 0;
  #stop; // ends the timer
  #unsettled = []; // [a hold, what was spent of it], whose commit has had no answer
  #stopRepeating; // ends their timer
  #isRepeating = false;

  constructor(engine, size, ms, given) {
    this.#engine = engine;
    this.#request = engine.request(given);
    this.#size = digits(size, "the size", 1);
    this.#ms = milliseconds(ms, "the time", 1);
    this.#ttl = digits(Math.round(this.#ms), "the time");
    this.#holdTtl = digits(Math.round(this.#ms + DEADLINES_BEYOND * engine.deadlineMs), "the time");
    this.#otherwise = this.#request.hasSeveralKeys ? "RL.TAKE" : undefined;
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
    if (begin >= this.#otherwiseUntil) this.#otherwise = undefined;
    if (this.#otherwise === "RL.ALLOW") {
      checked(await this.#engine.decideOrKeep("RL.ALLOW", this.#request), this.#request);
    } else if (this.#otherwise === "RL.TAKE") {
      await this.#take(begin, newId());
    } else {
      await this.#takeSlice(begin, newId());
    }
  }

  async #takeSlice(begin, id) {
    const options = ["NEED", "1", "UNIT", "1", "UPTO", this.#size, "HOLD", id, "TTL", this.#ttl];
    const read = readSlice;
    let slice;
    try {
      slice = await this.#engine.decideOrKeep("RL.SLICE", this.#request, options, { read });
    } catch (error) {
      if (!(error instanceof Mistake && error.isUnknownCommand)) throw error;
      this.#askOtherwise("RL.TAKE", begin);
      await this.#take(begin, id);
      return;
    }
    if (slice.lifeUs === 0) this.#askOtherwise("RL.ALLOW", begin);
    checked(slice, this.#request);
    if (slice.reason !== "allowed" || slice.lifeUs === 0) return;
    const margin = Math.floor(slice.lifeUs / 1000) + MARGIN_US;
    const hold = { id, lapses: true, end: begin + slice.lifeUs / 1000 };
    const end = begin + (slice.lifeUs - margin) / 1000;
    if (this.#engine.clock() >= end) this.#askOtherwise("RL.ALLOW", begin); // it came late
    this.#begin(hold, slice.granted, end);
  }

  #askOtherwise(command, begin) {
    this.#otherwise = command;
    this.#otherwiseUntil = begin + OTHERWISE_MS;
  }

  async #take(begin, id) {
    const options = ["UPTO", this.#size, "HOLD", id, "TTL", this.#holdTtl];
    const taken = await this.#engine.decideOrKeep("RL.TAKE", this.#request, options);
    checked(taken, this.#request);
    if (taken.reason !== "allowed") return; // without an answer there is no hold
    this.#begin({ id, lapses: false, end: Infinity }, taken.granted, begin + this.#ms);
  }

  /** Begins to spend: a token at once, which is weir's word, the others until the end. */
  #begin(hold, tokens, end) {
    this.#hold = hold;
    this.#left = tokens - 1;
    this.#spent = 1;
    this.#end = end;
    const ms = end - this.#engine.clock();
    if (ms <= 0) {
      this.#settle(); // the reply came late; the caller does not wait
      return;
    }
    const settle = () => this.#turns.run(() => (this.#hold === hold ? this.#settle() : undefined));
    this.#stop = this.#engine.every(ms, settle);
  }

  async #settle() {
    this.#stop?.();
    this.#stop = undefined;
    if (this.#hold === undefined) return;
    const [hold, left, spent] = [this.#hold, this.#left, this.#spent];
    [this.#hold, this.#left, this.#spent] = [undefined, 0, 0];
    if (hold.lapses && left === 0) return; // it counts as spent anyway
    const cause = await this.#commit(hold, spent);
    if (cause === undefined) return;
    this.#engine.withoutAnswer(cause);
    this.#unsettled.push([hold, spent]);
    this.#stopRepeating ??= this.#engine.every(REPEAT_MS, () => this.#repeat());
  }

  /**
   * Commits a hold. If that is too late, nothing of a slice has come back, but all of a hold of
   * RL.TAKE: then charges what was spent. Returns the cause if the commit is not answered. A charge
   * is not repeated: it may have been made.
   */
  async #commit(hold, spent) {
    const words = ["RL.COMMIT", ...this.#request.settled(spent), "HOLD", hold.id];
    let isAnswered = false;
    try {
      const [had] = await this.#engine.call(words, { tries: HOLD_TRIES });
      isAnswered = true;
      if (had === 0 && !hold.lapses) {
        await this.#engine.call(["RL.CHARGE", ...this.#request.charged(spent)]);
      }
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
        const [hold, spent] = this.#unsettled[0];
        const isOver = this.#engine.clock() >= hold.end;
        if (!isOver && (await this.#commit(hold, spent)) !== undefined) return;
        this.#unsettled.shift();
      }
      this.#stopRepeating();
      this.#stopRepeating = undefined;
    } finally {
      this.#isRepeating = false;
    }
  }
}
