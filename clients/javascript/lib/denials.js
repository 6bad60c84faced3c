// Denials that are kept: the same words are denied again without a request.
//
// A denial holds for the time that it names, and is kept for a second of it at most. So a key under
// attack costs one request per second and process, and what loosens a limit takes effect after a
// second. A denial without a time is kept for a second, too.
import { aged } from "./decision.js";

const KEPT_MS_MAX = 1000;
const KEPT_DENIALS_MAX = 10_000;

export class Denials {
  #kept = new Map(); // words -> { end, asked, decision }

  /** The Decision as it is now, or undefined. */
  find(words, now) {
    const kept = this.#kept.get(words);
    if (kept === undefined) return undefined;
    if (now < kept.end) return aged(kept.decision, now - kept.asked);
    this.#kept.delete(words);
    return undefined;
  }

  /** Keeps a denial that was asked for at `now`. Forgets all if there are too many. */
  keep(words, now, decision) {
    if (this.#kept.size >= KEPT_DENIALS_MAX) this.#kept.clear();
    const ms = Math.min(decision.retryAfterMs ?? KEPT_MS_MAX, KEPT_MS_MAX);
    this.#kept.set(words, { end: now + ms, asked: now, decision });
  }
}
