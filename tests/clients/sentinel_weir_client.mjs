// Takes tokens with weir-client at the primary that Sentinel names; client_programs.py says how.
import { createInterface } from "node:readline";
import { Limiter } from "weir-client";

const { WEIR_GROUP: master, WEIR_LIMIT: limit, WEIR_SENTINELS: addresses } = process.env;
const LOST = ["timeout", "connection", "noprimary"];

const limiter = new Limiter({
  sentinels: addresses.split(" "),
  master,
  deadlineMs: 1000,
  fail: "closed",
  onUnavailable() {},
});

async function ask(key) {
  const invoked = process.hrtime.bigint();
  const { allowed, reason, cause } = await limiter.allow(key, limit);
  if (reason !== "unavailable") {
    return `took ${key} ${Number(allowed)} ${invoked} ${process.hrtime.bigint()}`;
  }
  if (LOST.includes(cause)) return `failed ${key} ${cause}`;
  return `refused ${key} ${cause.toUpperCase()}`;
}

let key = "";
let ended = false;
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => { key = line; });
lines.on("close", () => { ended = true; });

console.log("version weir-client");
while (!ended) {
  await new Promise((resolve) => setTimeout(resolve, 2));
  if (key) console.log(await ask(key));
}
await limiter.close();
