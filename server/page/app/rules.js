// The view of the rules of Envoy's rate limit service: a row for each limit of a rule.
import {get} from './api.js';
import {columnHead, h, quantity, setHidden, setText, updateRows} from './dom.js';
import {NONE, count, rate} from './format.js';
import {Rates} from './rates.js';
import {filterField, rowsShown} from './sorting.js';

const MEAN_SECONDS = 10;  // over which the rates of rows are means
const MEAN = `as a mean of ${MEAN_SECONDS} s`;
const NAMES = ['allowed', 'denied'];
// More rules are asked for so often only.
const RULES_AT_ONCE = 1000;
const MANY_EVERY_MS = 10_000;

// "shop \u203a user \u203a path: /api/*"
function pathText({domain, path}) {
  const levels = path.map(({key, value}) => value === null ? key : `${key}: ${value}`);
  return [domain, ...levels].join(' \u203a ');
}

// A row for each limit of a rule, and one for a rule without.
function rowsOf(rule, place) {
  const limits = rule.limits.length > 0 ? rule.limits : [null];
  return limits.map((limit, i) => ({
    id: `${place}#${i}`, rule, limit, path: pathText(rule), name: `@${rule.policy}#${i}`,
  }));
}

function ruleRow() {
  const path = h('a', {class: 'mono'}, '');
  const flags = h('span', {class: 'tag long'}, '');
  const limit = h('div', {class: 'mono'}, '');
  const cells = NAMES.map(() => quantity());
  return {
    root: h('tr', {}, h('th', {scope: 'row'}, path, ' ', flags, limit),
      cells.map((cell) => h('td', {class: 'number'}, cell.root))),
    update(row) {
      setText(path, row.path);
      path.title = row.rule.place;
      if (row.rule.policy === null) path.removeAttribute('href');
      else path.href = `#/policies/${encodeURIComponent(row.rule.policy)}`;
      setHidden(flags, row.rule.flags.length === 0);
      setText(flags, row.rule.flags.join(', ').replaceAll('_', ' '));
      setText(limit, row.limit?.limit ?? '');
      NAMES.forEach((name, i) => {
        const value = row.rates?.of(name) ?? null;
        cells[i].set(value === null ? [NONE, ''] : rate(value));
      });
    },
  };
}

// Where the rules of a control plane are from, in a sentence.
export function planeText({source, xds: {server, connected, version, error}}) {
  const named = version === null ? '' : ` Version ${version} is in force`;
  const kept = named && source === 'xds-saved' ? ', as it was kept on disk' : '';
  return `The control plane is ${server}, ${connected ? 'connected' : 'not connected'}.` +
    (named && `${named}${kept}.`) + (error === null ? '' : ` ${error}`);
}

export function rulesView() {
  const body = h('tbody');
  const state = h('p', {class: 'note'}, '');
  const failed = h('p', {class: 'error', hidden: true}, '');
  const empty = h('p', {class: 'empty', hidden: true},
    '');
  const plane = h('p', {class: 'note', id: 'plane', hidden: true}, '');
  const more = h('p', {class: 'note', hidden: true}, '');
  let wake = () => {};
  const filter = filterField('Filter rules', () => wake());
  const all = rowsShown(() => wake());
  const table = h('table', {class: 'plain'}, h('thead', {}, h('tr', {},
    columnHead('Domain and descriptor, with the limit'),
    columnHead('Allowed', 'number', `Requests that the limit admitted a second, ${MEAN}`),
    columnHead('Denied', 'number', `Requests that the limit denied a second, ${MEAN}`))), body);
  const root = h('section', {class: 'card'}, h('div', {class: 'head'}, h('h1', {}, 'Rules'),
    h('div', {class: 'tools'}, filter.root)), plane, state, failed, empty, table, all.root, more);
  let rates = new Map();
  let answer = null;
  let asked = 0;

  // The rates of a limit whose counts the server has.
  const measured = (row, time) => {
    if (!row.limit || row.limit.allowed === null) return row;
    const of = rates.get(row.name) ?? new Rates(1000 * MEAN_SECONDS);
    of.add(time, {allowed: row.limit.allowed, denied: row.limit.denied});
    return {...row, rates: of};
  };

  return {
    root,
    title: 'Rules',
    wake: (poll) => { wake = poll; },
    async poll() {
      const time = performance.now();
      if (!answer || answer.rules.length <= RULES_AT_ONCE || time - asked >= MANY_EVERY_MS) {
        answer = await get('/api/rls');
        asked = time;
      }
      const rows = answer.rules.flatMap(rowsOf).map((row) => measured(row, asked));
      rates = new Map(rows.filter((row) => row.rates).map((row) => [row.name, row.rates]));
      const picked = filter.pick(rows, ({path}) => path);
      updateRows(body, all.cut(picked), ({id}) => id, ruleRow);
      const isThere = answer.source !== null;
      const rules = answer.rules.length + answer.more;
      setText(state, `Rules: ${count(rules)}, domains: ${count(answer.domains)}. Loads since the ` +
        `start: ${count(answer.loads)}, and ${count(answer.load_errors)} that failed. Rates are ` +
        `means of the last ${MEAN_SECONDS} s or more.`);
      setHidden(state, !isThere);
      setHidden(plane, answer.xds === null);
      if (answer.xds) {
        setText(plane, planeText(answer));
        plane.classList.toggle('error', !answer.xds.connected || answer.xds.error !== null);
      }
      const said = answer.xds ? 'the control plane says' : 'the files say';
      setHidden(failed, answer.error === null);
      setText(failed, `The rules are not as ${said}: ${answer.error}`);
      setText(empty, answer.xds ?
        'Calls are answered an error until the control plane has sent its rules.' :
        'This server has no rules of Envoy\u2019s rate limit service: --rls-config names their ' +
        'files, and --rls-xds their control plane.');
      setHidden(empty, isThere);
      setHidden(table, !isThere);
      setHidden(more, !answer.more);
      setText(more, `And ${count(answer.more)} more rules.`);
    },
  };
}
