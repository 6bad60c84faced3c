// Where weir is: the URL of a Limiter, or the options that say the same.
//
//     redis://[user[:password]@]host[:port]        rediss:// with TLS, ?ca=PATH
//     unix:///path
//     redis+sentinel://[user:password@]h1:26379,h2:26379/NAME        rediss+sentinel:// with TLS
//
// All take ?deadline=50ms (or 1s) and ?fail=closed. User, password, path and NAME may be
// percent-encoded. An error never shows the URL, as it has the password.
import { Mistake } from "./errors.js";

const PORT = 7379;
const SENTINEL_PORT = 26379;
const SCHEMES = ["redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"];
const DEADLINE_MS_MAX = 3_600_000;

/** A host and its port; or, without a host, the path of a Unix socket. */
class Place {
  constructor(host, port, path = "") {
    this.host = host;
    this.port = port;
    this.path = path;
  }

  toString() {
    return this.host ? `${bracketed(this.host)}:${this.port}` : this.path;
  }
}

/** One place, or the places of Sentinels and the name of the primary that they know. */
export class Address {
  places;
  master = ""; // empty: without Sentinel
  usesTls = false;
  ca = ""; // the path of the authorities' certificates; empty: Node's own
  username = "";
  password; // undefined: none
  deadlineMs; // undefined: not said
  fail = "";

  constructor(places, said) {
    this.places = places;
    Object.assign(this, said);
  }

  get hasLogin() {
    return this.username !== "" || this.password !== undefined;
  }

  /** The URL without the password. */
  toString() {
    if (this.places[0].path) return `unix://${this.places[0]}`;
    const scheme = (this.usesTls ? "rediss" : "redis") + (this.master && "+sentinel");
    const user = this.username && `${this.username}@`;
    return `${scheme}://${user}${this.places.join(",")}${this.master && `/${this.master}`}`;
  }
}

/**
 * The Address of a URL or of the options in its place; `more` are fields of Address, undefined for
 * those that are not said. What a URL says, an option may not say again, but for TLS.
 */
export function addressOf(url, { host, port, unixSocket, sentinels, master }, usesTls, more) {
  let address;
  if (url === undefined) {
    address = new Address(...placesOf(host, port, unixSocket, sentinels, master));
  } else {
    if ([host, port, unixSocket, sentinels, master].some((each) => each !== undefined)) {
      throw new Mistake("a Limiter has a URL, or host and port, unixSocket, or sentinels");
    }
    address = parseUrl(url);
  }
  for (const [name, value] of Object.entries(more)) {
    if (value === undefined) continue;
    if (address[name]) throw new Mistake(`both the URL and an option say ${name}`);
    address[name] = value;
  }
  if (address.usesTls && usesTls === false) throw new Mistake("the URL wants TLS, `tls` does not");
  address.usesTls ||= usesTls === true;
  if (address.usesTls && address.places[0].path) throw new Mistake("a Unix socket has no TLS");
  return address;
}

/** The place of a primary, as a Sentinel names it. */
export function placeOf(host, port) {
  return new Place(host, Number(port));
}

export function checkedDeadline(ms) {
  if (typeof ms !== "number") throw new TypeError("deadlineMs is no number of milliseconds");
  if (!(ms > 0 && ms <= DEADLINE_MS_MAX)) {
    throw new Mistake("the deadline is above 0, and an hour at most");
  }
  return ms;
}

export function checkedFail(word) {
  if (word !== "open" && word !== "closed") throw new Mistake('fail is "open" or "closed"');
  return word;
}

