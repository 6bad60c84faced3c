// The view of all limits, a row each, and that of one limit over time.
import {get} from './api.js';
import {h, quantity, setClass, setHidden, setText, updateRows} from './dom.js';
import {NONE, count, percent, rate} from './format.js';
import {HistoryPanel} from './history_panel.js';
import {limitLink} from './limit_row.js';
import {showRealCommand} from './make_real.js';
import {Rates} from './rates.js';
import {spark} from './spark.js';
import {deniedByCard} from './who.js';

const MEAN_SECONDS = 10;  // over which the rates of rows are means

// What a row shows of a limit, in the order of the columns.
const COLUMNS = [
  {title: 'Allowed', of: (row) => optionalRate(row.allowed)},
  {title: 'Denied', of: (row) => optionalRate(row.denied), matters: 'denied'},
  {title: 'Denied, share', of: (row) => percent(row.denied, row.allowed + row.denied)},
  {title: 'Would deny', of: (row) => optionalRate(row.shadow_denied), matters: 'shadow'},
  {title: 'Near', of: (row) => optionalRate(row.near_limit)},
  {title: 'Bans', of: (row) => [count(row.total.bans)]},
  {title: 'Allowed, total', of: (row) => [count(row.total.allowed)], kind: 'total'},
  {title: 'Denied, total', of: (row) => [count(row.total.denied)], kind: 'total'},
];

const NAMES = ['allowed', 'denied', 'shadow_denied', 'near_limit'];

function optionalRate(value) {
  return value === null ? [NONE, ''] : rate(value);
}

// The rates of a limit, from its last seconds where the server keeps them, else between polls.
function ratesOf(limit, rates) {
  const last = limit.recent?.slice(-MEAN_SECONDS);
  return NAMES.map((name, i) => last?.length
    ? last.reduce((sum, step) => sum + (step[i] ?? 0), 0) / last.length : rates.of(name));
}

function limitRow(limit) {
  const rates = new Rates(1000 * MEAN_SECONDS);
  const line = spark();
  const cells = COLUMNS.map(() => quantity());
  const columns = COLUMNS.map((column, i) =>
    h('td', {class: `number ${column.kind ?? ''}`, 'data-label': column.title}, cells[i].root));
  const real = h('button', {
    type: 'button', class: 'quiet', click: () => showRealCommand(limit.limit),
  }, 'Make real\u2026');
  const tag = h('span', {class: 'tag of-shadow'}, 'shadow');
  return {
    root: h('tr', {}, h('th', {scope: 'row'}, limitLink(limit.limit), ' ', tag, ' ', real),
      h('td', {class: 'trend'}, line.root), columns),
    update(now) {
      rates.add(now.time_ms, Object.fromEntries(NAMES.map((name) => [name, now[name]])));
      const [allowed, denied, shadow_denied, near_limit] = ratesOf(now, rates);
      const row = {allowed, denied, shadow_denied, near_limit, total: now};
      setHidden(tag, !now.shadow);
      setHidden(real, !now.shadow);
      line.set(now.recent);
      COLUMNS.forEach((column, i) => {
        const value = column.of(row);
        cells[i].set(value);
        if (column.matters) setClass(columns[i], `of-${column.matters}`, /[1-9]/.test(value[0]));
      });
    },
  };
}

// Keeps rows where they are while the pointer or the focus is among them.
function steadyOrder(body, limits, sortBy, known) {
  const held = body.matches(':hover') || body.contains(document.activeElement);
  const sorted = sortBy ? [...limits].sort((a, b) => b[sortBy] - a[sortBy]) : limits;
  if (!held) return sorted;
  const place = new Map(known.map((name, i) => [name, i]));
  const at = (limit) => place.get(limit.limit) ?? known.length;
  return [...limits].sort((a, b) => at(a) - at(b));
}

const ORDERS = [
  {label: 'busiest', by: null},
  {label: 'most denied', by: 'denied'},
  {label: 'most shadow', by: 'shadow_denied'},
];

export function limitsView() {
  const body = h('tbody');
  const note = h('p', {class: 'note'}, `Rates and shares are means of the last ${MEAN_SECONDS} s. `,
    'Totals count since the start or the last RL.STATS RESET.');
  const more = h('p', {class: 'note', hidden: true}, '');
  const empty = h('p', {class: 'empty', hidden: true},
    'No limit has been used since the start or the last RL.STATS RESET.');
  const heads = ['Limit', 'Last minute', ...COLUMNS.map((column) => column.title)];
  const table = h('table', {class: 'wide'}, h('thead', {}, h('tr', {}, heads.map((text, i) =>
    h('th', {scope: 'col', class: i > 1 ? 'number' : ''}, text)))), body);
  let order = ORDERS[0];
  let known = [];
  let wake = () => {};
  const choose = (chosen) => {
    order = chosen;
    buttons.forEach((button, i) =>
      button.setAttribute('aria-pressed', String(ORDERS[i] === order)));
    wake();
  };
  const buttons = ORDERS.map((one) => h('button', {
    type: 'button', 'aria-pressed': String(one === order), click: () => choose(one),
  }, one.label));
  const root = h('section', {class: 'card'}, h('div', {class: 'head'}, h('h1', {}, 'Limits'),
    h('div', {class: 'segments', role: 'group', 'aria-label': 'Order'}, buttons)),
  note, empty, table, more);

  return {
    root,
    title: 'Limits',
    wake: (poll) => { wake = poll; },
    async poll() {
      const answer = await get('/api/limits');
      const limits = answer.limits.map((limit) => ({...limit, time_ms: answer.time_ms}));
      const shown = steadyOrder(body, limits, order.by, known);
      known = shown.map((limit) => limit.limit);
      updateRows(body, shown, (limit) => limit.limit, limitRow);
      setHidden(empty, limits.length > 0);
      setHidden(table, limits.length === 0);
      setHidden(more, !answer.more);
      setText(more, `And ${count(answer.more)} more limits that were used less.`);
    },
  };
}

export function limitView(name) {
  const history = new HistoryPanel(name);
  const keys = deniedByCard(name);
  const definition = h('p', {class: 'note', hidden: true}, '');
  const root = h('div', {class: 'stack'},
    h('h1', {}, h('span', {class: 'of'}, 'Limit '), h('code', {}, name)), definition, history.root,
    h('p', {class: 'note'}, 'The server keeps the past of the first 64 limits that were used. ',
      h('a', {href: '#/limits'}, 'All limits')), keys.root);
  // The words of a policy's limit, and where they come from. Touches nothing if they are there.
  let defined = '';
  const define = ({policy, definition: words, from_file: fromFile}) => {
    const now = JSON.stringify([policy, words, fromFile]);
    if (now === defined) return;
    defined = now;
    setHidden(definition, !policy);
    if (!policy) return;
    definition.replaceChildren('Of the policy ', h('a', {href: '#/policies'}, policy),
      fromFile ? ', from the policy file' : '', words ? ': ' : '.', h('code', {}, words ?? ''));
  };
  return {
    root,
    title: name,
    wake: (poll) => { history.wanted = poll; },
    async poll() {
      await history.refresh(history.range.step === 1 ? 0 : undefined);
      if (keys.root.hidden) return;
      await keys.refresh().then(define, (failure) => {
        if (failure.status !== 403) throw failure;
        setHidden(keys.root, true);  // RL.TOP is a right of its own: it is not asked again
      });
    },
    close: () => history.close(),
  };
}
