// Calls examples/javascript/limited.mjs as the lines of its standard input say (limited_test.py).
import { createInterface } from "node:readline";

import { Gate, Limited } from "./limited.mjs";

let gate;
let slice;
let nowMs = 0;

const calls = {
  gate(port, down, deadlineMs) {
    gate?.close();
    nowMs = 0;
    const deadline = deadlineMs === "0" ? {} : { deadlineMs: Number(deadlineMs) };
    const failOpen = down === "open";
    gate = new Gate({ port: Number(port), failOpen, now: () => nowMs, ...deadline });
    return "ok";
  },
  clock(ms) {
    nowMs += Number(ms);
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
