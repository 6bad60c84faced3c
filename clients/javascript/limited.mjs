// A wrapper that asks weir before an action and runs it, or says when it would be allowed. For
// node-redis 4 or later (`npm install redis`).
//
//     const gate = new Gate({ port: 7379, failOpen: true });
//
//     const greet = gate.limited(sayHello, "greetings", "10/s", "1000/h"); // the words of RL.ALLOW
//     await greet("ann");                  // says hello, or throws Limited
//
//     const mail = gate.limited(sendMail, (to) => `mail:${to}`, "3/h", "AND", "mailer", "100/m");
//
//     const api = gate.slice(50, 1000, "api", "1000/s"); // asks weir once for 50 tokens, kept 1 s
//     await api.spend();                   // or throws Limited
//
// weir has 50 ms to answer. If it does not answer, or answers that it cannot limit (AWAY below),
// the action is run (failOpen: true) or Limited is thrown (failOpen: false). The client reconnects
// automatically. Nothing is sent twice: a request whose reply was lost may have been charged, and a
// second one would be charged again. Only holds, which have an id, are sent twice: hold.mjs and
// lease.mjs.
//
// A denial holds for the time that it names, so the same words are not asked again during that
// time, for a second at most: a key under attack costs one request per second.
//
// A mistake in a limit is not an outage: it throws weir's error, which names it.
import * as redis from "redis";

// The npm package has named exports, Debian's package a default export.
const { ErrorReply, createClient } = redis.default ?? redis;

const DEADLINE_MS = 50;
const DENIAL_MS = 1000; // the longest that a denial is kept
const DENIALS_MAX = 10_000;
const RECONNECT_MS = 100;
const QUEUE_MAX = 1000;
// Errors of a server that runs but cannot limit.
const AWAY = new RegExp(
  "^(LOADING|MISCONF|READONLY|NOREPLICAS|NOACK|MASTERDOWN|CLUSTERDOWN|BUSY|OOM|NOAUTH) " +
    "|^ERR max number of clients reached",
);

export class Limited extends Error {
  // retryAfterMs is undefined if the action is never allowed, or if weir does not answer.
  constructor(key, retryAfterMs) {
    super(`${key} is limited`);
    this.name = "Limited";
    this.key = key;
    this.retryAfterMs = retryAfterMs;
  }
}

// weir does not answer, or answers that it cannot limit. Callers of a Gate never see it.
export class NoAnswer extends Error {}

// The groups of a request: a key, its limits and its cost.
export function splitAtAnd(words) {
  const groups = [[]];
  for (const word of words) {
    if (groups.at(-1).length > 0 && word.toUpperCase() === "AND") groups.push([]);
    else groups.at(-1).push(word);
  }
  return groups;
}

// The words of a request.
export function joinWithAnd(groups) {
  return groups.flatMap((group) => ["AND", ...group]).slice(1);
}

export class Gate {
  #weir;
  #connected;
  #reconnected; // a promise, while a request waits for it
  #failOpen;
  #deadlineMs;
  #denials = new Map(); // words -> { keptUntil, key, retryAt }

