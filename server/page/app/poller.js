// Calls a function once a second while the page is visible, and never twice at a time. Failures
// make it wait longer, up to ten seconds; the first success makes it quick again.

const PERIOD_MS = 1000;
const PERIOD_MAX_MS = 10_000;

export class Poller {
  // `poll` returns a promise; `succeed()` and `fail(error)` hear of its end. `fail` returns false
  // to wait for wake().
  constructor(poll, succeed, fail) {
    this.poll = poll;
    this.succeed = succeed;
    this.fail = fail;
    this.failures = 0;
    this.timer = 0;
    this.running = false;
    document.addEventListener('visibilitychange', () => this.wake());
  }

  // Polls at once.
  wake() {
    clearTimeout(this.timer);
    if (this.running) {
      this.again = true;
    } else if (document.visibilityState === 'visible') {
      this.run();
    }
  }

  async run() {
    const begin = performance.now();
    this.running = true;
    this.again = false;
    let goesOn = true;
    try {
      await this.poll();
      this.failures = 0;
      this.succeed();
    } catch (error) {
      ++this.failures;
      goesOn = this.fail(error);
    }
    this.running = false;
    if (this.again) {
      this.wake();
    } else if (goesOn && document.visibilityState === 'visible') {
      const period = Math.min(PERIOD_MS * 2 ** this.failures, PERIOD_MAX_MS);
      const left = Math.max(0, period - (performance.now() - begin));
      this.timer = setTimeout(() => this.wake(), left);
    }
  }
}
