// The view of all limits, a row each.
import {get} from './api.js';
import {h, quantity, setClass, setHidden, setText, updateRows} from './dom.js';
import {NONE, count, percent, rate} from './format.js';
import {limitLink} from './limit_row.js';
import {policyPosition} from './limit_text.js';
import {showRealCommand} from './make_real.js';
import {Rates} from './rates.js';
import {Sorting, filterField, rowsShown} from './sorting.js';
import {highestOf, spark} from './spark.js';

const MEAN_SECONDS = 10;  // over which the rates of rows are means
const HOUR_S = 3600;
const USUAL_EVERY = 60;  // polls
const HIGH_SHARE = 0.1;

const NAMES = ['allowed', 'denied', 'shadow_denied', 'near_limit'];
const SINCE = 'since the start or the last RL.STATS RESET';

// What a row shows of a limit, in the order of the columns. `of` sorts; `text` is shown; `place` is
// that on a narrow screen, where a row without one is folded.
const COLUMNS = [
  {title: 'Allowed', place: 'allowed', of: (row) => row.allowed ?? 0,
    text: (row) => optionalRate(row.allowed),
    note: 'Requests a second that this limit admitted, in the last 10 s'},
  {title: 'Denied', place: 'denied', of: (row) => row.denied ?? 0,
    text: (row) => optionalRate(row.denied), colour: (row) => row.high && 'of-denied',
    note: 'Requests a second that it denied, in the last 10 s; red if that is over 10 % or twice ' +
      'the mean of the last hour'},
  {title: 'Denied, share', place: 'part', of: shareOf,
    text: (row) => percent(row.denied, row.allowed + row.denied),
    note: 'The part of its requests that it denied, in the last 10 s'},
  {title: 'Would deny', of: (row) => row.shadow_denied ?? 0,
    text: (row) => optionalRate(row.shadow_denied),
    colour: (row) => row.shadow_denied > 0 && 'of-shadow',
    note: 'Requests a second that it would have denied if it were not on trial, in the last 10 s'},
  {title: 'Near a limit (80\u00a0%)', of: (row) => row.near_limit ?? 0,
    text: (row) => optionalRate(row.near_limit),
    note: 'Admissions a second after which 80 % of it was in use, in the last 10 s'},
  {title: 'Bans', of: (row) => row.total.bans, text: (row) => [count(row.total.bans)],
    note: `Denials that shut it (ban=), ${SINCE}`},
  {title: 'Allowed since the start', kind: 'total', of: (row) => row.total.allowed,
    text: (row) => [count(row.total.allowed)], note: `Requests that it admitted, ${SINCE}`},
  {title: 'Denied since the start', kind: 'total', of: (row) => row.total.denied,
    text: (row) => [count(row.total.denied)], note: `Requests that it denied, ${SINCE}`},
].map((column) => ({...column, kind: `number ${column.kind ?? ''}`}));

function optionalRate(value) {
  return value === null ? [NONE, ''] : rate(value);
}

function shareOf({allowed, denied}) {
  return allowed + denied > 0 ? denied / (allowed + denied) : 0;
}

// The rates of a limit, from its last seconds where the server keeps them, else between polls.
function ratesOf(limit, rates) {
  const last = limit.recent?.slice(-MEAN_SECONDS);
  return Object.fromEntries(NAMES.map((name, i) => [name, last?.length
    ? last.reduce((sum, step) => sum + (step[i] ?? 0), 0) / last.length : rates.of(name)]));
}

// Whether a limit denies more than one is used to. `usual`: its denials per second in the last
// hour, undefined if that is not known.
export function deniesMuch(row, usual) {
  return row.denied > 0 && (shareOf(row) > HIGH_SHARE || (usual > 0 && row.denied > 2 * usual));
}

// The denials per second of each limit in the last hour, by its name.
async function usualDenials() {
  const from = Math.floor(Date.now() / 1000) - HOUR_S;
  const {series, step} = await get('/api/history', {step: 300, limit: '*', from});
  return new Map(series.map(({limit, denied}) => {
    const known = denied.filter((number) => number !== null);
    return [limit, known.reduce((sum, number) => sum + number, 0) / (known.length * step || 1)];
  }));
}

