// Calls weir-client as the lines of its standard input say (case_programs.py). The package and
// node-redis are in node_modules beside it.
import { createInterface } from "node:readline";

import { Limited, Limiter, Mistake, Unavailable, fields, problem } from "weir-client";

import { callerKey } from "./node_modules/weir-client/lib/caller.js";
import { Settings } from "./node_modules/weir-client/lib/settings.js";

// A clock that stands still, and the timers that are due when it is moved.
class Clock {
  #ms = 0;
  #lateMs = 0;
  timers = []; // { due, period, call }

  now() {
    const ms = this.#ms;
    this.#ms += this.#lateMs;
    this.#lateMs = 0;
    return ms;
  }

  // The next reading moves the clock, as if what is done after it took a while.
  delay(ms) {
    this.#lateMs = ms;
  }

  every(ms, call) {
    const period = Math.round(ms);
    const timer = { due: this.#ms + period, period, call };
    this.timers.push(timer);
    return () => (this.timers = this.timers.filter((each) => each !== timer));
  }

  async move(ms) {
    const end = this.#ms + ms;
    for (let timer; (timer = this.#next()) && timer.due <= end; ) {
      this.#ms = Math.max(this.#ms, timer.due);
      timer.due += timer.period;
      await timer.call();
    }
    this.#ms = Math.max(this.#ms, end);
  }

  #next() {
    return this.timers.reduce((a, b) => (a && a.due <= b.due ? a : b), undefined);
  }
}

let limiter;
let settings;
let clock = new Clock();
let causes = [];
let slice;
let hold;
let lease;

const CALLBACKS = {
  records: (cause) => causes.push(cause),
  raises: (cause) => {
    throw new Error(cause);
  },
  none: undefined,
};

const RENAMED = { unix_socket: "unixSocket", deadline_ms: "deadlineMs" };

const calls = {
  async limiter({ timer = false, callback = "records", ...given }) {
    await limiter?.close();
    clock = new Clock();
    causes = [];
    const options = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [RENAMED[name] ?? name, value]),
    );
    const here = clock;
    options.clock = () => here.now();
    if (!timer) options.every = (ms, call) => here.every(ms, call);
    options.onUnavailable = CALLBACKS[callback];
    limiter = new Limiter(options);
    settings = new Settings(options);
    return "ok";
  },
  address: () => `${settings.address} ${settings.fail} ${settings.deadlineMs}`,
  text: () => String(limiter),
  causes() {
    const told = causes.join(" ");
    causes = [];
    return told || "none";
  },
  counts() {
    const { unavailable, ...counts } = limiter.counts();
    return Object.entries({ ...counts, ...unavailable })
      .filter(([, value]) => value > 0)
      .map((each) => each.join(" "))
      .join(" ");
  },
  clock: async (ms) => (await clock.move(ms), "ok"),
  beats: () => clock.timers.length,
  delay: (ms) => (clock.delay(ms), "ok"),
  allow: async (...words) => shown(await limiter.allow(...words)),
  details: async (...words) => shown(await limiter.allow(...words, { details: true })),
  peek: async (...words) => shown(await limiter.peek(...words)),
  charge: async (...words) => shown(await limiter.charge(...words)),
  refund: async (...words) => shown(await limiter.refund(...words)),
  wait: async (ms, ...words) => shown(await limiter.wait(ms, ...words)),
  command: async (...words) =>
    JSON.stringify(await limiter.command(...words)).replaceAll(",", ", "),
  verify: async (...words) => (await limiter.verify(...words), "ok"),
  fields: async (...words) => shownFields(await limiter.allow(...words, { details: true })),
  plain_fields: async (...words) => shownFields(await limiter.allow(...words)),
  caller: callerKey,
  check: async (...words) => (await limiter.check(...words), "passes"),
  mail: (to, ...limits) =>
    limiter.limited((name) => `to ${name}`, (name) => `mail:${name}`, ...limits)(to),
  slice: (size, ms, ...words) => ((slice = limiter.slice(size, ms, ...words)), "ok"),
  spend: async () => (await slice.spend(), "passes"),
  give_back: async () => (await slice.giveBack(), "ok"),
  async reserve(estimate, ms, ...words) {
    hold = await reserve(estimate, ms, words);
    return "passes";
  },
  settle: async (used) => settled(await hold.settle(used)),
  settle_or_charge: async (used) => settled(await hold.settleOrCharge(used)),
  cancel: async () => (await hold.cancel(), "ok"),
  async scope(how, estimate, ms, ...words) {
    const held = await reserve(estimate, ms, words);
    try {
      if (how === "fails") return "failed";
      if (how === "settles") await held.settle(estimate);
      return "left";
    } finally {
      await held[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]();
    }
  },
  async lease(ms, ...words) {
    lease = await limiter.lease(ms, ...words);
    return "passes";
  },
  lost: () => (lease.lost ? "lost" : "held"),
  release: async () => ((await lease.release()) ? "freed" : "not held"),
  async lease_scope(ms, ...words) {
    const slot = await limiter.lease(ms, ...words);
    await slot[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]();
    return "left";
  },
  async flood(keys) {
    let passed = 0;
    for (let i = 0; i < keys; ++i) passed += await passes(calls.check, `flood:${i}`, "none");
    return passed;
  },
  async crowd(callers, times, ...words) {
    const call = words.length > 0 ? [calls.check, ...words] : [calls.spend];
    const ask = async () => {
      let passed = 0;
      for (let i = 0; i < times; ++i) passed += await passes(...call);
      return passed;
    };
    const all = await Promise.all(Array.from({ length: callers }, ask));
    return all.reduce((sum, each) => sum + each, 0);
  },
  close: async () => (await limiter.close(), "ok"),
};

