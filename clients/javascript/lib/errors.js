// The errors that callers see.

/**
 * The program, its configuration or its user is wrong: a bad limit, a bad URL, NOPERM. It is thrown
 * also by a Limiter that fails open, since it does not pass with time.
 */
export class Mistake extends Error {
  name = "Mistake";

  /** Whether the server is too old for the command. */
  get isUnknownCommand() {
    return this.message.startsWith("ERR unknown command ");
  }
}

/**
 * weir gave no answer, or cannot limit now. Thrown by `command` and `verify` only: the other calls
 * return a Decision. `cause` says why: "timeout", "connection", "loading" ...
 */
export class Unavailable extends Error {
  name = "Unavailable";

  constructor(cause, text = "") {
    super(`weir is unavailable (${cause})${text && `: ${text}`}`);
    this.cause = cause;
  }
}

/**
 * Thrown in place of an action that may not run.
 *
 * - `key`: the key whose limit decided, as the caller wrote it
 * - `retryAfterMs`: until the same call would pass; null for never and for not known
 * - `decision`: the whole Decision; its `reason` is "unavailable" if weir is away
 */
export class Limited extends Error {
  name = "Limited";

  constructor(key, decision) {
    super(`${typeof key === "object" ? Buffer.from(key) : key} is limited (${decision.reason})`);
    this.key = key;
    this.retryAfterMs = decision.retryAfterMs;
    this.decision = decision;
  }
}

/** Tells an error that has no caller. */
export function warn(error) {
  process.emitWarning(error instanceof Error ? error : String(error));
}
