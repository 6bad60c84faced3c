// Drives the server with valkey-glide.

// [docs]
import { GlideClient } from "@valkey/valkey-glide";

// [/docs]
import { Batch } from "@valkey/valkey-glide";

import * as steps from "./steps.mjs";
import { answerAtLast, check, failureOf, remainingOf } from "./steps.mjs";

async function open(port, { username, password } = steps.user) {
  const { deadlineMs } = steps;
  // [docs]
  const weir = await GlideClient.createClient({
    addresses: [{ host: "127.0.0.1", port }],
    credentials: password === undefined ? undefined : { username, password },
    requestTimeout: deadlineMs,
  });
  // [/docs]
  return weir;
}

const weir = await open(steps.port);

await steps.run("@valkey/valkey-glide", {
  async connect() {
    check(await weir.ping(), "PONG");
  },

  async allow() {
    // [docs]
    const [allowed, remaining, retryAfterMs, resetAfterMs, limit] = await weir.customCommand(
      ["RL.ALLOW", "user:42", "10/s", "1000/h"]);
    // [/docs]
    check([allowed, remaining, retryAfterMs, resetAfterMs, limit], [1, 9, 0, 3600, 0]);
  },

  async pipeline() {
    const batch = new Batch(false);
    for (let i = 0; i < 3; ++i) batch.customCommand(["RL.ALLOW", "pipeline", "10/h"]);
    check((await weir.exec(batch, true)).map(remainingOf), [9, 8, 7]);
  },

  async transaction() {
    const batch = new Batch(true);
    for (let i = 0; i < 2; ++i) batch.customCommand(["RL.ALLOW", "transaction", "10/h"]);
    check((await weir.exec(batch, true)).map(remainingOf), [9, 8]);
  },

  async error() {
    const before = await weir.customCommand(["CLIENT", "ID"]);
    const error = await failureOf(() => weir.customCommand(["RL.ALLOW", "error", "10/x"]));
    check([error.name, error.message.includes("invalid limit '10/x'")], ["RequestError", true]);
    check(await weir.customCommand(["CLIENT", "ID"]), before);
  },

  async reconnect() {
    const before = await weir.customCommand(["CLIENT", "ID"]);
    const admin = await open(steps.port, steps.admin);
    await admin.customCommand(["CLIENT", "KILL", "TYPE", "normal"]);
    check((await answerAtLast(() => weir.customCommand(["CLIENT", "ID"]))) > before, true);
    check(remainingOf(await weir.customCommand(["RL.ALLOW", "reconnect", "10/h"])), 9);
  },

  async once() {
    const lossy = await open(steps.lossyPort);
    await failureOf(() => lossy.customCommand(["RL.ALLOW", "lost", "10/h"]));
    check(remainingOf(await weir.customCommand(["RL.ALLOW", "lost", "10/h"])), 8);
  },
});