function reserve(estimate, ms, words) {
  return limiter.reserve(ms, ...words, ...(estimate === null ? [] : [{ estimate }]));
}

function settled(is) {
  return is ? "settled" : "not settled";
}

// 1 or 0.
async function passes(call, ...words) {
  try {
    await call(...words);
    return 1;
  } catch (error) {
    if (error instanceof Limited) return 0;
    throw error;
  }
}

function shown(decision) {
  const { reason, remaining, retryAfterMs, resetAfterMs, limit } = decision;
  if (reason === "unavailable") {
    return `unavailable ${decision.cause} ${decision.allowed ? "allowed" : "denied"}`;
  }
  const rows = decision.limits.map((row) =>
    [
      row.name, Number(row.allowed), row.count, row.remaining, number(row.retryAfterMs),
      number(row.resetAfterMs), row.group, row.cost, row.keep,
    ].join(" "),
  );
  const line = [reason, remaining, number(retryAfterMs), number(resetAfterMs), limit].join(" ");
  return [line, ...rows].join(" | ");
}

function shownFields(decision) {
  const found = Object.entries(fields(decision, { legacy: true }));
  const lines = found.map((each) => each.join(": "));
  if (!decision.allowed) {
    const { status, body } = problem(decision);
    lines.push(`${status} ${body}`);
  }
  return lines.join(" | ") || "none";
}

function number(ms) {
  return ms === null ? "-" : Math.round(ms);
}

const NATIVE = {
  hex: (text) => Buffer.from(text, "hex"),
  integer: BigInt,
  object: () => ({}),
  nan: Number,
  undefined: () => undefined,
};

// The value of a word that JSON has no form for.
function native(word) {
  if (typeof word !== "object" || word === null || Array.isArray(word)) return word;
  const [[kind, text]] = Object.entries(word);
  return NATIVE[kind](text);
}

async function said(line) {
  const [name, ...words] = JSON.parse(line);
  try {
    return await calls[name](...(name === "limiter" ? words : words.map(native)));
  } catch (error) {
    if (error instanceof Limited) {
      const { key, retryAfterMs, decision } = error;
      return `limited ${key} ${number(retryAfterMs)} ${decision.reason}`;
    }
    if (error instanceof Mistake) return `mistake ${error.message}`;
    if (error instanceof Unavailable) return `raised ${error.cause}`;
    if (error instanceof TypeError) return `type ${error.message}`;
    throw error;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(String(await said(line)));
}
await limiter?.close();
