// The counts of a Limiter, and how it tells its service that weir is unavailable.

const LOG_MS = 60_000; // between two warnings

export class Counters {
  #onUnavailable;
  #failsOpen;
  #counts = { asked: 0, allowed: 0, denied: 0, kept: 0, mistakes: 0 };
  #causes = {};
  #logNext = -Infinity; // when the next warning may be written
  #logSince = 0; // unavailable answers since the last one

  constructor(onUnavailable, failsOpen) {
    this.#onUnavailable = onUnavailable;
    this.#failsOpen = failsOpen;
  }

  add(...names) {
    for (const name of names) this.#counts[name] += 1;
  }

  addDecision(decision) {
    this.add("asked", decision.allowed ? "allowed" : "denied");
  }

  /** Counts it and tells it. What the callback throws is counted as a mistake. */
  addUnavailable(cause, now) {
    this.#counts.asked += 1;
    this.#causes[cause] = (this.#causes[cause] ?? 0) + 1;
    if (this.#onUnavailable === undefined) {
      this.#warn(cause, now);
      return;
    }
    const failed = () => this.add("mistakes");
    try {
      Promise.resolve(this.#onUnavailable(cause)).catch(failed);
    } catch {
      failed();
    }
  }

  counts() {
    return { ...this.#counts, unavailable: { ...this.#causes } };
  }

  #warn(cause, now) {
    this.#logSince += 1;
    if (now < this.#logNext) return;
    const choice = this.#failsOpen ? "are allowed" : "are not allowed";
    const since = `${this.#logSince} since the last warning`;
    process.emitWarning(`weir is unavailable (${cause}): calls ${choice}; ${since}`, "WeirWarning");
    this.#logSince = 0;
    this.#logNext = now + LOG_MS;
  }
}
