// A Decision, as it is read from the reply to RL.ALLOW and to the commands that answer like it.
// index.d.ts describes its fields.
import { Mistake } from "./errors.js";

/** The Decision of a Limiter without an answer. */
export function unavailable(cause, allowed) {
  return {
    allowed, remaining: null, retryAfterMs: null, resetAfterMs: null, limit: null,
    reason: "unavailable", cause, limits: [], granted: 0,
  };
}

/** The Decision in the reply to a Request. */
export function readDecision(reply, request) {
  if (!isDecision(reply)) throw new Mistake("the server's answer is no decision: is it weir?");
  const [granted, remaining, retryAfterMs, resetAfterMs, limit, rows = []] = reply;
  return {
    allowed: granted > 0,
    remaining,
    retryAfterMs: timeOf(retryAfterMs),
    resetAfterMs: timeOf(resetAfterMs),
    limit,
    reason: granted > 0 ? "allowed" : retryAfterMs >= 0 ? "denied" : "never",
    cause: "",
    limits: rows.map((row) => readRow(row, request)),
    granted,
  };
}

/** The Decision in the reply to RL.SLICE, with the life of the slice in us: `lifeUs`. */
export function readSlice(reply, request) {
  const [granted, remaining, retryAfterUs, resetAfterUs, limit, lifeUs] =
    Array.isArray(reply) && Number.isFinite(reply[5]) ? reply : [];
  const [retryAfterMs, resetAfterMs] = [retryAfterUs, resetAfterUs].map((us) =>
    us < 0 ? us : Math.ceil(us / 1000),
  );
  const decision = [granted, remaining, retryAfterMs, resetAfterMs, limit];
  return { ...readDecision(decision, request), lifeUs };
}

/** The same Decision after a while. */
export function aged(decision, ms) {
  const later = (time) => (time === null ? null : Math.max(0, time - ms));
  return {
    ...decision,
    retryAfterMs: later(decision.retryAfterMs),
    resetAfterMs: later(decision.resetAfterMs),
  };
}

function isDecision(reply) {
  const isList = Array.isArray(reply) && reply.length >= 5;
  return isList && reply.slice(0, 5).every(Number.isFinite) && Array.isArray(reply[5] ?? []);
}

function readRow(row, request) {
  if (!(row.length >= 9)) throw new Mistake("AND needs weir 0.2 or later");
  const [name, allowed, count, remaining, retryAfterMs, resetAfterMs, group, cost, keep] = row;
  const isShadow =
    name.split(",").slice(1).includes("shadow") || request.shadowLabels(group).includes(name);
  return {
    name, allowed: allowed === 1, count, remaining, retryAfterMs: timeOf(retryAfterMs),
    resetAfterMs: timeOf(resetAfterMs), group, cost, keep, isShadow,
  };
}

function timeOf(ms) {
  return ms < 0 ? null : ms;
}
