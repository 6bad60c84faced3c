// The view of the keys that are denied most, and of those that are near their limits; and the keys
// that one limit denies most.
import {get} from './api.js';
import {h, quantity, setClass, setHidden, setText, updateRows} from './dom.js';
import {NONE, count, rate} from './format.js';
import {keyId, keyLink} from './key_link.js';
import {limitLink} from './limit_row.js';
import {Rates} from './rates.js';
import {Sorting, filterField, rowsShown} from './sorting.js';

const ROWS = 100;
const SINCE = 'since the start or the last RL.STATS RESET';

const LISTS = [
  {by: 'denied', title: 'Denied most', column: 'Denied since the start', namesLimits: true,
    note: `Requests of the key that were denied, ${SINCE}`,
    empty: 'No key has been denied since the start or the last RL.STATS RESET.'},
  {by: 'near', title: 'Near their limits', column: 'Times near since the start',
    note: `Requests of the key that were admitted and left 80 % of a limit in use, ${SINCE}`,
    empty: 'No key has come near a limit: 80 % of it in use after a request.'},
];

// Links to limits in `cell`; touches nothing if they are there.
export function limitLinks(cell) {
  let named = '';
  return (limits) => {
    if (String(limits) === named) return;
    named = String(limits);
    cell.replaceChildren(...limits.flatMap((name) => [limitLink(name), ' ']));
  };
}

// `namesLimits`: the row ends with the limits that deny the key.
function keyRow(item, namesLimits) {
  const rank = h('td', {class: 'number rank'}, '');
  const perSecond = quantity();
  const times = h('span', {}, '');
  const error = h('span', {class: 'unit'}, '');
  const bar = h('span', {class: 'share'});
  const limits = h('td', {class: 'by'}, '');
  const setLimits = limitLinks(limits);
  return {
    root: h('tr', {}, rank, h('th', {scope: 'row'}, keyLink(item), bar),
      h('td', {class: 'number'}, perSecond.root),
      h('td', {class: 'number'}, times), h('td', {class: 'number error-bound'}, error),
      namesLimits ? [limits] : []),
    update(now) {
      setText(rank, String(now.rank));
      setText(times, count(now.count));
      setText(error, now.error ? `\u2264 ${count(now.error)} too many` : '');
      setLimits(now.limits ?? []);
      perSecond.set(now.speed === null ? [NONE, ''] : rate(now.speed));
      bar.style.transform = `scaleX(${(now.count / now.most).toFixed(3)})`;
    },
  };
}

// A card with the keys of an answer. `path`, `parameters`: of the answer.
function keysCard({by, title, column, note, empty, namesLimits, path, parameters}) {
  const columns = [
    {title: '#', kind: 'number rank', note: 'The rank by the count'},
    {title: 'Key', of: ({key}) => key, note: 'Leads to its buckets'},
    {title: 'Now', kind: 'number', of: ({speed}) => speed ?? 0,
      note: 'A second, in the last 10 s that this page was open'},
    {title: column, kind: 'number', of: (item) => item.count, note},
    {title: 'Estimate', kind: 'number error-bound', note: 'Counts of rare keys may be too high'},
    ...(namesLimits ? [{title: 'Limits', kind: 'by', note: 'The limits that denied it'}] : []),
  ];
  let last = [];
  let rates = new Map();  // of each key
  const body = h('tbody');
  const none = h('p', {class: 'empty', hidden: true}, empty);
  const sorting = new Sorting(columns, () => show());
  const filter = filterField(`Filter: ${title}`, () => show());
  const all = rowsShown(() => show());
  const table = h('table', {class: `plain keys of-${by}`},
    h('thead', {}, h('tr', {}, sorting.heads)), body);
  const show = () => {
    const items = sorting.sort(filter.pick(last, ({key}) => key));
    updateRows(body, all.cut(items), keyId, (item) => keyRow(item, namesLimits));
    setClass(table, 'exact', last.every((one) => !one.error));
    setHidden(none, last.length > 0);
    setHidden(table, last.length === 0);
  };
  return {
    root: h('section', {class: 'card'},
      h('div', {class: 'head'}, h('h2', {}, title), filter.root), none, table, all.root),
    async refresh() {
      const answer = await get(path, {n: ROWS, ...parameters});
      const time = Date.now();
      const most = Math.max(1, ...answer.keys.map((one) => one.count));
      rates = new Map(answer.keys.map(keyId).map((id) => [id, rates.get(id) ?? new Rates(10_000)]));
      last = answer.keys.map((one, i) => {
        rates.get(keyId(one)).add(time, {count: one.count});
        return {...one, rank: i + 1, most, speed: rates.get(keyId(one)).of('count')};
      });
      show();
      return answer;
    },
  };
}

// The keys that a limit denies most, for its view.
export function deniedByCard(name) {
  return keysCard({
    by: 'denied', title: 'Keys that it denies', column: 'Denied since the start',
    note: `Requests of the key that this limit denied, ${SINCE}`, path: '/api/limit',
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
      h('p', {class: 'note'}, 'A key leads to its buckets. The server counts some thousand keys, ' +
        'so rare ones are estimates.'),
      h('div', {class: 'pair even'}, cards.map((card) => card.root))),
    title: 'Who',
    async poll() {
      if (turn === 0) await cards[1].refresh();
      await cards[turn++ % cards.length].refresh();
    },
  };
}
