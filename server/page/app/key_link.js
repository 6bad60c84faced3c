// Keys of clients as links to their buckets.
import {h} from './dom.js';

// Bytes that cannot be seen are in the key's text as U+FFFD; `k` has them all. A key whose text is
// cut is found by `hash`.
export function keyLink({key, k, cut, hash}) {
  if (cut) {
    const title = 'Longer than the part that is kept: its buckets can be seen, not changed';
    return h('a', {class: 'mono key', href: `#/cut/${hash}`, title}, `${key}\u2026`);
  }
  return h('a', {class: 'mono key', href: `#/key/${k}`}, key === '' ? '(empty)' : key);
}

// What tells the row of one key from others: two that are cut may have the same text.
export function keyId({k, hash}) {
  return hash ?? k;
}
