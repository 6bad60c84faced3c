// The view of the keys that are denied most, and of those that are near their limits; and the keys
// that one limit denies most.
import {get} from './api.js';
import {h, quantity, setHidden, setText, updateRows} from './dom.js';
import {NONE, count, rate} from './format.js';
import {keyLink} from './key_link.js';
import {limitLink} from './limit_row.js';
import {Rates} from './rates.js';

const ROWS = 50;

const LISTS = [
  {by: 'denied', title: 'Denied most', column: 'Denials', namesLimits: true,
    empty: 'No key has been denied since the start or the last RL.STATS RESET.'},
  {by: 'near', title: 'Near their limits', column: 'Times near',
    empty: 'No key has come near a limit: 80 % of it in use after a request.'},
];

// `scale`: {most}, the count of the first row, which has the longest bar. `namesLimits`: the row
// ends with the limits that deny the key.
function keyRow(item, scale, namesLimits) {
  const rates = new Rates(10_000);
  const rank = h('td', {class: 'number rank'}, '');
  const perSecond = quantity();
  const times = h('span', {}, '');
  const error = h('span', {class: 'unit'}, '');
  const bar = h('span', {class: 'share'});
  const limits = h('td', {}, '');
  let named = '';
  return {
    root: h('tr', {}, rank, h('th', {scope: 'row'}, keyLink(item), bar),
      h('td', {class: 'number'}, perSecond.root),
      h('td', {class: 'number'}, times), h('td', {class: 'number error-bound'}, error),
      namesLimits ? [limits] : []),
    update(now) {
      setText(rank, String(now.rank));
      setText(times, count(now.count));
      setText(error, now.error ? `\u2264 ${count(now.error)} too many` : 'exact');
      if (namesLimits && String(now.limits) !== named) {
        named = String(now.limits);
        limits.replaceChildren(...now.limits.flatMap((name) => [limitLink(name), ' ']));
      }
      rates.add(now.time_ms, {count: now.count});
      const speed = rates.of('count');
      perSecond.set(speed === null ? [NONE, ''] : rate(speed));
      bar.style.transform = `scaleX(${(now.count / scale.most).toFixed(3)})`;
    },
  };
}

// A card with the keys of an answer. `path`, `parameters`: of the answer.
function keysCard({by, title, column, empty, namesLimits, path, parameters}) {
  const scale = {most: 1};
  const body = h('tbody');
  const none = h('p', {class: 'empty', hidden: true}, empty);
  const table = h('table', {class: `plain of-${by}`}, h('thead', {}, h('tr', {},
    h('th', {class: 'number rank', scope: 'col'}, '#'), h('th', {scope: 'col'}, 'Key'),
    h('th', {class: 'number', scope: 'col'}, 'Now'),
    h('th', {class: 'number', scope: 'col'}, column),
    h('th', {class: 'number error-bound', scope: 'col'}, 'Estimate'),
    namesLimits ? [h('th', {scope: 'col'}, 'Limits')] : [])), body);
  return {
    root: h('section', {class: 'card'}, h('h2', {}, title), none, table),
    async refresh() {
      const answer = await get(path, {n: ROWS, ...parameters});
      const {keys} = answer;
      const time = Date.now();
      scale.most = Math.max(1, ...keys.map((one) => one.count));
      const items = keys.map((one, i) => ({...one, rank: i + 1, time_ms: time}));
      updateRows(body, items, (one) => one.k, (item) => keyRow(item, scale, namesLimits));
      setHidden(none, items.length > 0);
      setHidden(table, items.length === 0);
      return answer;
    },
  };
}

// The keys that a limit denies most, for its view.
export function deniedByCard(name) {
  return keysCard({
    by: 'denied', title: 'Keys that it denies', column: 'Denials', path: '/api/limit',
    parameters: {name},
    empty: 'It has denied no key since the server counts its keys, as it does for 64 limits.',
  });
}

// The two lists take turns, so that there is one request a second.
export function whoView() {
  const cards = LISTS.map((list) =>
    keysCard({...list, path: '/api/top', parameters: {by: list.by}}));
  let turn = 0;
  return {
    root: h('div', {class: 'stack'}, h('h1', {}, 'Who'),
      h('p', {class: 'note'}, 'Counts since the start or the last RL.STATS RESET. A key leads to ',
        'its buckets. The server counts some thousand keys, so rare ones are estimates.'),
      h('div', {class: 'pair even'}, cards.map((card) => card.root))),
    title: 'Who',
    async poll() {
      if (turn === 0) await cards[1].refresh();
      await cards[turn++ % cards.length].refresh();
    },
  };
}
