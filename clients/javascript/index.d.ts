// The types of weir-client. They need no other package's.

/** Strings and bytes are sent as they are, whole numbers as their digits. */
export type Word = string | Uint8Array | number | bigint;

/** What one limit says. */
export interface LimitRow {
  readonly name: string;
  readonly allowed: boolean;
  readonly count: number;
  readonly remaining: number;
  /** null: never. */
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number | null;
  /** Which key, from 0. */
  readonly group: number;
  readonly cost: number;
  readonly keep: number;
  /** Denies nothing; not known of a policy's labelled limits. */
  readonly isShadow: boolean;
}

/** Why weir is unavailable. */
export type Cause =
  | "timeout" | "connection" | "loading" | "readonly" | "noreplicas" | "noack" | "misconf" | "oom"
  | "busy" | "masterdown" | "clusterdown" | "full" | "login" | "unblocked" | "noprimary";

/** The answer to one call. */
export interface Decision {
  readonly allowed: boolean;
  /** Tokens left, the fewest of any limit; null without an answer. */
  readonly remaining: number | null;
  /** null: never, or not known. */
  readonly retryAfterMs: number | null;
  /** Until all buckets are full; null without an answer. */
  readonly resetAfterMs: number | null;
  /** The index of the limit that decided; null without an answer. */
  readonly limit: number | null;
  readonly reason: "allowed" | "denied" | "never" | "unavailable";
  /** Empty unless it is unavailable. */
  readonly cause: Cause | "";
  /** With details, or with several keys. */
  readonly limits: readonly LimitRow[];
  /** The tokens that RL.TAKE took. */
  readonly granted: number;
}

export interface Counts {
  /** Decisions that weir was asked for: each is allowed, denied, unavailable, or a mistake. */
  asked: number;
  allowed: number;
  denied: number;
  /** Decisions that a kept denial answered. */
  kept: number;
  /** Also words that were not sent, and errors of onUnavailable. */
  mistakes: number;
  unavailable: { [cause in Cause]?: number };
}

export interface Options {
  /** redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://; README has the forms. */
  url?: string;
  host?: string;
  port?: number;
  unixSocket?: string;
  /** "host:port" of each, in place of host and port. */
  sentinels?: readonly string[];
  /** The name by which Sentinels know the primary. */
  master?: string;
  username?: string;
  password?: string;
  /** true, or the options of Node's tls.connect. */
  tls?: boolean | {
    ca?: unknown; cert?: unknown; key?: unknown; servername?: string; [name: string]: unknown;
  };
  /** The milliseconds that a call may take; by default 50. */
  deadlineMs?: number;
  /** "open" (by default): without an answer calls are allowed; "closed": they are not. */
  fail?: "open" | "closed";
  /** Called at each answer that is missing. Without it the process emits a warning a minute. */
  onUnavailable?: (cause: Cause) => unknown;
  /** For tests: the time in milliseconds. */
  clock?: () => number;
  /** For tests: calls a function again and again; returns what ends that. */
  every?: (ms: number, call: () => Promise<unknown>) => () => void;
}

export interface Details {
  /** Asks for a row for each limit. */
  details?: boolean;
}

/**
 * Asks weir; it connects with the first call, and shares one connection among all.
 *
 * The words are those of RL.ALLOW: a key and its limits, then perhaps AND, another key, its limits;
 * COST, too. An outage never throws from a call that returns a Decision. A Mistake always does.
 */
export class Limiter {
  constructor(url: string, options?: Omit<Options, "url">);
  constructor(options: Options);