  // `now` returns a time in milliseconds that never goes back; it and `every`, the heartbeat of
  // leases (lease.mjs), are replaced in tests.
  constructor({
    host = "127.0.0.1",
    port = 7379,
    failOpen = true,
    deadlineMs = DEADLINE_MS,
    now = () => performance.now(),
    every,
  } = {}) {
    this.now = now;
    this.every = every;
    this.#failOpen = failOpen;
    this.#deadlineMs = deadlineMs;
    this.#weir = createClient({
      socket: { host, port, reconnectStrategy: () => RECONNECT_MS },
      disableOfflineQueue: true, // a request that waits for a connection would be too late
      commandsQueueMaxLength: QUEUE_MAX, // requests without an answer, from a stalled server
    });
    this.#weir.on("error", () => {}); // callers see an outage as their own error
    this.#connected = this.#weir.connect().catch(() => {});
  }

  // Takes a token from each limit, or throws Limited. The words are those of RL.ALLOW: a key and
  // its limits, then perhaps AND, a key, its limits.
  async check(...words) {
    await this.ask("RL.ALLOW", words);
  }

  // Returns a function that asks weir, then calls `action` with its own arguments. A word is a
  // string, or a function that makes one from these arguments.
  limited(action, ...words) {
    return async (...args) => {
      await this.check(...words.map((word) => (typeof word === "function" ? word(...args) : word)));
      return action(...args);
    };
  }

  // Returns a Slice of these limits, which must not have costs.
  slice(size, ms, ...words) {
    return new Slice(this, size, ms, words);
  }

  close() {
    // A caller that still waits for a reply gets an error.
    if (this.#weir.destroy) this.#weir.destroy();
    else this.#weir.disconnect();
  }

  // Returns the tokens that weir grants, undefined if it does not answer; or throws Limited.
  async ask(command, words, ...options) {
    const now = this.now();
    const name = JSON.stringify(words);
    const denial = this.#denials.get(name);
    if (now < denial?.keptUntil) {
      throw new Limited(denial.key, denial.retryAt && Math.ceil(denial.retryAt - now));
    }
    try {
      return await this.decide(command, words, options);
    } catch (error) {
      if (error instanceof NoAnswer) return this.noAnswer(words);
      if (error instanceof Limited) this.#keep(name, now, error);
      throw error;
    }
  }

  // Returns the tokens that weir grants; or throws Limited or NoAnswer. Keeps no denial.
  async decide(command, words, options, tries = 1) {
    const groups = splitAtAnd(words);
    const withLimits = groups.length > 1 ? ["WITHLIMITS"] : []; // says which key was denied
    const reply = await this.call([command, ...words, ...options, ...withLimits], tries);
    const [granted, , retryAfterMs, , decisive, rows] = reply;
    if (granted > 0) return granted;
    const row = rows?.[decisive]; // in RESP3 an object
    const group = row ? groups[row.group ?? row[6]] : words;
    if (!group) throw new Error("AND needs weir 0.2 or later"); // 0.1 names no group
    throw new Limited(group[0], retryAfterMs >= 0 ? retryAfterMs : undefined);
  }

  // Returns weir's reply, or throws NoAnswer; tries > 1: if it is lost, asks again.
  async call(words, tries = 1, connected = this.#connected) {
    try {
      return await this.#send(words, connected);
    } catch (error) {
      if (error instanceof ErrorReply && !AWAY.test(error.message)) throw error;
      if (error instanceof ErrorReply || tries === 1) throw new NoAnswer(error.message);
    }
    return this.call(words, tries - 1, this.#reconnect());
  }

  // Without an answer a request passes, or throws Limited, as chosen.
  noAnswer(words) {
    if (!this.#failOpen) throw new Limited(words[0], undefined);
  }

  // Gives tokens back. A refund that fails is not repeated: it may have been made. Without it the
  // tokens come back in time.
  async refund(words, tokens) {
    const groups = splitAtAnd(words).map((group) => [...group, "COST", String(tokens)]);
    await this.#send(["RL.REFUND", ...joinWithAnd(groups)]).catch(() => {});
  }

  #keep(name, now, { key, retryAfterMs }) {
    if (this.#denials.size >= DENIALS_MAX) this.#denials.clear();
    this.#denials.set(name, {
      keptUntil: now + Math.min(retryAfterMs ?? DENIAL_MS, DENIAL_MS),
      key,
      retryAt: retryAfterMs === undefined ? undefined : now + retryAfterMs,
    });
  }

  // Returns a promise of a connection.
  #reconnect() {
    if (this.#weir.isReady) return this.#connected;
    this.#reconnected ??= new Promise((resolve) => this.#weir.once("ready", resolve)).then(
      () => (this.#reconnected = undefined),
    );
    return this.#reconnected;
  }

  // Returns the reply, or throws an error if there is none within the deadline.
  async #send(words, connected = this.#connected) {
    let timer;
    let isLate = false;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => {
        isLate = true;
        reject(new Error("weir does not answer"));
      }, this.#deadlineMs);
    });
    // The first connection may take longer; without a later one, sending fails at once.
    const reply = connected.then(() => (isLate ? late : this.#weir.sendCommand(words)));
    return Promise.race([reply, late]).finally(() => clearTimeout(timer));
  }
}

// Tokens that are taken at once, spent one by one, and given back when their time is over. For a
// key that is asked too often to ask weir each time. The time should be short: until its end other
// processes lack the tokens that are left, and time refills a bucket from which they were taken. A
// slice whose reply is lost is not given back, as it may not have been taken.
class Slice {
  #gate;
  #size;
  #ms;
  #words;
  #left = 0;
  #end = -Infinity;
  #timer;
  #taking; // a promise, during a request

  constructor(gate, size, ms, words) {
    this.#gate = gate;
    this.#size = size;
    this.#ms = ms;
    this.#words = words;
  }

  // Spends a token, or throws Limited.
  async spend() {
    if (this.#gate.now() >= this.#end) await this.giveBack();
    while (this.#left === 0) {
      this.#taking ??= this.#take().finally(() => (this.#taking = undefined));
      if ((await this.#taking) === undefined) return; // weir does not answer: fail open
    }
    this.#left -= 1;
  }

  // Gives back what is left; await it before the program ends.
  async giveBack() {
    clearTimeout(this.#timer);
    const tokens = this.#left;
    this.#left = 0;
    if (tokens > 0) await this.#gate.refund(this.#words, tokens);
  }

  async #take() {
    const now = this.#gate.now();
    const granted = await this.#gate.ask("RL.TAKE", this.#words, "UPTO", String(this.#size));
    if (granted === undefined) return undefined;
    this.#left = granted;
    this.#end = now + this.#ms;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.giveBack(), this.#ms);
    this.#timer.unref(); // does not keep the program alive
    return granted;
  }
}
