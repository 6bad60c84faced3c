// Commands that a Limiter does not send for its caller. They would change the connection that all
// calls share, or keep it busy: behind MULTI each call is answered "QUEUED", behind AUTH it is
// another user's.
import { Mistake } from "./errors.js";

const REFUSED = new Set([
  "AUTH", "HELLO", "QUIT", "RESET", "SELECT",
  "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH",
  "MONITOR", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE",
  "SUNSUBSCRIBE", "SYNC", "PSYNC", "REPLCONF", "CLIENT REPLY", "CLIENT TRACKING",
  "ASKING", "READONLY", "READWRITE", "RL.WAIT", "WAIT", "WAITAOF",
]);

/** Throws Mistake if these words are such a command. */
export function checkCommand(words) {
  if (words.length === 0) throw new Mistake("a command has at least one word");
  const [first, second] = words.slice(0, 2).map((word) => String(word).toUpperCase());
  const found = [first, `${first} ${second}`].find((name) => REFUSED.has(name));
  if (found === undefined) return;
  const instead = found === "RL.WAIT" ? ": call wait()" : "";
  throw new Mistake(`${found} would change or block the connection of all calls${instead}`);
}
