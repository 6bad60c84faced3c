// The words of a request: what callers may pass, and the groups that AND divides them into.
//
// Strings and bytes are sent as they are, whole numbers as their digits. All else is a TypeError,
// since `undefined` or `1.5` in a key is one bucket for all callers, or a bucket for none.
import { isUint8Array } from "node:util/types";

import { Mistake } from "./errors.js";

const COST_PLACE = "cost={}";

/** The words of a decision: keys with their limits, between them AND. */
export class Request {
  #given;
  #id;

  constructor(given) {
    this.words = encode(given);
    this.groups = splitAtAnd(this.words);
    this.#given = given;
    this.groups.forEach((group, i) => {
      if (group.length === 0) throw new Mistake(`group ${i + 1} of the request has no key`);
      if (group[0].length === 0) {
        throw new Mistake(`the key of group ${i + 1} is empty: one bucket for all callers`);
      }
    });
  }

  get hasSeveralKeys() {
    return this.groups.length > 1;
  }

  /** A text that only requests of the same words have. */
  get id() {
    this.#id ??= this.words.map((word) => `${word.length}:${latin1(word)}`).join("");
    return this.#id;
  }

  /** The key of a group, as the caller wrote it. */
  key(group = 0) {
    const before = this.groups.slice(0, group);
    return this.#given[before.reduce((sum, each) => sum + each.length + 1, 0)];
  }

  /** The labels (name=) of the group's shadow limits. */
  shadowLabels(group) {
    const limits = (this.groups[group] ?? []).slice(1).map((word) => String(word).split(","));
    return limits
      .filter((options) => options.slice(1).includes("shadow"))
      .flatMap((options) => options.slice(1).filter((each) => each.startsWith("name=")))
      .map((each) => each.slice(5));
  }

  /** Whether a limit has a place for the cost. */
  get hasCostPlace() {
    return this.groups.some((group) => group.slice(1).some(hasPlace));
  }

  /** All words, with the cost in its places. */
  withCost(cost) {
    return join(this.groups.map(([key, ...limits]) => [key, ...limits.map(put(cost))]));
  }

  /** The keys, each with those limits alone that have a place for the cost. */
  costs(cost, keysWithout = true) {
    const groups = this.groups.map(([key, ...limits]) => [
      key, ...limits.filter(hasPlace).map(put(cost)),
    ]);
    return join(groups.filter((group) => keysWithout || group.length > 1));
  }

  /** All words, each group with this COST. */
  charged(tokens) {
    return join(this.groups.map((group) => [...group, "COST", String(tokens)]));
  }

  /** The keys, each with this COST for all of its limits. */
  settled(tokens) {
    return join(this.groups.map(([key]) => [key, "COST", String(tokens)]));
  }

  /** The keys alone. */
  keys() {
    return join(this.groups.map(([key]) => [key]));
  }
}

/** The words as strings and Buffers; a TypeError names the place of another. */
export function encode(given) {
  return given.map((word, i) => encodeOne(word, i + 1));
}

/** A count as its digits. */
export function digits(count, name, min = 0) {
  if (typeof count !== "bigint" && !Number.isSafeInteger(count)) {
    throw new TypeError(`${name} is no whole number`);
  }
  if (count < min) throw new Mistake(`${name} is below ${min}`);
  return String(count);
}

/** A time in whole milliseconds. */
export function milliseconds(ms, name, min = -Infinity) {
  if (typeof ms !== "number" || !Number.isSafeInteger(Math.round(ms))) {
    throw new TypeError(`${name} is no number of milliseconds`);
  }
  if (ms < min) throw new Mistake(`${name} is below ${min} ms`);
  return Math.round(ms);
}

function encodeOne(word, place) {
  if (typeof word === "string") {
    if (/\p{Surrogate}/u.test(word)) {
      throw new Mistake(`word ${place} is no Unicode text; bytes may have any value`);
    }
    return word;
  }
  if (typeof word === "bigint" || Number.isSafeInteger(word)) return String(word);
  if (isUint8Array(word)) return Buffer.from(word); // a copy, as the caller may change its bytes
  const type = word === null ? "null" : Array.isArray(word) ? "array" : typeof word;
  const what = typeof word === "number" ? `the number ${word}` : `of type ${type}`;
  throw new TypeError(`word ${place} is ${what}, not a string, a whole number or bytes`);
}

/** A group begins with its key, which may be "AND", too. */
function splitAtAnd(words) {
  const groups = [[]];
  for (const word of words) {
    if (groups.at(-1).length > 0 && /^and$/i.test(word)) groups.push([]);
    else groups.at(-1).push(word);
  }
  return groups;
}

function join(groups) {
  return groups.flatMap((group) => ["AND", ...group]).slice(1);
}

function hasPlace(word) {
  return word.includes(COST_PLACE);
}

function put(cost) {
  return (word) => (hasPlace(word) ? String(word).replaceAll(COST_PLACE, `cost=${cost}`) : word);
}

function latin1(word) {
  return (typeof word === "string" ? Buffer.from(word) : word).toString("latin1");
}
