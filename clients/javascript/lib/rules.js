// The options of a middleware: what it asks weir for a request, and what it tells of the answer.
//
// They are alike for all frameworks, whose module makes an *asker* of each request: `request`, as
// the functions below get it, `method`, `header(name)`, and `peer`, the address of the connection.
//
//     limiter        a Limiter
//     limits         a list of limits: ["10/s", "@free"]
//     key            key(request) makes the key; by default "ip:" and the address of the caller
//     skip           skip(request) says which requests pass without a question; by default those by
//                    which browsers ask for CORS (OPTIONS with Access-Control-Request-Method)
//     cost           cost(request) is how many tokens the request takes; by default 1
//     denied         denied(request, decision) makes the response to one that is not allowed
//     trustedHops    how many proxies of yours there are: the address is that entry of
//                    X-Forwarded-For, counted from the right. 0 takes that of the connection
//     legacyHeaders  X-RateLimit-Limit, -Remaining and -Reset, too
//     chargeWhen     chargeWhen({status, headers}) says which responses are charged. Then a request
//                    passes if its tokens are there, and takes them only after its response
import { callerKey } from "./caller.js";
import { Mistake, warn } from "./errors.js";
import { PROBLEM_TYPE, fields, problem } from "./fields.js";

const FUNCTIONS = ["key", "skip", "cost", "denied", "chargeWhen"];
const NAMES = new Set([...FUNCTIONS, "limiter", "limits", "trustedHops", "legacyHeaders"]);

/** The options of a middleware, checked. */
export class Rules {
  #options;

  constructor(options) {
    const { limiter, limits, trustedHops = 0 } = options;
    for (const name of Object.keys(options)) {
      if (!NAMES.has(name)) throw new TypeError(`a middleware has no option ${name}`);
    }
    for (const name of FUNCTIONS) {
      if (options[name] !== undefined && typeof options[name] !== "function") {
        throw new TypeError(`${name} is no function`);
      }
    }
    if (typeof limiter?.allow !== "function") throw new TypeError("limiter is no Limiter");
    const areLimits = Array.isArray(limits) && limits.every((each) => typeof each === "string");
    if (!areLimits || limits.length === 0) {
      throw new TypeError("limits is a list of strings with at least one limit");
    }
    if (!Number.isSafeInteger(trustedHops) || trustedHops < 0) {
      throw new TypeError("trustedHops is a number of proxies");
    }
    this.#options = { ...options, limits: [...limits], trustedHops };
  }

  /** denied(), if the program has one. */
  get denied() {
    return this.#options.denied;
  }

  /** Asks weir. Returns an Asked, or undefined if the request is to pass without a question. */
  async ask(asker) {
    const { limiter, limits, skip, cost, chargeWhen } = this.#options;
    if (await (skip ? skip(asker.request) : isPreflight(asker))) return undefined;
    const key = await this.#keyOf(asker);
    const tokens = await cost?.(asker.request);
    const charge = [key, ...limits, ...(tokens === undefined ? [] : ["COST", tokens])];
    const looks = limits.map((limit) => `${limit},cost=0,keep=${tokens ?? 1}`);
    const words = chargeWhen ? [key, ...looks] : charge;
    const decision = await limiter.allow(...words, { details: true });
    return new Asked(this.#options, decision, charge);
  }

  async #keyOf({ request, header, peer }) {
    const { key, trustedHops } = this.#options;
    if (key === undefined) {
      const forwarded = header("x-forwarded-for");
      return callerKey(peer ?? "", forwarded === undefined ? [] : [forwarded], trustedHops);
    }
    const made = await key(request);
    if (made === undefined || made === null || made.length === 0) {
      throw new Mistake("key(request) answers nothing: one bucket for all callers");
    }
    return made;
  }
}

/** A request that weir was asked about. */
class Asked {
  #options;
  #charge; // the words of RL.CHARGE

  constructor(options, decision, charge) {
    this.decision = decision;
    this.#options = options;
    this.#charge = charge;
  }

  /** The fields of every response. */
  get headers() {
    return fields(this.decision, { legacy: this.#options.legacyHeaders === true });
  }

  /** The response to a request that is not allowed, without those fields. */
  get refusal() {
    return { ...problem(this.decision), type: PROBLEM_TYPE };
  }

  /** Whether `end` is to be called. */
  get awaitsEnd() {
    return this.decision.allowed && this.#options.chargeWhen !== undefined;
  }

  /**
   * Charges the response, if chargeWhen says so; `headers` have names in lower case. A mistake has
   * no request to fail any longer: it is a warning.
   */
  async end(status, headers) {
    const { chargeWhen, limiter } = this.#options;
    try {
      if (await chargeWhen({ status, headers })) await limiter.charge(...this.#charge);
    } catch (error) {
      warn(error);
    }
  }
}

/** Whether a browser asks by this request if it may send another one (CORS). */
function isPreflight({ method, header }) {
  return method === "OPTIONS" && header("access-control-request-method") !== undefined;
}
