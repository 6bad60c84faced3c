// Drives the server with node-redis 4, 5 or 6, or with the version in Debian.

// [docs]
import redis from "redis";

// [/docs]
import * as steps from "./steps.mjs";
import { answerAtLast, check, failureOf, remainingOf } from "./steps.mjs";

async function open(port, { username, password } = steps.user) {
  const { deadlineMs } = steps;
  // [docs]
  const weir = redis.createClient({
    socket: { port, connectTimeout: deadlineMs },
    username,
    password,
    disableOfflineQueue: true, // a request that waits for a connection is of no use later
  });
  weir.on("error", () => {}); // an outage is seen by those who ask
  await weir.connect();
  // [/docs]
  return weir;
}

const weir = await open(steps.port);

await steps.run("redis", {
  async connect() {
    check(await weir.ping(), "PONG");
  },

  async allow() {
    // [docs]
    const [allowed, remaining, retryAfterMs, resetAfterMs, limit] = await weir.sendCommand(
      ["RL.ALLOW", "user:42", "10/s", "1000/h"]);
    // [/docs]
    check([allowed, remaining, retryAfterMs, resetAfterMs, limit], [1, 9, 0, 3600, 0]);
  },

  async pipeline() {
    const batch = weir.multi();
    for (let i = 0; i < 3; ++i) batch.addCommand(["RL.ALLOW", "pipeline", "10/h"]);
    check((await batch.execAsPipeline()).map(remainingOf), [9, 8, 7]);
  },

  async transaction() {
    const batch = weir.multi();
    for (let i = 0; i < 2; ++i) batch.addCommand(["RL.ALLOW", "transaction", "10/h"]);
    check((await batch.exec()).map(remainingOf), [9, 8]);
  },

  async error() {
    const before = await weir.sendCommand(["CLIENT", "ID"]);
    const error = await failureOf(() => weir.sendCommand(["RL.ALLOW", "error", "10/x"]));
    check(error.message.slice(0, 24), "ERR invalid limit '10/x'");
    check(await weir.sendCommand(["CLIENT", "ID"]), before);
  },

  async reconnect() {
    const before = await weir.sendCommand(["CLIENT", "ID"]);
    const admin = await open(steps.port, steps.admin);
    await admin.sendCommand(["CLIENT", "KILL", "TYPE", "normal"]);
    check((await answerAtLast(() => weir.sendCommand(["CLIENT", "ID"]))) > before, true);
    check(remainingOf(await weir.sendCommand(["RL.ALLOW", "reconnect", "10/h"])), 9);
  },

  async once() {
    const lossy = await open(steps.lossyPort);
    await failureOf(() => lossy.sendCommand(["RL.ALLOW", "lost", "10/h"]));
    check(remainingOf(await weir.sendCommand(["RL.ALLOW", "lost", "10/h"])), 8);
  },
});
