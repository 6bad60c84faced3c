// Rates from counts that only grow: the mean of the last seconds between polls.

const WINDOW_MS = 5000;

export class Rates {
  constructor(windowMs = WINDOW_MS) {
    this.windowMs = windowMs;
    this.samples = [];  // {time, counts}, oldest first
  }

  // `counts` is an object of numbers. A count that falls was reset, and the past forgotten.
  add(time, counts) {
    const last = this.samples.at(-1);
    if (last && time <= last.time) return;
    if (last && Object.keys(counts).some((name) => counts[name] < last.counts[name])) {
      this.samples = [];
    }
    this.samples.push({time, counts});
    while (this.samples.length > 2 && time - this.samples[1].time >= this.windowMs) {
      this.samples.shift();
    }
  }

  // Per second; null before there are two samples.
  of(name) {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    if (this.samples.length < 2) return null;
    return 1000 * (last.counts[name] - first.counts[name]) / (last.time - first.time);
  }
}
