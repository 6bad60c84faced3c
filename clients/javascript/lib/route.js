// The way to a server: which Sentinel to ask, where the primary is, and the login.
import { placeOf } from "./address.js";
import { Deadline } from "./deadline.js";
import { Lost, Refused } from "./exchange.js";
import { Link } from "./link.js";

/**
 * Knows the primary that Sentinels have named, and asks the Sentinel first that did. (The Sentinel
 * of node-redis asks for all replicas, too, before a first call, and knows no deadline.)
 */
export class Route {
  #address;
  #tls;
  #sentinelMs; // for one Sentinel
  #sentinels;
  #primary;

  constructor({ address, tls, deadlineMs }) {
    this.#address = address;
    this.#tls = tls;
    this.#sentinelMs = deadlineMs;
    this.#sentinels = address.places;
    this.forget();
  }

  get hasLogin() {
    return this.#address.hasLogin;
  }

  /** The primary is to be asked for again, if Sentinels know it. */
  forget() {
    this.#primary = this.#address.master ? undefined : this.#address.places[0];
  }

  /** A Link to the server, logged in, within so many milliseconds. Throws Lost or Refused. */
  async connect(ms) {
    const deadline = new Deadline(ms);
    try {
      const primary = this.#primary ?? (await this.#askSentinels());
      const link = await Link.dial(primary, this.#tls, ms);
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

  async #askSentinels() {
    for (const sentinel of this.#sentinels) {
      const named = await this.#askSentinel(sentinel);
      if (!named) continue;
      this.#sentinels = [sentinel, ...this.#sentinels.filter((each) => each !== sentinel)];
      this.#primary = placeOf(...named);
      return this.#primary;
    }
    throw new Lost("noprimary", "no Sentinel names a primary");
  }

  /** The host and the port of the primary, if this Sentinel knows it. */
  async #askSentinel(sentinel) {
    const deadline = new Deadline(this.#sentinelMs);
    let link;
    try {
      link = await Link.dial(sentinel, this.#tls, this.#sentinelMs);
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
