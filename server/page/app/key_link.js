// Keys of clients as links to their buckets.
import {h} from './dom.js';

// Bytes that cannot be seen are in the key's text as U+FFFD; `k` has them all.
export function keyLink({key, k, cut}) {
  if (cut) {
    const title = 'Longer than the part that is kept';
    return h('span', {class: 'mono key', title}, `${key}\u2026`);
  }
  return h('a', {class: 'mono key', href: `#/key/${k}`}, key === '' ? '(empty)' : key);
}
