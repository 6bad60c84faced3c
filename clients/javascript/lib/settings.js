// The options of a Limiter, checked.
import { readFileSync } from "node:fs";

import { addressOf, checkedDeadline, checkedFail } from "./address.js";

const DEADLINE_MS = 50;
const NAMES = new Set([
  "url", "host", "port", "unixSocket", "username", "password", "tls", "sentinels", "master",
  "deadlineMs", "fail", "onUnavailable", "clock", "every",
]);

export class Settings {
  /** @param given a URL, and the other options; or the options, of which `url` may be one */
  constructor(url, options = {}) {
    if (typeof url === "object" && url !== null) [url, options] = [url.url, url];
    else if (options.url !== undefined) throw new TypeError("the URL is given twice");
    for (const name of Object.keys(options)) {
      if (!NAMES.has(name)) throw new TypeError(`a Limiter has no option ${name}`);
    }
    const { tls, onUnavailable, clock, every } = options;
    for (const [name, value] of Object.entries({ onUnavailable, clock, every })) {
      if (value !== undefined && typeof value !== "function") {
        throw new TypeError(`${name} is no function`);
      }
    }
    if (tls !== undefined && typeof tls !== "boolean" && (typeof tls !== "object" || !tls)) {
      throw new TypeError("tls is true, or the options of Node's tls.connect");
    }
    this.address = addressOf(url, options, {
      username: options.username,
      password: options.password,
      usesTls: tls ? true : undefined,
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

function ifSaid(value, check) {
  return value === undefined ? undefined : check(value);
}

/** The options of Node's tls.connect; undefined without TLS. */
function tlsOf(tls, { usesTls, ca }) {
  if (!usesTls) return undefined;
  const authorities = ca ? { ca: readFileSync(ca) } : {};
  return typeof tls === "object" ? { ...authorities, ...tls } : authorities;
}

/** Calls a function again and again. Returns a function that ends that. */
function repeat(ms, call) {
  const timer = setInterval(() => call().catch((error) => process.emitWarning(error)), ms);
  timer.unref(); // does not keep the program alive
  return () => clearInterval(timer);
}
