// Calls clients/javascript/limited.mjs as the lines of its standard input say (limited_test.py).
import { createInterface } from "node:readline";

import { reserved } from "./hold.mjs";
import { lease } from "./lease.mjs";
import { Gate, Limited } from "./limited.mjs";

// A clock that stands still, and the heartbeats that are due when it is moved.
class Clock {
  #ms = 0;
  #lateMs = 0;
  beats = [];

  now() {
    const ms = this.#ms;
    this.#ms += this.#lateMs;
    this.#lateMs = 0;
    return ms;
  }

  // The next reading moves the clock, as if what is done after it took a while.
  delay(ms) {
    this.#lateMs = ms;
  }

  every(period, call) {
    const beat = { due: this.#ms + period, period, call };
    this.beats.push(beat);
    return () => (this.beats = this.beats.filter((each) => each !== beat));
  }

  async move(ms) {
    const end = this.#ms + ms;
    for (;;) {
      const [beat] = this.beats.sort((a, b) => a.due - b.due);
      if (!beat || beat.due > end) break;
      this.#ms = Math.max(this.#ms, beat.due);
      beat.due += beat.period;
      await beat.call();
    }
    this.#ms = Math.max(this.#ms, end);
  }
}

let gate;
let slice;
let hold;
let slot;
let clock = new Clock();

const calls = {
  gate(port, down, deadlineMs, timer) {
    gate?.close();
    clock = new Clock();
    const { now, every } = { now: () => clock.now(), every: (ms, call) => clock.every(ms, call) };
    const settings = { now, every: timer ? undefined : every };
    if (deadlineMs !== "0") settings.deadlineMs = Number(deadlineMs);
    gate = new Gate({ port: Number(port), failOpen: down === "open", ...settings });
    return "ok";
  },
  async clock(ms) {
    await clock.move(Number(ms));
    return "ok";
  },
  beats() {
    return clock.beats.length;
  },
  delay(ms) {
    clock.delay(Number(ms));
    return "ok";
  },
  async check(...words) {
    await gate.check(...words);
    return "passes";
  },
  mail(to, ...limits) {
    return gate.limited((name) => `to ${name}`, (name) => `mail:${name}`, ...limits)(to);
  },
  slice(size, ms, ...words) {
    slice = gate.slice(Number(size), Number(ms), ...words);
    return "ok";
  },
  async spend() {
    await slice.spend();
    return "passes";
  },
  async give_back() {
    await slice.giveBack();
    return "ok";
  },
  async reserve(estimate, ms, ...words) {
    hold = await reserved(gate, Number(estimate), Number(ms), ...words);
    return "passes";
  },
  async settle(used) {
    return (await hold.settle(Number(used))) ? "settled" : "not settled";
  },
  async settle_or_charge(used) {
    return (await hold.settleOrCharge(Number(used))) ? "settled" : "not settled";
  },
  async cancel() {
    await hold.cancel();
    return "ok";
  },
  async scope(how, estimate, ms, ...words) {
    const failure = new Error("the action has failed");
    try {
      const hold = await reserved(gate, Number(estimate), Number(ms), ...words);
      try {
        if (how === "fails") throw failure;
        if (how === "settles") await hold.settle(Number(estimate));
      } finally {
        await hold.cancel();
      }
    } catch (error) {
      if (error !== failure) throw error;
      return "failed";
    }
    return "left";
  },
  async lease(ms, ...words) {
    slot = await lease(gate, Number(ms), ...words);
    return "passes";
  },
  lost() {
    return slot.lost ? "lost" : "held";
  },
  async release() {
    return (await slot.release()) ? "freed" : "not held";
  },
  async lease_scope(ms, ...words) {
    const slot = await lease(gate, Number(ms), ...words);
    await slot[Symbol.asyncDispose](); // as `await using` does
    return "left";
  },
  async flood(keys) {
    let passed = 0;
    for (let i = 0; i < keys; ++i) passed += await passes(calls.check(`flood:${i}`, "none"));
    return passed;
  },
  async crowd(threads, times, ...words) {
    const counts = Array.from({ length: threads }, async () => {
      let passed = 0;
      for (let i = 0; i < times; ++i) {
        passed += await passes(words.length > 0 ? calls.check(...words) : calls.spend());
      }
      return passed;
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count);
  },
};

async function passes(call) {
  try {
    await call;
    return 1;
  } catch (error) {
    if (error instanceof Limited) return 0;
    throw error;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...words] = line.split(" ");
  try {
    console.log(await calls[name](...words));
  } catch (error) {
    if (error instanceof Limited) console.log(`limited ${error.key} ${error.retryAfterMs ?? "-"}`);
    else console.log(`mistake ${error.message}`);
  }
}
gate?.close();
