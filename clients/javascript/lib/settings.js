// The options of a Limiter, checked.
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";

import { addressOf, checkedDeadline, checkedFail } from "./address.js";
import { TIMER_MS_MAX } from "./deadline.js";
import { Mistake, warn } from "./errors.js";

const DEADLINE_MS = 50;
const NAMES = new Set([
  "url", "host", "port", "unixSocket", "username", "password", "tls", "sentinels", "master",
  "deadlineMs", "fail", "onUnavailable", "clock", "every",
]);
const STRINGS = ["host", "unixSocket", "username", "password", "master"];

export class Settings {
  /** @param given a URL, and the other options; or the options, of which `url` may be one */
  constructor(url, options = {}) {
    if (typeof url === "object" && url !== null) {
      [url, options] = [url.url, url];
      if ("url" in options) checkString("url", url);
    } else {
      checkString("url", url); // an environment's variable that is missing is no server here
      if (options.url !== undefined) throw new TypeError("the URL is given twice");
    }
    for (const name of Object.keys(options)) {
      if (!NAMES.has(name)) throw new TypeError(`a Limiter has no option ${name}`);
    }
    const { tls, onUnavailable, clock, every } = options;
    for (const [name, value] of Object.entries({ onUnavailable, clock, every })) {
      if (value !== undefined && typeof value !== "function") {
        throw new TypeError(`${name} is no function`);
      }
    }
    for (const name of STRINGS) {
      if (options[name] !== undefined) checkString(name, options[name]);
    }
    if (options.sentinels !== undefined) [options.sentinels].flat().forEach(checkSentinel);
    if (tls !== undefined && typeof tls !== "boolean" && (typeof tls !== "object" || !tls)) {
      throw new TypeError("tls is true, or the options of Node's tls.connect");
    }
    this.address = addressOf(url, options, typeof tls === "object" ? true : tls, {
      username: options.username,
      password: options.password,
      deadlineMs: ifSaid(options.deadlineMs, checkedDeadline),
      fail: ifSaid(options.fail, checkedFail),
    });
    this.deadlineMs = this.address.deadlineMs ?? DEADLINE_MS;
    this.fail = this.address.fail || "open";
    this.onUnavailable = onUnavailable;
    this.clock = clock ?? (() => performance.now());
    this.every = every ?? repeat;
    this.tls = tlsOf(tls, this.address);
  }
}

function checkString(name, value) {
  if (typeof value === "string") return;
  throw new TypeError(`${name} is of type ${typeof value}, not string`);
}

function checkSentinel(value) {
  checkString("each of sentinels", value);
}

function ifSaid(value, check) {
  return value === undefined ? undefined : check(value);
}

/** The options of Node's tls.connect; undefined without TLS. Wrong ones throw Mistake. */
function tlsOf(tls, { usesTls, ca }) {
  if (!usesTls) return undefined;
  const options = typeof tls === "object" ? { ...tls } : {};
  if (ca && options.ca !== undefined) throw new Mistake("both the URL and an option say ca");
  try {
    if (ca) options.ca = readFileSync(ca);
    return { secureContext: createSecureContext(options), ...options };
  } catch (error) {
    throw new Mistake(`the options of TLS are wrong: ${error.message}`);
  }
}

/** Calls a function again and again. Returns a function that ends that. */
function repeat(ms, call) {
  const timer = setInterval(() => call().catch(warn), Math.min(ms, TIMER_MS_MAX));
  timer.unref(); // does not keep the program alive
  return () => clearInterval(timer);
}
