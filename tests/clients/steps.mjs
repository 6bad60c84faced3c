// The common part of the JavaScript programs: the server's address, and the output of steps.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

export const port = Number(process.env.WEIR_PORT);
export const lossyPort = Number(process.env.WEIR_LOSSY_PORT);
export const user = {
  username: process.env.WEIR_USER,
  password: process.env.WEIR_PASSWORD,
};
export const admin = {
  username: process.env.WEIR_ADMIN_USER,
  password: process.env.WEIR_ADMIN_PASSWORD,
};
export const deadlineMs = 1000 * Number(process.env.WEIR_DEADLINE);

export function check(seen, wanted) {
  if (!isDeepStrictEqual(seen, wanted)) {
    throw new Error(`${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
  }
}

export function remainingOf(reply) {
  check(reply[0], 1);
  return reply[1];
}

// What `call` fails with.
export async function failureOf(call) {
  let answer;
  try {
    answer = await call();
  } catch (error) {
    return error;
  }
  throw new Error(`${JSON.stringify(answer)}, and no error`);
}

// What `call` answers, once the client has connected anew.
export async function answerAtLast(call) {
  const end = Date.now() + deadlineMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise(setImmediate);
    }
  }
}

// Takes each step and ends the program; `module` is the folder of the client library.
export async function run(module, steps) {
  const about = readFileSync(`node_modules/${module}/package.json`, "utf8");
  console.log("version", JSON.parse(about).version);
  let failed = 0;
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step();
      console.log("ok", name);
    } catch (error) {
      console.log("FAIL", name, String(error).split(/\s+/).join(" "));
      failed = 1;
    }
  }
  process.exit(failed);
}
