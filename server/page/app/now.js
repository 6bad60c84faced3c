// The view of the server as a whole: what it decides now and over the last day, and how it is.
import {get} from './api.js';
import {commandBox, redisCli} from './command.js';
import {nowText} from './copy_text.js';
import {
  columnHead, foldingCard, h, quantity, setClass, setHidden, setNote, setText, updateRows,
} from './dom.js';
import {eventsCard} from './events.js';
import {facts} from './facts.js';
import {NONE, count, percent, rate} from './format.js';
import {HistoryPanel} from './history_panel.js';
import {keyId, keyLink} from './key_link.js';
import {limitName, limitRow} from './limit_row.js';
import {Rates} from './rates.js';
import {replicationCard} from './replication.js';
import {refreshServer} from './server.js';
import {highestOf} from './spark.js';
import {standing} from './standing.js';
import {limitLinks} from './who.js';

const HOT_ROWS = 5;
const HOT_EVERY = 5;  // polls
const SINCE = 'since the start or the last RL.STATS RESET';
const MEAN = `the mean of the last 5 s; below, ${SINCE}`;

function tile(name, title, note) {
  const value = quantity('big');
  const detail = h('span', {}, '');
  const root = h('div', {class: `tile of-${name}`}, h('h3', {}, title), value.root, detail);
  setNote(root, note);
  return {
    root,
    set(perSecond, text, matters) {
      value.set(perSecond === null ? [NONE, '/s'] : rate(perSecond));
      setText(detail, text);
      setClass(this.root, 'matters', matters);
    },
  };
}

// The four rates of which the page is about.
function tiles() {
  const allowed = tile('allowed', 'Allowed', `Requests that all their limits admitted, ${MEAN}`);
  const denied = tile('denied', 'Denied', `Requests that at least one limit denied, ${MEAN}`);
  const shadow = tile('shadow', 'Would deny',
    `Requests that a limit on trial would have denied, ${MEAN}`);
  const near = tile('near', 'Near a limit (80\u00a0%)',
    `Admissions after which 80 % of a limit was in use, ${MEAN}`);
  return {
    root: h('section', {class: 'tiles', 'aria-label': 'Rates'},
      [allowed, denied, shadow, near].map((one) => one.root)),
    set(rates, total) {
      const all = total.allowed + total.denied;
      const share = (part) => {
        const [number, unit] = percent(part, all);
        return unit ? `${number} ${unit}` : 'no request yet';
      };
      const set = (one, name, text) => one.set(rates.of(name), text, rates.of(name) > 0);
      set(allowed, 'allowed', `${count(total.allowed)} in all`);
      set(denied, 'denied', `${count(total.denied)} in all, ${share(total.denied)}`);
      set(shadow, 'shadow_denied', `${count(total.shadow_denied)} in all`);
      set(near, 'near_limit', `${count(total.near_limit)} in all`);
    },
  };
}

// Says why there is nothing to see: the server's standing, or else what to type first.
function welcome() {
  const box = commandBox('');
  const title = h('h2', {}, '');
  const text = h('p', {}, '');
  const first = h('div', {}, box.root,
    h('p', {class: 'note'}, 'Then look here again: the page follows each second. Or ',
      h('a', {href: '#/try'}, 'see what a limit does'), ' before any client asks.'));
  const root = h('section', {class: 'card welcome', hidden: true}, title, text, first);
  return {
    root,
    show(now, asked) {
      const known = standing(now);
      setText(title, known?.title ?? 'Nothing has been asked yet');
      setText(text, known?.text ??
        'Ask whether user:42 may do something, ten times a second at most:');
      box.set(redisCli('RL.ALLOW', 'user:42', '10/s'));
      setHidden(first, known !== null);
      setHidden(root, asked && known === null);
    },
  };
}

function hotKey() {
  const times = h('td', {class: 'number'}, '');
  const name = h('td', {}, '');
  const limits = h('td', {class: 'by'}, '');
  const setLimits = limitLinks(limits);
  return {
    root: h('tr', {}, name, limits, times),
    update(item) {
      if (!name.firstElementChild) name.replaceChildren(keyLink(item));
      setLimits(item.limits);
      setText(times, count(item.count));
    },
  };
}