function parseUrl(url) {
  const [, found, tail] = url.match(/^([^:]*):\/\/(.*)$/s) ?? [];
  const scheme = found?.toLowerCase();
  if (scheme === "http" || scheme === "https") {
    throw new Mistake("weir's HTTP has no client here: docs/http.md says how to ask it");
  }
  if (!SCHEMES.includes(scheme)) {
    throw new Mistake(`the URL does not begin with one of ${SCHEMES.join(", ")} and ://`);
  }
  if (/[#\s\0-\x1f]/.test(tail)) {
    throw new Mistake("the URL has a blank or a '#': percent-encode them");
  }
  const [place, query] = split(tail, tail.indexOf("?"));
  const usesTls = scheme.startsWith("rediss");
  const said = parseQuery(query, usesTls);
  if (scheme === "unix") {
    if (!/^\/./.test(place)) {
      throw new Mistake("the URL of a Unix socket has an absolute path: unix:///path");
    }
    return new Address([new Place("", 0, decode(place, "path"))], said);
  }
  const at = place.lastIndexOf("@");
  Object.assign(said, parseLogin(place.slice(0, Math.max(at, 0))), { usesTls });
  const [hosts, path] = split(place.slice(at + 1), place.slice(at + 1).indexOf("/"));
  if (scheme.endsWith("+sentinel")) {
    if (!path) {
      throw new Mistake("the URL lacks the name of the primary: redis+sentinel://host/NAME");
    }
    const places = hosts.split(",").map((each) => parsePlace(each, SENTINEL_PORT));
    return new Address(places, { ...said, master: decode(path, "name") });
  }
  if (path !== "" && path !== "0") {
    throw new Mistake("weir has one database: the URL's path is empty or /0");
  }
  return new Address([parsePlace(hosts, PORT)], said);
}

/** What is before a character and what is after it; -1: all is before. */
function split(text, at) {
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** The places that options name, and the other fields of their Address. */
function placesOf(host, port, unixSocket, sentinels, master) {
  if (unixSocket !== undefined) {
    if ([host, port, sentinels, master].some((each) => each !== undefined)) {
      throw new Mistake("a Unix socket has no host, port or sentinels");
    }
    if (unixSocket === "") throw new Mistake("the path of the Unix socket is empty");
    return [[new Place("", 0, unixSocket)]];
  }
  if ((sentinels === undefined) !== (master === undefined)) {
    throw new Mistake("sentinels need the name of their master, and that needs sentinels");
  }
  if (sentinels === undefined) {
    const text = bracketed(host ?? "127.0.0.1");
    return [[parsePlace(port === undefined ? text : `${text}:${port}`, PORT)]];
  }
  const isList = Array.isArray(sentinels) && sentinels.length > 0;
  if (host !== undefined || port !== undefined || !isList || !master) {
    throw new Mistake('sentinels are a list of "host:port", in place of host and port');
  }
  return [sentinels.map((each) => parsePlace(each, SENTINEL_PORT)), { master }];
}

function bracketed(host) {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

function parsePlace(text, portWithout) {
  const match = /^(?:\[([0-9A-Fa-f:.%]+)\]|([^\][:/,@]+))(?::(\d{1,5}))?$/.exec(text);
  if (!match) {
    throw new Mistake("the URL's host is name, name:port, or an IPv6 address in brackets");
  }
  const [, ipv6, name, digits] = match;
  const port = digits === undefined ? portWithout : Number(digits);
  if (port < 1 || port > 65535) throw new Mistake("the port is a number from 1 to 65535");
  return new Place(ipv6 ?? name, port);
}

function parseLogin(login) {
  const colon = login.indexOf(":");
  const [user, password] = split(login, colon);
  return {
    username: decode(user, "user"),
    password: colon < 0 ? undefined : decode(password, "password"),
  };
}

function parseQuery(query, hasCa) {
  const said = {};
  const seen = new Set();
  for (const each of query ? query.split("&") : []) {
    const [name, value] = split(each, each.indexOf("="));
    if (seen.has(name)) throw new Mistake(`the URL has the parameter ${name} twice`);
    seen.add(name);
    if (name === "deadline") said.deadlineMs = parseTime(value);
    else if (name === "fail") said.fail = checkedFail(value);
    else if (name === "ca" && hasCa && value) said.ca = decode(value, "ca");
    else {
      const known = "deadline and fail; rediss also ca";
      throw new Mistake(`the URL has an unknown parameter; it may have ${known}`);
    }
  }
  return said;
}

function parseTime(text) {
  const [, digits, unit] = /^(\d{1,7})(ms|s)$/.exec(text) ?? [];
  if (digits === undefined) throw new Mistake("the URL's deadline is like 50ms or 1s");
  return checkedDeadline(Number(digits) * (unit === "s" ? 1000 : 1));
}

function decode(text, part) {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) {
    throw new Mistake(`the URL's ${part} has a '%' that encodes nothing: a '%' is %25`);
  }
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Mistake(`the URL's ${part} is no UTF-8 text`);
  }
}
