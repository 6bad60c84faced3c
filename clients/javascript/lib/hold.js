// A reservation, which is settled with what was really used, or cancelled.
import { randomBytes } from "node:crypto";

import { HOLD_TRIES, checked } from "./engine.js";
import { Mistake, Unavailable } from "./errors.js";
import { END_OF_SCOPE } from "./scope.js";
import { digits, milliseconds } from "./words.js";

const ID_BYTES = 16;

/** A random id for RL.RESERVE and RL.TAKE. */
export function newId() {
  return randomBytes(ID_BYTES).toString("hex");
}

/** Made by `limiter.reserve`. A program that dies gives all of it back at its time to live. */
export class Hold {
  #engine;
  #request;
  #words;
  #hold = ["HOLD", newId()];
  #ttl;
  #isOpen = false;
  #isSettled = false;
  #hasSettled = false; // has tried to

  constructor(engine, ttlMs, given, estimate) {
    this.ttlMs = milliseconds(ttlMs, "the time to live", 1);
    this.#engine = engine;
    this.#request = engine.request(given);
    this.#ttl = ["TTL", digits(this.ttlMs, "the time to live")];
    if (estimate === undefined || estimate === null) {
      if (this.#request.hasCostPlace) throw new Mistake("cost={} needs an estimate");
      this.#words = this.#request.words;
    } else {
      this.#words = this.#request.withCost(digits(estimate, "the estimate"));
    }
  }

  /** Whether there is a hold to settle: not without an answer of weir. */
  get isOpen() {
    return this.#isOpen;
  }

  /**
   * Reserves, or throws Limited. Without an answer there is no hold, and a Limiter that fails open
   * returns without one.
   */
  async reserve() {
    const decision = checked(await this.ask(), this.#request);
    this.#isOpen = decision.reason === "allowed";
    return this;
  }

  /** The Decision of RL.RESERVE, which begins the time to live again. */
  ask() {
    const options = [...this.#hold, ...this.#ttl];
    return this.#engine.decide("RL.RESERVE", this.#request, this.#words, {
      options, tries: HOLD_TRIES,
    });
  }

  /**
   * Charges what was used in place of the estimate. Returns whether that is so. It is not if there
   * is no hold, if it has expired, or if weir does not answer; only then can it be repeated.
   */
  async settle(used) {
    const cost = digits(used, "what was used");
    if (this.#isOpen) {
      this.#hasSettled = true;
      this.#isSettled = await this.#end("RL.COMMIT", this.#request.costs(cost));
    }
    return this.#isSettled;
  }

  /**
   * Settles; if the hold has expired, charges what was used. Returns whether it is settled. A hold
   * that expires gives back all that it reserved. So a budget that must not be undercounted wants
   * this, and one that must not be overdrawn wants settle(). A charge is not repeated: it may have
   * been made.
   */
  async settleOrCharge(used) {
    const wasOpen = this.#isOpen;
    if (!(await this.settle(used)) && wasOpen && !this.#isOpen) {
      const words = this.#request.costs(digits(used, "what was used"), false);
      if (words.length > 0) await this.#try(["RL.CHARGE", ...words]);
    }
    return this.#isSettled;
  }

  /** Gives all of it back, unless it has been settled. Throws no Mistake: it expires. */
  async cancel() {
    if (!this.#isOpen || this.#hasSettled) return;
    try {
      await this.#end("RL.CANCEL", this.#request.keys());
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      this.#engine.counters.add("mistakes");
    }
  }

  /** weir does not have it any longer. */
  forget() {
    this.#isOpen = false;
  }

  [END_OF_SCOPE]() {
    return this.cancel();
  }

  /** Ends the hold. Returns whether weir had it. */
  async #end(command, words) {
    const reply = await this.#try([command, ...words, ...this.#hold], HOLD_TRIES);
    if (reply === undefined) return false;
    this.#isOpen = false;
    return reply[0] === 1;
  }

  /** The reply, or undefined without an answer. */
  async #try(words, tries = 1) {
    try {
      return await this.#engine.call(words, { tries });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.#engine.withoutAnswer(error.cause);
      return undefined;
    }
  }
}
