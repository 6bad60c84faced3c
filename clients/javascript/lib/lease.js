// A slot that is held while a job runs: a hold that is renewed by heartbeats, and lost if they are
// not answered.
import { Mistake } from "./errors.js";
import { Hold } from "./hold.js";
import { END_OF_SCOPE } from "./scope.js";
import { Turns } from "./turns.js";

const HEARTBEATS = 3; // in a time to live

/** Made by `limiter.lease`. */
export class Lease {
  #clock;
  #every;
  #hold;
  #turns = new Turns();
  #isLost = false;
  #end; // weir keeps the hold until then at least; undefined: there is no lease
  #stop; // ends the heartbeats

  constructor(engine, ttlMs, given) {
    this.#clock = engine.clock;
    this.#every = engine.every;
    this.#hold = new Hold(engine, ttlMs, given);
  }

  /** Takes the slot, or throws Limited. */
  async open() {
    const begin = this.#clock();
    await this.#hold.reserve();
    if (this.#hold.isOpen) {
      this.#end = begin + this.#hold.ttlMs;
      const beat = () => this.#turns.run(() => this.#beat());
      this.#stop = this.#every(this.#hold.ttlMs / HEARTBEATS, beat);
    }
    return this;
  }

  /**
   * Whether weir may have given the slot to another worker. It goes by the clock, so it is in time
   * even if the heartbeat is late.
   */
  get lost() {
    return this.#isLost || (this.#end !== undefined && this.#clock() >= this.#end);
  }

  /** Frees the slot. Returns whether it was held until now. */
  release() {
    this.#stop?.();
    this.#stop = undefined;
    return this.#turns.run(() => this.#release());
  }

  [END_OF_SCOPE]() {
    return this.release();
  }

  async #beat() {
    const now = this.#clock();
    if (!this.#hold.isOpen || this.#isLost || this.#end === undefined || now >= this.#end) {
      return; // released, or a renewal would be a new request
    }
    const reason = await this.#renew();
    if (reason === "unavailable") return; // the next may be answered
    if (reason !== "allowed") {
      this.#isLost = true;
      this.#hold.forget();
    } else if (this.#clock() >= this.#end) {
      this.#isLost = true; // it may have been a new request
      await this.#hold.cancel();
    } else {
      this.#end = now + this.#hold.ttlMs;
    }
  }

  /** The reason of the Decision, or "mistake". */
  async #renew() {
    try {
      return (await this.#hold.ask()).reason;
    } catch (error) {
      if (error instanceof Mistake) return "mistake";
      throw error;
    }
  }

  async #release() {
    if (this.#end === undefined) return false;
    this.#isLost = this.lost;
    this.#end = undefined;
    try {
      return (await this.#hold.settle(0)) && !this.#isLost;
    } catch (error) {
      if (error instanceof Mistake) return false; // it expires
      throw error;
    }
  }
}
