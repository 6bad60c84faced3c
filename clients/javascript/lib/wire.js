// Wires: the way of a request to weir and of its reply back. `ask` returns the reply, or throws
// Lost or Refused.
//
// Its deadline covers all of it. It ends the call, not the connecting, which continues for a second
// at least: so a first connection that is slow (TLS, a cold process) is there for a later call, and
// the error of a login that comes late is thrown by the next one.
import { endsConnection } from "./causes.js";
import { Deadline } from "./deadline.js";
import { Lost, Refused } from "./exchange.js";
import { CONNECT_MS } from "./route.js";

const WAITS_MAX = 16;

/** One connection for all calls. */
export class Wire {
  #route;
  #link;
  #attempt; // to connect, { link: a promise, waiting: the number of calls }
  #late; // what a login was told when its call had ended
  #deadlines = new Set(); // of the calls in flight
  #dialed; // the last link, that perhaps is not connected
  #isClosed = false;

  constructor(route) {
    this.#route = route;
  }

  async ask(words, ms) {
    const deadline = new Deadline(ms);
    this.#deadlines.add(deadline);
    let link;
    try {
      link = await this.#take(deadline);
      return await link.ask(words, deadline);
    } catch (error) {
      const isRefused = error instanceof Refused && endsConnection(error);
      if (isRefused) link?.retire();
      if (isRefused || error instanceof Lost) this.#route.forget();
      throw error;
    } finally {
      this.#deadlines.delete(deadline);
      deadline.clear();
    }
  }

  /** Closes the connection. Calls in flight throw Lost, as do later ones. */
  close() {
    this.#isClosed = true;
    this.#link?.close();
    this.#dialed?.close();
    for (const deadline of this.#deadlines) deadline.cut(closed());
  }

  /** The link, once it is there. */
  async #take(deadline) {
    if (this.#isClosed) throw closed();
    if (this.#late !== undefined) {
      const late = this.#late;
      this.#late = undefined;
      throw late;
    }
    // The server may have closed a connection that was idle: that is to be seen first.
    if (this.#link?.isUsable && this.#link.isIdle) await turn();
    if (this.#isClosed) throw closed();
    if (this.#link?.isUsable) return this.#link;
    this.#attempt ??= this.#startAttempt();
    const attempt = this.#attempt;
    attempt.waiting += 1;
    try {
      return await deadline.race(attempt.link);
    } finally {
      attempt.waiting -= 1;
    }
  }

  #startAttempt() {
    const attempt = { waiting: 0, link: undefined };
    attempt.link = this.#connect(attempt);
    attempt.link.catch(() => {}); // perhaps no call waits for it
    return attempt;
  }

  async #connect(attempt) {
    try {
      const link = await this.#route.connect((dialed) => this.#begin(dialed));
      this.#link = link;
      if (this.#isClosed) link.close();
      else if (attempt.waiting === 0 && !this.#route.hasLogin) this.#greet(link);
      return link;
    } catch (error) {
      this.#route.forget();
      if (attempt.waiting === 0 && !(error instanceof Lost)) this.#late = error;
      throw error;
    } finally {
      this.#attempt = undefined;
    }
  }

  #begin(dialed) {
    this.#dialed = dialed;
    if (this.#isClosed) dialed.close();
  }

  /**
   * Asks for nothing, as a server that is full or in protected mode says so at once, which
   * node-redis 4 takes for an error of its own if there is no request.
   */
  async #greet(link) {
    const deadline = new Deadline(CONNECT_MS, false);
    try {
      await link.ask(["CLIENT", "GETNAME"], deadline);
    } catch (error) {
      if (!(error instanceof Refused) || !endsConnection(error)) return; // it may not be its right
      this.#late = error;
      link.retire();
    } finally {
      deadline.clear();
    }
  }
}

/** Connections for calls whose replies take long, one for each, at most 16. */
export class WaitingWires {
  #route;
  #idle = [];
  #busy = new Set();

  constructor(route) {
    this.#route = route;
  }

  async ask(words, ms) {
    if (this.#busy.size >= WAITS_MAX) throw new Lost("busy", "too many calls wait");
    const wire = this.#idle.pop() ?? new Wire(this.#route);
    this.#busy.add(wire);
    try {
      return await wire.ask(words, ms);
    } finally {
      this.#busy.delete(wire);
      this.#idle.push(wire);
    }
  }

  close() {
    for (const wire of [...this.#idle, ...this.#busy]) wire.close();
  }
}

function closed() {
  return new Lost("connection", "the Limiter is closed");
}

/** A turn of Node's loop, after which the end of a connection that had come before is known. */
async function turn() {
  for (let i = 0; i < 2; ++i) await new Promise(setImmediate);
}
