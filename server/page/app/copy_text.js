// Lines of text for a chat, with what a view shows.
import {count, duration, latency, percent, rate} from './format.js';

function joined(pair) {
  return pair.filter(Boolean).join(' ');
}

function limitLine(limit) {
  const share = joined(percent(limit.denied, limit.allowed + limit.denied));
  return `  ${limit.limit}: ${count(limit.denied)} denied (${share})`;
}

function keyLine(key) {
  const by = key.limits?.length ? ` by ${key.limits.join(', ')}` : '';
  return `  ${key.key}: ${count(key.count)} denied${by}`;
}

function listed(title, lines) {
  return lines.length ? [`${title}, since the start:`, ...lines] : [];
}

// `rates`: a Rates of the totals. `limits`, `keys`: those that deny and are denied most.
export function nowText(now, rates, limits, keys) {
  const per = (name) => {
    const value = rates.of(name);
    return value === null ? 'unknown' : joined(rate(value));
  };
  const times = now.latency_us;
  const latencies = times ? [`latency of the last ${times.window_s} s: p50 ` +
    `${joined(latency(times.p50))}, p99 ${joined(latency(times.p99))}`] : [];
  return [
    `mean of 5 s: allowed ${per('allowed')}, denied ${per('denied')}, would deny ` +
      `${per('shadow_denied')}, near a limit ${per('near_limit')}`,
    `in all: ${count(now.total.allowed)} allowed, ${count(now.total.denied)} denied`,
    ...latencies, `up for ${duration(now.uptime_s * 1000)}`,
    ...now.replication.replicas.map((one) =>
      `replica ${one.address}: ${one.online ? 'in sync' : 'receives its first state'}`),
    ...listed('limits that deny most', limits.map(limitLine)),
    ...listed('keys denied most', keys.map(keyLine)),
  ];
}

// `limit`: /api/limit.
export function limitText(limit) {
  return [
    ...(limit.definition ? [`definition: ${limit.definition}`] : []),
    ...(limit.policy ? [`policy: ${limit.policy}`] : []),
    `denied since the start: ${count(limit.denied)}`,
    ...listed('keys that it denies', limit.keys.slice(0, 10).map(keyLine)),
  ];
}

// `key`: /api/key.
export function keyText(key, verdict) {
  return [
    verdict,
    ...key.buckets.map(({limit, remaining, capacity, reset_after_ms: reset, banned_ms: banned}) =>
      `  ${limit}: ${count(remaining)} left${capacity === null ? '' : ` of ${count(capacity)}`}, ` +
      (banned ? `banned for ${duration(banned)} more` : `full in ${duration(reset)}`)),
    ...(key.denied_by?.length ? [`has been denied by ${key.denied_by.join(', ')}`] : []),
    ...(key.holds.length ? [`${count(key.holds.length)} holds`] : []),
    ...key.overrides.map(({policy, limits}) => `override of ${policy}: ${limits.join(' ')}`),
  ];
}
