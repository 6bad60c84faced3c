// A wrapper that asks weir before an action and runs it, or says when it would be allowed. For
// node-redis 4 or later (`npm install redis`).
//
//     const gate = new Gate({ port: 7379, failOpen: true });
//
//     const greet = gate.limited(sayHello, "greetings", "10/s", "1000/h");
//     await greet("ann");                  // says hello, or throws Limited
//
//     const mail = gate.limited(sendMail, (to) => `mail:${to}`, "3/h"); // a key from the arguments
//
// weir has 50 ms to answer. If it does not answer, or answers that it cannot limit (AWAY below),
// the action is run (failOpen: true) or Limited is thrown (failOpen: false). The client reconnects
// on its own. Nothing is sent twice: a request whose reply was lost may have been charged, and a
// second one would be charged again.
//
// A mistake in a limit is not an outage: it throws weir's error, which names it.
import * as redis from "redis";

// The npm package has named exports, Debian's package a default export.
const { ErrorReply, createClient } = redis.default ?? redis;

const DEADLINE_MS = 50;
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

export class Gate {
  #weir;
  #failOpen;
  #deadlineMs;
  #connected;

  constructor({
    host = "127.0.0.1",
    port = 7379,
    failOpen = true,
    deadlineMs = DEADLINE_MS,
  } = {}) {
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

  // Takes a token from each limit, or throws Limited.
  async check(key, ...limits) {
    let reply;
    try {
      reply = await this.#inTime(this.#ask(["RL.ALLOW", key, ...limits]));
    } catch (error) {
      if (error instanceof ErrorReply && !AWAY.test(error.message)) throw error;
      if (this.#failOpen) return;
      throw new Limited(key, undefined);
    }
    const [allowed, , retryAfterMs] = reply;
    if (!allowed) throw new Limited(key, retryAfterMs >= 0 ? retryAfterMs : undefined);
  }

  // Returns a function that asks weir, then calls `action` with its own arguments. `key` is a
  // string, or a function that makes one from these arguments.
  limited(action, key, ...limits) {
    return async (...args) => {
      await this.check(typeof key === "function" ? key(...args) : key, ...limits);
      return action(...args);
    };
  }

  close() {
    // A caller that still waits for a reply gets an error.
    if (this.#weir.destroy) this.#weir.destroy();
    else this.#weir.disconnect();
  }

  async #ask(words) {
    await this.#connected; // the first connection; without one later, sending fails at once
    return this.#weir.sendCommand(words);
  }

  #inTime(promise) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("weir does not answer")), this.#deadlineMs);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }
}
