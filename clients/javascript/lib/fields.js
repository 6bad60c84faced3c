// The HTTP fields and the body that tell a caller of its limits, as weir's own /check writes them.
//
//     RateLimit-Policy: "burst";q=40
//     RateLimit: "burst";r=0;t=1
//     Retry-After: 1
//
// The first two have the form of draft-ietf-httpapi-ratelimit-headers-11, which is not settled: it
// is in this file only. A denial lists in RateLimit the limits that denied, with the time to wait
// for `t`. A row of a Decision does not say whether its limit is a bucket or a window, so an
// admission has no `t`, and a policy no `w`. Shadow limits are never listed, and at most 8 are.

const ITEMS_MAX = 8;
const NUMBER_MAX = 999_999_999_999_999; // an Integer of RFC 9651 has at most 15 digits
const QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded";

export const PROBLEM_TYPE = "application/problem+json";

/**
 * The fields by name; none if weir is unavailable.
 * @param legacy X-RateLimit-*, too
 */
export function fields(decision, { legacy = false } = {}) {
  if (decision.reason === "unavailable") return {};
  const rows = listed(decision);
  const found = {};
  if (rows.length > 0) found["RateLimit-Policy"] = rows.map(policy).join(", ");
  const limits = limitsOf(decision, rows);
  if (limits) found["RateLimit"] = limits;
  if (legacy && rows.length > 0) {
    found["X-RateLimit-Limit"] = String(rows[0].count);
    found["X-RateLimit-Remaining"] = String(remaining(rows[0]));
    found["X-RateLimit-Reset"] = String(seconds(rows[0].resetAfterMs));
  }
  if (decision.reason === "denied") {
    found["Retry-After"] = String(Math.max(1, seconds(decision.retryAfterMs)));
  }
  return found;
}

/**
 * The status and the body (RFC 9457) for a call that is not allowed: 429, or 503 if weir is
 * unavailable.
 */
export function problem(decision) {
  if (decision.reason === "unavailable") {
    return { status: 503, body: JSON.stringify({ title: "Service Unavailable" }) };
  }
  const body = {
    type: QUOTA_EXCEEDED,
    title: "Request cannot be satisfied as assigned quota has been exceeded",
  };
  const violated = listed(decision).filter((row) => !row.allowed).map((row) => row.name);
  if (violated.length > 0) body["violated-policies"] = violated;
  return { status: 429, body: JSON.stringify(body) };
}

/** The rows that a caller is told of, first the one that decided. */
function listed({ limits, limit }) {
  const seen = new Set();
  const rows = limits.length > 0 ? [limits[limit], ...limits] : [];
  const isListed = (row) => {
    const name = `${row.group} ${row.name}`;
    if (row.isShadow || row.count > NUMBER_MAX || seen.has(name)) return false;
    seen.add(name);
    return true;
  };
  return rows.filter(isListed).slice(0, ITEMS_MAX);
}

function policy(row) {
  return `${quoted(row.name)};q=${row.count}`;
}

function limitsOf(decision, rows) {
  if (decision.limits.length === 0) return item({ ...decision, name: "limit" }, decision.remaining);
  return rows
    .filter((row) => decision.allowed || !row.allowed)
    .map((row) => item(row, remaining(row)))
    .join(", ");
}

function item({ name, allowed, retryAfterMs }, left) {
  const number = left <= NUMBER_MAX ? `;r=${left}` : "";
  const time = allowed || retryAfterMs === null ? "" : `;t=${seconds(retryAfterMs)}`;
  return `${quoted(name)}${number}${time}`;
}

function remaining(row) {
  return Math.max(0, row.remaining - row.keep);
}

function seconds(ms) {
  return Math.ceil(ms / 1000);
}

/** A String of RFC 9651. Bytes that it cannot have are written as those of a Display String. */
function quoted(text) {
  const written = Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    if (byte < 0x20 || byte > 0x7e || character === "%") {
      return `%${byte.toString(16).padStart(2, "0")}`;
    }
    return character === '"' || character === "\\" ? `\\${character}` : character;
  });
  return `"${written.join("")}"`;
}
