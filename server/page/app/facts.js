// Facts about the server in groups: name, text, a sentence about it, and whether it is bad.
import {NONE, bytes, count, duration, latency, rate} from './format.js';

function unit([number, of]) {
  return of ? `${number} ${of}` : number;
}

function lastSave(now) {
  if (now.last_save_age_ms === null) {
    return now.durability === 'none' ? 'never: nothing is kept' : 'not yet';
  }
  const age = `${duration(now.last_save_age_ms)} ago`;
  return now.last_save_ok ? age : `FAILING; the last good one ${age}`;
}

function memory(now) {
  const table = `table ${unit(bytes(now.memory_bytes))}`;
  const most = now.max_memory_bytes ? ` of ${unit(bytes(now.max_memory_bytes))}` : '';
  return `${table}${most}, process ${unit(bytes(now.process_memory_bytes))}`;
}

function lostBy(ms) {
  return ms === null ? NONE : `at most ${duration(ms)}`;
}

// What came in the last minute, as a number a minute.
function aMinute(number, window) {
  return `${count(window > 0 ? Math.round(number * 60 / window) : 0)} /min`;
}

function load(now, commands) {
  const times = now.latency_us;
  const span = times ? `in the last ${times.window_s} s` : 'in the last minute';
  const minute = now.last_minute;
  return ['Load', [
    ['Latency, p50', times ? unit(latency(times.p50)) : NONE,
      `Half of the commands that ask for tokens took no longer, ${span}`],
    ['Latency, p99', times ? unit(latency(times.p99)) : NONE,
      `99 of 100 commands that ask for tokens took no longer, ${span}`],
    ['Commands', commands === null ? NONE : unit(rate(commands)),
      'Commands of all kinds, the mean of the last 5 s'],
    ['Errors', aMinute(minute.errors, minute.window_s),
      'Commands that were answered with an error, in the last minute; a denial is no error'],
    ['Buckets', `${count(now.buckets)} not full`, 'Buckets in memory now'],
    ['Open holds', count(now.holds),
      'Holds (RL.RESERVE) that are neither settled nor expired, now'],
    ['Bans', count(now.total.bans),
      'Denials that shut a limit (ban=), since the start or the last RL.STATS RESET'],
    ['Charged above the limit', count(now.total.charged_beyond),
      'RL.CHARGE that took more than was left, since the start or the last RL.STATS RESET'],
  ]];
}

function state(now) {
  const evicted = now.last_minute.evicted;
  const full = now.max_memory_bytes && now.memory_bytes > 0.9 * now.max_memory_bytes;
  const failover = now.role === 'primary' && now.replication.replicas.length > 0;
  return ['State', [
    ['Memory', memory(now), 'The table of buckets, and the resident memory of the process, now',
      full],
    ['Evictions', aMinute(evicted, now.last_minute.window_s),
      'Buckets dropped because of --max-memory, in the last minute', evicted > 0],
    ['Limits in use', count(now.limits), 'Distinct limits that buckets have now'],
    ['Policies', count(now.policies), 'Policies now, with those that the policy file has dropped'],
    ['Durability', now.durability, 'The option --durability, or none without --data-dir'],
    ['Last save', lastSave(now), 'The beginning of the last save that succeeded',
      !now.last_save_ok],
    ['Lost by a crash', lostBy(now.loss_bound_ms),
      'The time whose admissions a crash now would lose'],
    ...(failover ? [['Lost by a failover', lostBy(now.replication.loss_bound_ms),
      'The time whose admissions a failover now would lose']] : []),
    ['Up for', duration(now.uptime_s * 1000), 'The time since the start of the server'],
  ]];
}

function clients(now) {
  const {rejected_connections: rejected, window_s: window} = now.last_minute;
  return ['Clients', [
    ['Connections', `${count(now.connections)} RESP, ${count(now.http_connections)} HTTP`,
      'Open connections now, with that of this page'],
    ['Rejected connections', aMinute(rejected, window),
      'Connections closed as --max-clients were open, in the last minute', rejected > 0],
  ]];
}

// `now`: /api/now. `commands`: a second, or null.
export function facts(now, commands) {
  return [load(now, commands), state(now), clients(now)];
}
