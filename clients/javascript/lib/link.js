// A connection to a server: a client of node-redis that never reconnects. For versions 4.5 to 6.
//
// Calls share it, in turn. A link is *retired* by a call that got no reply in time, as a reply that
// comes later must not reach another: others that wait for theirs get it, then it is closed.
import * as namespace from "redis";

import { Deadline } from "./deadline.js";
import { Lost, Refused } from "./exchange.js";

const redis = namespace.default ?? namespace;

const CONNECTION_ERRORS = [
  "AbortError", "ClientClosedError", "ClientOfflineError", "ConnectionTimeoutError",
  "DisconnectsClientError", "ReconnectStrategyError", "SocketClosedUnexpectedlyError",
  "SocketTimeoutError",
].flatMap((name) => redis[name] ?? []);

export class Link {
  #client;
  #stopping;
  #pending = 0; // calls that wait for a reply
  #isRetired = false;
  #error; // that ended the connection

  /**
   * Connects, within so many milliseconds. `tls` are the options of TLS; `begin` gets the Link
   * before it is connected, to close it. Throws Lost.
   */
  static async dial(place, tls, ms, begin) {
    const stopping = new AbortController();
    const client = redis.createClient({
      socket: {
        ...(tls && { ...tls, tls: true }),
        ...(place.path ? { path: place.path } : { host: place.host, port: place.port }),
        connectTimeout: Math.max(1, Math.ceil(ms)),
        signal: stopping.signal, // version 4 cannot close what is not connected
        reconnectStrategy: () => new Error("a link does not reconnect"),
      },
      // Such that it sends nothing of its own, and speaks RESP2: 5 says HELLO if this is set.
      RESP: redis.DEFAULT_RESP === undefined ? undefined : 2,
      disableClientInfo: true,
      maintNotifications: "disabled",
      commandOptions: { timeout: undefined },
    });
    const link = new Link(client, stopping);
    client.unref(); // an idle Limiter does not keep the program alive
    begin(link);
    const deadline = new Deadline(ms, false); // node-redis has one for each step of TLS
    const connecting = client.connect();
    try {
      await deadline.race(connecting);
    } catch (error) {
      connecting.catch(() => {});
      link.close();
      throw link.#outcome(error);
    } finally {
      deadline.clear();
    }
    return link;
  }

  constructor(client, stopping) {
    this.#client = client;
    this.#stopping = stopping;
    client.on("error", (error) => {
      this.#error ??= error;
      this.#hangUp(); // else node-redis 4 connects again
    });
  }

  /** Whether calls may use it. */
  get isUsable() {
    return !this.#isRetired && this.#error === undefined;
  }

  /** Whether no call waits for a reply. */
  get isIdle() {
    return this.#pending === 0;
  }

  /** The reply. Throws Lost or Refused, and other errors of node-redis as they are. */
  async ask(words, deadline) {
    this.#pending += 1;
    try {
      return await deadline.race(this.#client.sendCommand(words));
    } catch (error) {
      const outcome = this.#outcome(error);
      if (outcome instanceof Lost) this.#isRetired = true;
      throw outcome;
    } finally {
      this.#pending -= 1;
      if (this.#isRetired) this.retire();
    }
  }

  /** Closes it, once no call waits for a reply. */
  retire() {
    this.#isRetired = true;
    if (this.#pending === 0) this.#hangUp();
  }

  /** Closes it now: calls that wait throw Lost. */
  close() {
    this.#isRetired = true;
    this.#hangUp();
  }

  #hangUp() {
    this.#stopping.abort();
    try {
      if (this.#client.destroy) this.#client.destroy();
      else this.#client.disconnect().catch(() => {});
    } catch {
      // It was closed before.
    }
  }

  /** The Lost or Refused that an error of node-redis stands for, or itself. */
  #outcome(error) {
    if (error instanceof Lost) return error;
    if (error instanceof redis.ErrorReply) return new Refused(error.message);
    const below = error.socketError ?? error;
    if (redis.ConnectionTimeoutError && below instanceof redis.ConnectionTimeoutError) {
      return new Lost("timeout", below.message);
    }
    const isSystem = typeof below.code === "string" && !(below instanceof TypeError);
    if (this.#error || isSystem || CONNECTION_ERRORS.some((kind) => below instanceof kind)) {
      return new Lost("connection", (this.#error ?? below).message);
    }
    return error;
  }
}
