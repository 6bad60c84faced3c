// Patterns of arrivals for the simulation: when requests come, in milliseconds, ascending.

export const ARRIVALS_MAX = 10_000;

function steady(perSecond, endMs) {
  const times = [];
  for (let i = 0; perSecond > 0 && i * 1000 / perSecond < endMs; ++i) {
    if (times.push(Math.floor(i * 1000 / perSecond)) > ARRIVALS_MAX) break;
  }
  return times;
}

function bursts(size, everyMs, endMs) {
  const times = [];
  for (let at = 0; size > 0 && at < endMs && times.length <= ARRIVALS_MAX; at += everyMs) {
    times.push(...Array(Math.min(size, ARRIVALS_MAX + 1)).fill(at));
  }
  return times;
}

// `rate` per second, and `burst` at once every `every` seconds, for `seconds`.
export function arrivals({rate, burst, every, seconds}) {
  const endMs = 1000 * seconds;
  const both = [...steady(rate, endMs), ...bursts(burst, Math.max(1, 1000 * every), endMs)];
  return both.sort((a, b) => a - b);
}