// The groups of facts, a list each. `set(groups)`.
function factLists() {
  const root = h('div', {class: 'groups'});
  const row = () => {
    const value = h('dd', {}, '');
    const name = h('dt', {}, '');
    const pair = h('div', {}, name, value);
    return {
      root: pair,
      update([title, text, note, bad]) {
        setText(name, title);
        setText(value, text);
        setNote(pair, note);
        setClass(value, 'bad', Boolean(bad));
        setClass(value, 'zero', /^0(?: |$)/.test(text));
      },
    };
  };
  const group = ([title]) => {
    const list = h('dl', {class: 'facts'});
    return {
      root: h('section', {}, h('h3', {}, title), list),
      update: ([, rows]) => updateRows(list, rows, ([name]) => name, row),
    };
  };
  return {root, set: (groups) => updateRows(root, groups, ([title]) => title, group)};
}

// The limits and the keys that deny most, asked for every few polls.
function hot() {
  const limits = h('tbody');
  const keys = h('tbody');
  const table = (title, more, body, ...heads) => h('section', {class: 'card'},
    h('div', {class: 'head'}, h('h2', {}, title), h('a', {href: more}, 'All')),
    h('table', {class: 'plain'}, h('thead', {}, h('tr', {}, heads)), body));
  const trend = columnHead('Last minute', 'trend',
    'Each second of the last minute, all rows to one scale');
  const limitsCard = table('Limits that deny most', '#/limits', limits, columnHead('Limit'), trend,
    columnHead('Denied since the start', 'number', `Requests that the limit denied, ${SINCE}`),
    columnHead('Of its requests', 'number', `The part of its requests that it denied, ${SINCE}`));
  const keysCard = table('Keys denied most', '#/who', keys, columnHead('Key'),
    columnHead('By', 'by', 'The limits that denied it'),
    columnHead('Denied since the start', 'number',
      `Requests of the key that were denied, ${SINCE}`));
  const root = h('div', {class: 'pair', hidden: true}, limitsCard, keysCard);
  return {
    root,
    shown: {limits: [], keys: []},
    async refresh() {
      const [all, top] = await Promise.all([
        get('/api/limits'), get('/api/top', {n: HOT_ROWS, by: 'denied'}),
      ]);
      const worst = all.limits.filter((one) => one.denied > 0)
        .sort((a, b) => b.denied - a.denied).slice(0, HOT_ROWS);
      const highest = highestOf(worst);
      setText(trend, `Last minute, up to ${rate(highest).join('')}`);
      updateRows(limits, worst.map((one) => ({...one, highest})), limitName, () => limitRow());
      updateRows(keys, top.keys, keyId, hotKey);
      this.shown = {limits: worst, keys: top.keys};
      setHidden(root, worst.length === 0);
    },
  };
}

export function nowView() {
  const empty = welcome();
  const rates = new Rates();
  const commands = new Rates();
  const head = tiles();
  const history = new HistoryPanel();
  const worst = hot();
  const happened = eventsCard();
  const replication = replicationCard();
  const list = factLists();
  const busy = h('div', {class: 'stack', hidden: true}, head.root, history.root, worst.root);
  const root = h('div', {class: 'stack'}, h('h1', {class: 'unseen'}, 'Now'), empty.root, busy,
    replication.root, foldingCard('The server', list.root), happened.root);
  let polls = 0;
  let now = null;

  return {
    root,
    title: 'Now',
    asksServer: true,
    copy: () => ({
      lines: nowText(now, rates, worst.shown.limits, worst.shown.keys),
      data: {now, ...worst.shown},
    }),
    wake: (poll) => { history.wanted = poll; },
    async poll() {
      now = await refreshServer();
      const total = now.total;
      const asked = total.allowed + total.denied + total.shadow_denied > 0;
      rates.add(now.time_ms, total);
      commands.add(now.time_ms, {commands: now.commands});
      empty.show(now, asked);
      setHidden(busy, !asked);
      head.set(rates, total);
      history.showMean(rates);
      replication.set(now);
      list.set(facts(now, commands.of('commands')));
      history.follow(now.time_ms, total);
      await history.refresh();
      if (polls++ % HOT_EVERY === 0) {
        history.mark(await happened.refresh());
        await worst.refresh();
      }
    },
    close: () => history.close(),
  };
}
