// Takes tokens with ioredis at the primary that Sentinel names; client_programs.py says how.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";

const { WEIR_GROUP: name, WEIR_LIMIT: limit } = process.env;
const sentinels = process.env.WEIR_SENTINELS.split(" ").map((address) => {
  const [host, port] = address.split(":");
  return { host, port: Number(port) };
});

const weir = new Redis({
  sentinels,
  name,
  failoverDetector: true, // leaves a primary that is frozen, or that has handed over
  connectTimeout: 1000,
  commandTimeout: 1000,
  maxRetriesPerRequest: 0, // a request that is sent twice is charged twice
});
weir.on("error", () => {}); // an outage is seen by those who ask

let key = "";
let ended = false;
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => { key = line; });
lines.on("close", () => { ended = true; });

const about = readFileSync("node_modules/ioredis/package.json", "utf8");
console.log("version", JSON.parse(about).version);
while (!ended) {
  await new Promise((resolve) => setTimeout(resolve, 2));
  if (!key) continue;
  const asked = key;
  const invoked = process.hrtime.bigint();
  try {
    const [tokens] = await weir.call("RL.ALLOW", asked, limit);
    console.log(`took ${asked} ${tokens} ${invoked} ${process.hrtime.bigint()}`);
  } catch (error) {
    const kind = error.name === "ReplyError" ? "refused" : "failed";
    const words = kind === "refused" ? error.message : `${error.name}: ${error.message}`;
    console.log(`${kind} ${asked} ${words.split(/\s+/).join(" ")}`);
  }
}
process.exit(0);