function limitRow({limit}) {
  const line = spark();
  const cells = COLUMNS.map(() => quantity());
  const columns = COLUMNS.map((column, i) => h('td', {
    class: `${column.kind} ${column.place ?? 'folded'}`, 'data-label': column.title,
  }, cells[i].root));
  const real = h('button', {
    type: 'button', class: 'quiet', click: () => showRealCommand(limit.limit),
  }, 'Make real\u2026');
  const tag = h('span', {class: 'tag of-shadow'}, 'shadow');
  const more = h('button', {type: 'button', class: 'quiet more', 'aria-expanded': 'false',
    'aria-label': 'All numbers', click: () => {
      more.setAttribute('aria-expanded', String(root.classList.toggle('unfolded')));
    }}, '\u22ef');
  const root = h('tr', {},
    h('th', {scope: 'row'}, limitLink(limit.limit), ' ', tag, ' ', real, more),
    h('td', {class: 'trend'}, line.root), columns);
  return {
    root,
    update(row) {
      setHidden(tag, !row.limit.shadow);
      setHidden(real, !row.limit.shadow);
      setClass(root, 'continues', row.continues);
      line.set(row.limit.recent, row.highest);
      COLUMNS.forEach((column, i) => {
        cells[i].set(column.text(row));
        const colour = column.colour?.(row);
        for (const one of ['of-denied', 'of-shadow']) setClass(columns[i], one, one === colour);
      });
    },
  };
}

// Keeps rows where they are while the pointer or the focus is among them.
function steadyOrder(body, rows, known) {
  const held = body.matches(':hover') || body.contains(document.activeElement);
  if (!held) return rows;
  const place = new Map(known.map((name, i) => [name, i]));
  const at = ({limit}) => place.get(limit.limit) ?? known.length;
  return [...rows].sort((a, b) => at(a) - at(b));
}

function policyOf({limit}) {
  return policyPosition(limit.limit)?.policy ?? null;
}

// Puts the limits of a policy behind the first of them, in their order.
export function groupedByPolicy(rows) {
  const groups = new Map();
  for (const row of rows) {
    const name = policyOf(row) ?? row;
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  const position = ({limit}) => policyPosition(limit.limit)?.position ?? 0;
  return [...groups.values()].flatMap((group) =>
    [...group].sort((a, b) => position(a) - position(b)));
}

export function limitsView() {
  const body = h('tbody');
  const note = h('p', {class: 'note'}, `Rates and shares are means of the last ${MEAN_SECONDS} s.`,
    h('span', {class: 'when-narrow'}, 'Right of a name: the share that it denied; below, what it ' +
      'allowed and denied.'));
  const more = h('p', {class: 'note', hidden: true}, '');
  const empty = h('p', {class: 'empty', hidden: true},
    'No limit has been used since the start or the last RL.STATS RESET.');
  const trend = {title: 'Last minute', note: 'Each second of the last minute; all rows have the ' +
    'scale that the heading names'};
  const name = {title: 'Limit', of: ({limit}) => limit.limit,
    note: 'The name of the limit in RL.STATS; the limits of a policy stand together'};
  let wake = () => {};
  const sorting = new Sorting([name, trend, ...COLUMNS], () => wake());
  const filter = filterField('Filter limits', () => wake());
  const all = rowsShown(() => wake());
  const table = h('table', {class: 'wide limits-table'},
    h('thead', {}, h('tr', {}, sorting.heads)), body);
  const root = h('section', {class: 'card'}, h('div', {class: 'head'}, h('h1', {}, 'Limits'),
    h('div', {class: 'tools'}, sorting.select, filter.root)), note, empty, table, all.root, more);
  let rates = new Map();  // of each limit
  let known = [];
  let usual = new Map();
  let polls = 0;

  // A limit with its rates, as the columns read it.
  const measured = (limit, time) => {
    const of = rates.get(limit.limit);
    of.add(time, Object.fromEntries(NAMES.map((one) => [one, limit[one]])));
    const row = {...ratesOf(limit, of), limit, total: limit};
    return {...row, high: deniesMuch(row, usual.get(limit.limit))};
  };

  return {
    root,
    title: 'Limits',
    wake: (poll) => { wake = poll; },
    async poll() {
      const answer = await get('/api/limits');
      if (polls++ % USUAL_EVERY === 0) usual = await usualDenials();
      const highest = highestOf(answer.limits);
      rates = new Map(answer.limits.map(({limit}) =>
        [limit, rates.get(limit) ?? new Rates(1000 * MEAN_SECONDS)]));
      const rows = filter.pick(answer.limits.map((limit) => measured(limit, answer.time_ms)),
        ({limit}) => limit.limit);
      const sorted = sorting.by ? sorting.sort(rows) : groupedByPolicy(rows);
      const shown = steadyOrder(body, all.cut(sorted), known);
      known = shown.map(({limit}) => limit.limit);
      updateRows(body, shown.map((row, i) => ({
        ...row, highest,
        continues: i > 0 && policyOf(row) !== null && policyOf(row) === policyOf(shown[i - 1]),
      })), ({limit}) => limit.limit, limitRow);
      setText(sorting.heads[1], `Last minute, up to ${rate(highest).join('')}`);
      setHidden(empty, answer.limits.length > 0);
      setHidden(table, answer.limits.length === 0);
      setHidden(more, !answer.more);
      setText(more, `And ${count(answer.more)} more limits that were used less.`);
    },
  };
}
