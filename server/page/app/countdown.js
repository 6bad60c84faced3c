// A bucket between two polls. The server says what is left, when the next token comes and when the
// bucket is full; from these the page continues to count at each frame.
import {count, duration} from './format.js';

// Whether the tokens come back one after the other, and how many ms each takes. In a window all
// come back at its end, so that the next token and the full window are the same instant.
function refill(bucket) {
  const missing = bucket.capacity - bucket.remaining;
  const later = bucket.reset_after_ms - bucket.next_token_ms;
  if (bucket.next_token_ms === null || missing < 1) return null;
  if (missing > 1) return later > 0 ? later / (missing - 1) : null;
  return periodOf(bucket.limit, bucket.reset_after_ms);
}

// The time between two tokens of "10/s"; null for windows and names. It is asked for only when the
// last token is missing, which takes at least `atLeast` ms.
function periodOf(limit, atLeast) {
  const match = /^(\d+)\/(\d*)(ms|s|m|h|d|w)(?:,(.*))?$/.exec(limit);
  if (!match || /\b(fixed|sliding)\b/.test(match[4] ?? '')) return null;
  const unit = {ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5}[match[3]];
  return Math.max(atLeast, Number(match[2] || 1) * unit / Number(match[1]));
}

// What a bucket is `elapsed` ms after the server told it.
export function bucketAt(bucket, elapsed) {
  const reset = Math.max(0, bucket.reset_after_ms - elapsed);
  const banned = Math.max(0, (bucket.banned_ms ?? 0) - elapsed);
  const each = refill(bucket);
  const next = bucket.next_token_ms === null ? null : bucket.next_token_ms - elapsed;
  let remaining = reset === 0 ? bucket.capacity ?? bucket.remaining : bucket.remaining;
  if (each && reset > 0 && next <= 0) {
    remaining = Math.min(bucket.capacity - 1, bucket.remaining + 1 + Math.floor(-next / each));
  }
  const level = each ? 1 - reset / (each * bucket.capacity) : remaining / bucket.capacity;
  const untilNext = next === null || next > 0 || !each ? next : each - (-next % each);
  return {
    remaining, reset, banned, each, next: reset === 0 ? null : untilNext,
    fraction: bucket.capacity ? Math.min(1, Math.max(0, level)) : null,
  };
}

const SLOW_MS = 500;  // tokens that come quicker are shown by their rate: no eye follows them

// The sentence below a bar.
export function describe(state) {
  if (state.reset === 0) return 'full';
  const full = `full in ${duration(state.reset)}`;
  if (state.next === null || state.next < 0) return full;
  if (!state.each) return `all back in ${duration(state.reset)}`;
  if (state.each < SLOW_MS) return `${count(Math.round(1000 / state.each))}/s, ${full}`;
  return `next token in ${duration(state.next)}, ${full}`;
}

// The same of a held limit, whose tokens come back by settlements, too.
export function describeHeld(state) {
  return state.reset === 0 ? 'full' : `last hold expires in ${duration(state.reset)}`;
}
