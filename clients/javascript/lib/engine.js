// The requests of a Limiter, and its memory: what it counts, and the denials that it keeps.
import { causeOf } from "./causes.js";
import { checkCommand } from "./commands.js";
import { Counters } from "./counters.js";
import { readDecision, unavailable } from "./decision.js";
import { Denials } from "./denials.js";
import { Limited, Mistake, Unavailable } from "./errors.js";
import { Lost, Refused } from "./exchange.js";
import { CONNECT_MS, Route } from "./route.js";
import { WaitingWires, Wire } from "./wire.js";
import { Request, digits, encode, milliseconds } from "./words.js";

/** A hold has an id, so that a request whose reply is lost may be sent again. */
export const HOLD_TRIES = 2;

const VERIFIED = ["weir:verify", "1/s"];

export class Engine {
  #wire;
  #waits;
  #failsOpen;
  #denials = new Denials();
  #hasSucceeded = false;
  #isClosed = false;

  constructor(settings) {
    this.deadlineMs = settings.deadlineMs;
    this.clock = settings.clock;
    this.every = settings.every;
    this.#failsOpen = settings.fail === "open";
    this.counters = new Counters(settings.onUnavailable, this.#failsOpen);
    const route = new Route(settings);
    this.#wire = new Wire(route);
    this.#waits = new WaitingWires(route);
  }

  /** The Request of these words; counts a mistake in them. */
  request(given) {
    try {
      return new Request(given);
    } catch (error) {
      this.counters.add("mistakes");
      throw error;
    }
  }

  /** The Decision, without a request if a denial of the same words is kept. */
  async decideOrKeep(command, request, options = [], { details = false, read } = {}) {
    const now = this.clock();
    const keptAs = `${details || request.hasSeveralKeys} ${request.id}`;
    const kept = this.#denials.find(keptAs, now);
    if (kept !== undefined) {
      this.counters.add("kept");
      return kept;
    }
    const decision = await this.decide(command, request, request.words, { options, details, read });
    if (decision.reason === "denied" || decision.reason === "never") {
      this.#denials.keep(keptAs, now, decision);
    }
    return decision;
  }

  /** The Decision of RL.WAIT, which comes when the tokens are there. */
  wait(timeoutMs, request, details) {
    const ms = Math.max(0, milliseconds(timeoutMs, "the timeout"));
    return this.decide("RL.WAIT", request, request.words, {
      options: ["TIMEOUT", digits(ms, "the timeout")],
      details, ms: ms + this.deadlineMs, wire: this.#waits,
    });
  }

  /**
   * The Decision, which is unavailable if there is no answer. `read` makes it of a reply. A server
   * that does not know RL.SLICE is no mistake of the program.
   */
  async decide(
    command, request, words,
    { options = [], details = false, read = readDecision, ...how } = {},
  ) {
    const withLimits = details || request.hasSeveralKeys; // says which key was denied
    try {
      const more = withLimits ? ["WITHLIMITS"] : [];
      const reply = await this.call([command, ...words, ...options, ...more], how);
      const decision = read(reply, request);
      this.counters.addDecision(decision);
      return decision;
    } catch (error) {
      if (error instanceof Unavailable) return this.withoutAnswer(error.cause);
      const isOld = command === "RL.SLICE" && error.isUnknownCommand;
      if (error instanceof Mistake && !isOld) this.counters.add("asked", "mistakes");
      throw error;
    }
  }

  /** Tells the outage; the Decision that the Limiter is to take. */
  withoutAnswer(cause) {
    this.counters.addUnavailable(cause, this.clock());
    return unavailable(cause, this.#failsOpen);
  }

  /** The reply as it is. Throws Mistake or Unavailable. */
  command(given) {
    const words = encode(given);
    checkCommand(words);
    return this.call(words);
  }

  /** Asks RL.PEEK, with time to connect. Throws Mistake or Unavailable. */
  async verify(given) {
    const request = this.request(given.length > 0 ? given : VERIFIED);
    const ms = Math.max(this.deadlineMs, CONNECT_MS);
    await this.call(["RL.PEEK", ...request.words], { ms });
  }

  get isClosed() {
    return this.#isClosed;
  }

  /** The reply. If it is lost, sends the words again while `tries` are left. */
  async call(words, { tries = 1, ms = this.deadlineMs, wire = this.#wire } = {}) {
    if (this.#isClosed) throw new Mistake("the Limiter is closed");
    try {
      const reply = await wire.ask(words, ms);
      this.#hasSucceeded = true;
      return reply;
    } catch (error) {
      if (error instanceof Lost) {
        if (tries > 1 && !this.#isClosed) return this.call(words, { tries: tries - 1, ms, wire });
        throw new Unavailable(error.cause, error.message);
      }
      if (!(error instanceof Refused)) throw error;
      const cause = causeOf(error, this.#hasSucceeded);
      throw cause ? new Unavailable(cause, error.message) : new Mistake(error.message);
    }
  }

  /** Calls in flight are unavailable then. */
  close() {
    this.#isClosed = true;
    this.#wire.close();
    this.#waits.close();
  }
}

/** Throws Limited unless the Decision is allowed. */
export function checked(decision, request) {
  if (decision.allowed) return decision;
  const group = decision.limits[decision.limit]?.group ?? 0;
  throw new Limited(request.key(group), decision);
}
