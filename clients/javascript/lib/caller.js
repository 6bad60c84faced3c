// The caller of a request: the key `ip:...` of its address, as weir's own {ip} writes it.
//
// A user may have a whole IPv6 network, so 64 bits count. But an address that carries an IPv4
// address is that one: mapped, translated (also by NAT64), 6to4 or compatible.
import { isIPv4, isIPv6 } from "node:net";

import { Mistake } from "./errors.js";

// The first 96 bits of addresses whose last 32 are an IPv4 address.
const CARRIERS = ["0:0:0:0:0:ffff", "0:0:0:0:ffff:0", "64:ff9b:0:0:0:0"];
const COMPATIBLE = "0:0:0:0:0:0";
const SIX_TO_FOUR = 0x2002;

/**
 * The key of a request: `peer` is the address of the connection, `forwarded` the values of
 * X-Forwarded-For, of which the entry `trustedHops` from the right is read if that is above 0.
 */
export function callerKey(peer, forwarded = [], trustedHops = 0) {
  let text = peer;
  if (trustedHops > 0) {
    const entries = forwarded.flatMap((value) => value.split(","));
    if (entries.length < trustedHops) {
      throw new Mistake(`X-Forwarded-For has fewer than ${trustedHops} entries`);
    }
    text = entries.at(-trustedHops).replace(/^[ \t]+|[ \t]+$/g, "");
  }
  const network = networkOf(text);
  if (network === undefined) {
    throw new Mistake("the request has no address to limit it by: pass `key`");
  }
  return `ip:${network}`;
}

/** The IPv4 address, or the network of the IPv6 address, that counts as one caller. */
function networkOf(text) {
  const match = /^(?:\[([^\]]*)\](?::[0-9]+)?|([^:[\]]*):[0-9]+|([^[\]]*))$/.exec(text);
  if (!match) return undefined;
  const address = match[1] ?? match[2] ?? match[3];
  if (isIPv4(address)) return address;
  const unscoped = address.split("%", 1)[0];
  if (!isIPv6(unscoped)) return undefined;
  const parts = partsOf(unscoped);
  const carried = carriedIn(parts);
  if (carried) return carried.flatMap((part) => [part >> 8, part & 255]).join(".");
  const network = parts.slice(0, 4);
  while (network.at(-1) === 0) network.pop();
  return `${network.map((part) => part.toString(16)).join(":")}::`;
}

/** The eight numbers of an IPv6 address. */
function partsOf(address) {
  const plain = address.replace(/[^:]*\..*$/, (ipv4) => {
    const [a, b, c, d] = ipv4.split(".").map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [before, after] = plain.split("::").map((half) =>
    half === "" ? [] : half.split(":").map((part) => parseInt(part, 16)),
  );
  if (after === undefined) return before;
  return [...before, ...Array(8 - before.length - after.length).fill(0), ...after];
}

/** The two numbers of the IPv4 address within an IPv6 address, or undefined. */
function carriedIn(parts) {
  const first = parts.slice(0, 6).map((part) => part.toString(16)).join(":");
  const last = parts.slice(6);
  const isCompatible = first === COMPATIBLE && (last[0] > 0 || last[1] > 1);
  if (CARRIERS.includes(first) || isCompatible) return last;
  return parts[0] === SIX_TO_FOUR ? parts.slice(1, 3) : undefined;
}
