// The meaning of a key's buckets for its next request of one token.
import {isShadow} from './limit_text.js';

function listed(buckets) {
  return buckets.map((bucket) => bucket.limit).join(', ');
}

// CL.THROTTLE's limits come with each request, so that their buckets have no numbers.
function isSpent(bucket) {
  return bucket.capacity !== null && bucket.remaining <= 0;
}

// `buckets`: those of /api/key. Returns `text`, and whether a real limit denies the request.
export function keyVerdict(buckets) {
  if (!buckets.length) {
    return {denied: false, text: 'Free: all its limits are full, so there is no bucket to show.'};
  }
  const shut = buckets.filter((bucket) => bucket.banned_ms > 0 || isSpent(bucket));
  const denying = shut.filter((bucket) => !isShadow(bucket.limit));
  const banned = denying.filter((bucket) => bucket.banned_ms > 0);
  if (banned.length) return {denied: true, text: `Banned by ${listed(banned)}.`};
  if (denying.length) return {denied: true, text: `Denied now by ${listed(denying)}.`};
  const trial = shut.length ? ` If it were real, ${listed(shut)} would deny.` : '';
  return {denied: false, text: `May go on.${trial}`};
}
