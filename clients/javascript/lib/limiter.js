// The Limiter. index.d.ts has the types of all of it.
import { Engine, checked } from "./engine.js";
import { Hold } from "./hold.js";
import { Lease } from "./lease.js";
import { END_OF_SCOPE } from "./scope.js";
import { Settings } from "./settings.js";
import { Slice } from "./slice.js";

/**
 * Asks weir; it connects with the first call, and shares one connection among all.
 *
 * The words of a call are those of RL.ALLOW: a key and its limits, then perhaps AND, another key,
 * its limits; COST, too. Behind them may stand an object of options. An outage never throws from a
 * call that returns a Decision. A Mistake always does.
 */
export class Limiter {
  #address;
  #fail;
  #engine;

  /**
   * With a URL, or with options:
   *
   * - `url`: redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://; README has their
   *   forms. In its place: `host` and `port`; or `unixSocket`; or `sentinels`, a list of
   *   "host:port", and `master`
   * - `username`, `password`
   * - `tls`: true, or the options of Node's tls.connect: ca, cert, key ...
   * - `deadlineMs`: that a call may take; by default 50
   * - `fail`: "open": without an answer calls are allowed (by default); "closed": they are not
   * - `onUnavailable`: called with the cause at each answer that is missing. Without it the process
   *   emits a warning, at most one a minute
   * - `clock`, `every`: for tests, the time in milliseconds, and what begins a heartbeat
   */
  constructor(url, options) {
    const settings = new Settings(url, options);
    this.#address = String(settings.address);
    this.#fail = settings.fail;
    this.#engine = new Engine(settings);
  }

  /** One Decision. With `{details: true}`, decision.limits has a row for each limit. */
  async allow(...words) {
    const [request, { details }] = this.#read(words, "details");
    return this.#engine.decideOrKeep("RL.ALLOW", request, [], { details });
  }

  /** What `allow` would say; takes nothing. */
  async peek(...words) {
    return this.#look("RL.PEEK", words);
  }

  /** Charges what has been used already, whether it is there or not. */
  async charge(...words) {
    return this.#look("RL.CHARGE", words);
  }

  /** Gives tokens back. */
  async refund(...words) {
    return this.#look("RL.REFUND", words);
  }

  /** Waits for the tokens, `timeoutMs` at most (0, if below). At most 16 calls wait at a time. */
  async wait(timeoutMs, ...words) {
    const [request, { details }] = this.#read(words, "details");
    return this.#engine.wait(timeoutMs, request, details);
  }

  /**
   * The reply to any command that leaves the connection as it is, so not AUTH, MULTI, SUBSCRIBE ...
   * Never fails open: throws Mistake or Unavailable.
   */
  async command(...words) {
    return this.#engine.command(words);
  }

  /**
   * Connects, logs in and asks RL.PEEK, of your own words if given. Throws whatever is wrong, an
   * outage too. Called when a service starts, it makes a wrong address loud.
   */
  async verify(...words) {
    await this.#engine.verify(words);
  }

  /** Returns the Decision if it is allowed, else throws Limited. */
  async check(...words) {
    const [request] = this.#read(words);
    return checked(await this.#engine.decideOrKeep("RL.ALLOW", request), request);
  }

  /**
   * A function that asks first: `action` runs if it is allowed, else Limited is thrown. A word may
   * be a function that makes one from the arguments of the call.
   */
  limited(action, ...words) {
    if (typeof action !== "function") throw new TypeError("the action is no function");
    const check = (given) => this.check(...given);
    return async function limited(...given) {
      await check(words.map((word) => (typeof word === "function" ? word(...given) : word)));
      return action.apply(this, given);
    };
  }

  /**
   * Reserves for `ttlMs`, or throws Limited; returns a Hold. The option `estimate` is put into the
   * words' places `cost={}`.
   */
  async reserve(ttlMs, ...words) {
    const [given, { estimate }] = splitOptions(words, "estimate");
    return new Hold(this.#engine, ttlMs, given, estimate).reserve();
  }

  /** Takes a slot, or throws Limited; returns a Lease, which is renewed until it is released. */
  async lease(ttlMs, ...words) {
    return new Lease(this.#engine, ttlMs, words).open();
  }

  /** A Slice: up to `size` tokens taken at once, to be spent within `ms`. */
  slice(size, ms, ...words) {
    return new Slice(this.#engine, size, ms, words);
  }

  /** The Counts since the Limiter was made. */
  counts() {
    return this.#engine.counters.counts();
  }

  /** Closes the connections: calls in flight are unavailable, later ones throw Mistake. */
  async close() {
    this.#engine.close();
  }

  [END_OF_SCOPE]() {
    return this.close();
  }

  toString() {
    return `Limiter(${this.#address}, fails ${this.#fail})`;
  }

  #look(command, words) {
    const [request, { details }] = this.#read(words, "details");
    return this.#engine.decide(command, request, request.words, { details });
  }

  /** The Request of the words, and the options behind them, which have these names. */
  #read(words, ...names) {
    const [given, options] = splitOptions(words, ...names);
    return [this.#engine.request(given), options];
  }
}

/** The words, and the object of options behind them. Any other object is left for a TypeError. */
function splitOptions(words, ...names) {
  const last = words.at(-1);
  const isPlain =
    typeof last === "object" && last !== null && Object.getPrototypeOf(last) === Object.prototype;
  const known = isPlain && Object.keys(last).length > 0;
  if (!known || !Object.keys(last).every((name) => names.includes(name))) return [words, {}];
  return [words.slice(0, -1), last];
}