  /** One Decision. */
  allow(...words: Word[] | [...Word[], Details]): Promise<Decision>;
  /** What `allow` would say; takes nothing. */
  peek(...words: Word[] | [...Word[], Details]): Promise<Decision>;
  /** Charges what has been used already, whether it is there or not. */
  charge(...words: Word[] | [...Word[], Details]): Promise<Decision>;
  /** Gives tokens back. */
  refund(...words: Word[] | [...Word[], Details]): Promise<Decision>;
  /** Waits for the tokens. At most 16 calls wait at a time. */
  wait(timeoutMs: number, ...words: Word[] | [...Word[], Details]): Promise<Decision>;
  /**
   * The reply to any command that leaves the connection as it is, so not AUTH, MULTI, SUBSCRIBE ...
   * Never fails open: throws Mistake or Unavailable.
   */
  command(...words: Word[]): Promise<unknown>;
  /** Connects, logs in and asks RL.PEEK, of your own words if given. Throws whatever is wrong. */
  verify(...words: Word[]): Promise<void>;
  /** Returns the Decision if it is allowed, else throws Limited. */
  check(...words: Word[]): Promise<Decision>;
  /**
   * A function that asks first: `action` runs if it is allowed, else Limited is thrown. A word may
   * be a function that makes one from the arguments of the call.
   */
  limited<Given extends unknown[], Result>(
    action: (...given: Given) => Result,
    ...words: (Word | ((...given: Given) => Word))[]
  ): (...given: Given) => Promise<Awaited<Result>>;
  /** Reserves, or throws Limited. The estimate is put into the words' places `cost={}`. */
  reserve(
    ttlMs: number, ...words: Word[] | [...Word[], { estimate?: number | bigint }]
  ): Promise<Hold>;
  /** Takes a slot, or throws Limited. It is renewed until it is released. */
  lease(ttlMs: number, ...words: Word[]): Promise<Lease>;
  /** Up to `size` tokens taken at once, as many as weir can spare, to be spent within `ms`. */
  slice(size: number | bigint, ms: number, ...words: Word[]): Slice;
  /** The counts since the Limiter was made. */
  counts(): Counts;
  /** Closes the connections: calls in flight are unavailable, later ones throw Mistake. */
  close(): Promise<void>;
  toString(): string;
}

/** A reservation. All of it comes back with cancel(), and at the end of its time to live. */
export interface Hold {
  /** Whether there is a hold to settle: not without an answer of weir. */
  readonly isOpen: boolean;
  /**
   * Charges what was used in place of the estimate. Returns whether that is so. It is not if there
   * is no hold, if it has expired, or if weir does not answer; only then can it be repeated.
   */
  settle(used: number | bigint): Promise<boolean>;
  /** Settles; if the hold has expired, charges what was used. Returns whether it is settled. */
  settleOrCharge(used: number | bigint): Promise<boolean>;
  /** Gives all of it back, unless it has been settled. */
  cancel(): Promise<void>;
}

/** A slot that is held while a job runs. */
export interface Lease {
  /** Whether weir may have given the slot to another worker. */
  readonly lost: boolean;
  /** Frees the slot. Returns whether it was held until now. */
  release(): Promise<boolean>;
}

/** Tokens that were taken at once. */
export interface Slice {
  /** Spends a token, or throws Limited. It may take two deadlines. */
  spend(): Promise<void>;
  /** Settles the slice, so that what is left comes back. */
  giveBack(): Promise<void>;
}

/** The program, its configuration or its user is wrong: a bad limit, a bad URL, NOPERM. */
export class Mistake extends Error {}

/** weir gave no answer, or cannot limit now. Thrown by `command` and `verify` only. */
export class Unavailable extends Error {
  readonly cause: Cause;
  constructor(cause: Cause, text?: string);
}

/** Thrown in place of an action that may not run. */
export class Limited extends Error {
  /** The key whose limit decided, as the caller wrote it. */
  readonly key: Word;
  /** null: never, or not known. */
  readonly retryAfterMs: number | null;
  readonly decision: Decision;
  constructor(key: Word, decision: Decision);
}

/** The HTTP fields RateLimit, RateLimit-Policy, Retry-After; `legacy`: X-RateLimit-*, too. */
export function fields(decision: Decision, how?: { legacy?: boolean }): Record<string, string>;

/** The status, 429 or 503, and the body (RFC 9457) for a call that is not allowed. */
export function problem(decision: Decision): { status: number; body: string };
