// The meaning of an error of the server: an outage that passes, or a mistake to be mended.
//
//     LOADING weir is loading its state from disk      an outage, "loading"
//     NOPERM this user has no permissions ...          a mistake; after the first success of this
//                                                      Limiter an outage, "login": passwords change
//     ERR invalid limit '10/x': ...                    a mistake
//
// The other causes of an outage are timeout and connection; noprimary is also that no Sentinel
// names one, and busy that too many wait.
const OUTAGES = new Set([
  "LOADING", "READONLY", "NOREPLICAS", "NOACK", "MISCONF", "OOM", "BUSY", "MASTERDOWN",
  "CLUSTERDOWN", "UNBLOCKED", "NOPRIMARY",
]);
const LOGIN = new Set(["NOAUTH", "WRONGPASS", "NOPERM", "DENIED"]);
const FULL = "ERR max number of clients reached";

// Behind these a server may serve again, but not on this connection, or not at this address.
const ENDS_CONNECTION = new Set([
  "NOAUTH", "WRONGPASS", "DENIED", "LOADING", "READONLY", "MASTERDOWN",
]);

/** The cause of an outage, or undefined for a mistake. */
export function causeOf(refused, hasSucceeded) {
  const prefix = prefixOf(refused);
  if (refused.message.startsWith(FULL)) return "full";
  if (OUTAGES.has(prefix)) return prefix.toLowerCase();
  if ((LOGIN.has(prefix) || refused.isLogin) && hasSucceeded) return "login";
  return undefined;
}

/** Whether the next call needs a new connection, perhaps to another server. */
export function endsConnection(refused) {
  return ENDS_CONNECTION.has(prefixOf(refused)) || refused.message.startsWith(FULL);
}

function prefixOf(refused) {
  return refused.message.split(" ", 1)[0];
}
