// A short row for a limit: its name, its last minute, and how much it denies.
import {h, quantity, setText} from './dom.js';
import {count, percent} from './format.js';
import {spark} from './spark.js';

export function limitName(limit) {
  return limit.limit;
}

export function limitLink(name) {
  return h('a', {class: 'mono', href: `#/limits/${encodeURIComponent(name)}`}, name);
}

export function limitRow() {
  const name = h('td', {}, '');
  const line = spark();
  const denied = h('td', {class: 'number'}, '');
  const share = quantity();
  return {
    root: h('tr', {}, name, h('td', {class: 'trend'}, line.root), denied,
      h('td', {class: 'number'}, share.root)),
    update(limit) {
      if (name.textContent !== limit.limit) name.replaceChildren(limitLink(limit.limit));
      line.set(limit.recent, limit.highest);
      setText(denied, count(limit.denied));
      share.set(percent(limit.denied, limit.allowed + limit.denied));
    },
  };
}
