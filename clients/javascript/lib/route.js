// The way to a server: which Sentinel to ask, where the primary is, and the login.
import { placeOf } from "./address.js";
import { Deadline } from "./deadline.js";
import { Lost, Refused } from "./exchange.js";
import { Link } from "./link.js";

/** How long connecting continues at least, also if its call has ended. */
export const CONNECT_MS = 1000;

/**
 * Knows the primary that Sentinels have named, and asks the Sentinel first that did. (The Sentinel
 * of node-redis asks for all replicas, too, before a first call, and knows no deadline.)
 */
export class Route {
  #address;
  #tls;
  #ms; // to connect
  #sentinelMs; // to ask one Sentinel
  #sentinels;
  #primary;

  constructor({ address, tls, deadlineMs }) {
    this.#address = address;
    this.#tls = tls;
    this.#sentinels = address.places;
    this.#ms = Math.max(CONNECT_MS, deadlineMs);
    this.#sentinelMs = this.#ms / (this.#sentinels.length + 1); // and as long for the primary
    this.forget();
  }

  get hasLogin() {
    return this.#address.hasLogin;
  }

  /** The primary is to be asked for again, if Sentinels know it. */
  forget() {
    this.#primary = this.#address.master ? undefined : this.#address.places[0];
  }

  /** A Link to the server, logged in; `begin` as for Link.dial. Throws Lost or Refused. */
  async connect(begin) {
    const deadline = new Deadline(this.#ms, false);
    try {
      const primary = this.#primary ?? (await this.#askSentinels(begin));
      const link = await Link.dial(primary, this.#tls, this.#ms, begin);
      if (this.hasLogin) await this.#logIn(link, deadline);
      return link;
    } finally {
      deadline.clear();
    }
  }

  async #logIn(link, deadline) {
    const { username, password = "" } = this.#address;
    try {
      await link.ask(["AUTH", ...(username ? [username] : []), password], deadline);
    } catch (error) {
      link.close();
      throw error instanceof Refused ? new Refused(error.message, true) : error;
    }
  }

  async #askSentinels(begin) {
    for (const sentinel of this.#sentinels) {
      const named = await this.#askSentinel(sentinel, begin);
      if (!Array.isArray(named) || named.length !== 2) continue;
      this.#sentinels = [sentinel, ...this.#sentinels.filter((each) => each !== sentinel)];
      this.#primary = placeOf(...named);
      return this.#primary;
    }
    throw new Lost("noprimary", "no Sentinel names a primary");
  }

  /** What this Sentinel answers: the host and the port of the primary, if it knows it. */
  async #askSentinel(sentinel, begin) {
    const deadline = new Deadline(this.#sentinelMs, false);
    let link;
    try {
      link = await Link.dial(sentinel, this.#tls, this.#sentinelMs, begin);
      const words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.#address.master];
      return await link.ask(words, deadline);
    } catch (error) {
      if (error instanceof Lost || error instanceof Refused) return undefined;
      throw error;
    } finally {
      deadline.clear();
      link?.close();
    }
  }
}
