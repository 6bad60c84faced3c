// Drives the server with ioredis 5 or 6, or with iovalkey installed under the name of ioredis.

// [docs]
import { Redis } from "ioredis";

// [/docs]
import * as steps from "./steps.mjs";
import { answerAtLast, check, failureOf, remainingOf } from "./steps.mjs";

function open(port, { username, password } = steps.user) {
  const { deadlineMs } = steps;
  // [docs]
  const weir = new Redis({
    port,
    username,
    password,
    connectTimeout: deadlineMs,
    commandTimeout: deadlineMs,
    maxRetriesPerRequest: 0, // a request that is sent twice is charged twice
  });
  weir.on("error", () => {}); // an outage is seen by those who ask
  // [/docs]
  return weir;
}

const weir = open(steps.port);

await steps.run("ioredis", {
  async connect() {
    check(await weir.ping(), "PONG");
  },

  async allow() {
    // [docs]
    const [allowed, remaining, retryAfterMs, resetAfterMs, limit] = await weir.call(
      "RL.ALLOW", "user:42", "10/s", "1000/h");
    // [/docs]
    check([allowed, remaining, retryAfterMs, resetAfterMs, limit], [1, 9, 0, 3600, 0]);
  },

  async pipeline() {
    const batch = weir.pipeline();
    for (let i = 0; i < 3; ++i) batch.call("RL.ALLOW", "pipeline", "10/h");
    const replies = await batch.exec();
    check(replies.map(([error, reply]) => error ?? remainingOf(reply)), [9, 8, 7]);
  },

  async transaction() {
    const batch = weir.multi();
    for (let i = 0; i < 2; ++i) batch.call("RL.ALLOW", "transaction", "10/h");
    const replies = await batch.exec();
    check(replies.map(([error, reply]) => error ?? remainingOf(reply)), [9, 8]);
  },

  async error() {
    const before = await weir.call("CLIENT", "ID");
    const error = await failureOf(() => weir.call("RL.ALLOW", "error", "10/x"));
    check([error.name, error.message.slice(0, 24)], ["ReplyError", "ERR invalid limit '10/x'"]);
    check(await weir.call("CLIENT", "ID"), before);
  },

  async reconnect() {
    const before = await weir.call("CLIENT", "ID");
    await open(steps.port, steps.admin).call("CLIENT", "KILL", "TYPE", "normal");
    check((await answerAtLast(() => weir.call("CLIENT", "ID"))) > before, true);
    check(remainingOf(await weir.call("RL.ALLOW", "reconnect", "10/h")), 9);
  },

  async once() {
    const lossy = open(steps.lossyPort);
    const error = await failureOf(() => lossy.call("RL.ALLOW", "lost", "10/h"));
    check(error.name, "MaxRetriesPerRequestError");
    check(remainingOf(await weir.call("RL.ALLOW", "lost", "10/h")), 8);
  },
});
