// The view of the server as a whole: what it decides now and over the last day, and how it is.
import {get} from './api.js';
import {commandBox, redisCli} from './command.js';
import {h, quantity, setClass, setHidden, setText, updateRows} from './dom.js';
import {eventsCard} from './events.js';
import {NONE, bytes, count, duration, latency, percent, rate} from './format.js';
import {HistoryPanel} from './history_panel.js';
import {keyLink} from './key_link.js';
import {limitName, limitRow} from './limit_row.js';
import {Rates} from './rates.js';
import {replicationFacts} from './replication.js';
import {refreshServer} from './server.js';
import {standing} from './standing.js';

const HOT_ROWS = 5;
const HOT_EVERY = 5;  // polls

function tile(name, title, note) {
  const value = quantity('big');
  const detail = h('span', {}, '');
  return {
    root: h('div', {class: `tile of-${name}`, title: note}, h('h3', {}, title), value.root, detail),
    set(perSecond, text, matters) {
      value.set(perSecond === null ? [NONE, '/s'] : rate(perSecond));
      setText(detail, text);
      setClass(this.root, 'matters', matters);
    },
  };
}

// The four rates of which the page is about.
function tiles() {
  const allowed = tile('allowed', 'Allowed', 'Requests that all their limits admitted');
  const denied = tile('denied', 'Denied', 'Requests that at least one limit denied');
  const shadow = tile('shadow', 'Would deny', 'Requests that a limit on trial would have denied');
  const near = tile('near', 'Near a limit', 'Admissions after which 80 % of a limit was in use');
  return {
    root: h('section', {class: 'tiles', 'aria-label': 'Rates'},
      [allowed, denied, shadow, near].map((one) => one.root)),
    set(rates, total) {
      const all = total.allowed + total.denied;
      const share = (part) => {
        const [number, unit] = percent(part, all);
        return unit ? `${number} ${unit} of ${count(all)}` : 'no request yet';
      };
      const set = (one, name, text) => one.set(rates.of(name), text, rates.of(name) > 0);
      set(allowed, 'allowed', `${count(total.allowed)} in all`);
      set(denied, 'denied', `${count(total.denied)} in all, ${share(total.denied)}`);
      set(shadow, 'shadow_denied', `${count(total.shadow_denied)} in all`);
      set(near, 'near_limit', `${count(total.near_limit)} in all`);
    },
  };
}

function lastSave(now) {
  if (now.last_save_age_ms === null) {
    return now.durability === 'none' ? 'never: nothing is kept' : 'not yet';
  }
  const age = `${duration(now.last_save_age_ms)} ago`;
  return now.last_save_ok ? age : `FAILING; the last good one ${age}`;
}

function unit([number, of]) {
  return of ? `${number} ${of}` : number;
}

function memory(now) {
  const used = unit(bytes(now.memory_bytes));
  return now.max_memory_bytes ? `${used} of ${unit(bytes(now.max_memory_bytes))}` : used;
}

// Name, text, and whether it is bad: a row of the table of facts each.
function facts(now, commands) {
  return [
    ['Latency, p50', now.latency_us ? unit(latency(now.latency_us.p50)) : NONE],
    ['Latency, p99', now.latency_us ? unit(latency(now.latency_us.p99)) : NONE],
    ['Commands', commands === null ? NONE : unit(rate(commands))],
    ['Connections', `${count(now.connections)} RESP, ${count(now.http_connections)} HTTP`],
    ['Buckets', `${count(now.buckets)} not full`],
    ['Memory', memory(now), now.max_memory_bytes && now.memory_bytes > 0.9 * now.max_memory_bytes],
    ['Limits in use', count(now.limits)],
    ['Policies', count(now.policies)],
    ['Durability', now.durability],
    ['Lost by a crash',
      now.loss_bound_ms === null ? NONE : `at most ${duration(now.loss_bound_ms)}`],
    ['Last save', lastSave(now), !now.last_save_ok],
    ['Bans begun', count(now.total.bans)],
    ['Charged beyond', count(now.total.charged_beyond)],
    ['Up for', duration(now.uptime_s * 1000)],
    ...replicationFacts(now),
  ];
}

function fact() {
  const value = h('dd', {}, '');
  const name = h('dt', {}, '');
  return {
    root: h('div', {}, name, value),
    update([title, text, bad]) {
      setText(name, title);
      setText(value, text);
      setClass(value, 'bad', Boolean(bad));
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
  return {
    root: h('tr', {}, name, times),
    update(item) {
      if (!name.firstChild.href) name.replaceChildren(keyLink(item));
      setText(times, count(item.count));
    },
  };
}

// The limits and the keys that deny most, asked for every few polls.
function hot() {
  const limits = h('tbody');
  const keys = h('tbody');
  const table = (title, more, body, ...heads) => h('section', {class: 'card'},
    h('div', {class: 'head'}, h('h2', {}, title), h('a', {href: more}, 'All')),
    h('table', {class: 'plain'}, h('thead', {}, h('tr', {}, heads)), body));
  const number = (text) => h('th', {class: 'number', scope: 'col'}, text);
  const column = (text, kind) => h('th', {scope: 'col', class: kind}, text);
  const limitsCard = table('Limits that deny most', '#/limits', limits,
    column('Limit'), column('Last minute', 'trend'), number('Denied'), number('Of its requests'));
  const keysCard = table('Keys denied most', '#/who', keys, column('Key'), number('Denied'));
  const root = h('div', {class: 'pair', hidden: true}, limitsCard, keysCard);
  return {
    root,
    async refresh() {
      const [all, top] = await Promise.all([
        get('/api/limits'), get('/api/top', {n: HOT_ROWS, by: 'denied'}),
      ]);
      const worst = all.limits.filter((one) => one.denied > 0)
        .sort((a, b) => b.denied - a.denied).slice(0, HOT_ROWS);
      updateRows(limits, worst, limitName, () => limitRow());
      updateRows(keys, top.keys, (one) => one.k, hotKey);
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
  const list = h('dl', {class: 'facts'});
  const busy = h('div', {class: 'stack', hidden: true}, head.root, history.root, worst.root);
  const root = h('div', {class: 'stack'}, h('h1', {class: 'unseen'}, 'Now'), empty.root, busy,
    h('section', {class: 'card'}, h('h2', {}, 'The server'), list), happened.root);
  let polls = 0;

  return {
    root,
    title: 'Now',
    asksServer: true,
    wake: (poll) => { history.wanted = poll; },
    async poll() {
      const now = await refreshServer();
      const total = now.total;
      const asked = total.allowed + total.denied + total.shadow_denied > 0;
      rates.add(now.time_ms, total);
      commands.add(now.time_ms, {commands: now.commands});
      empty.show(now, asked);
      setHidden(busy, !asked);
      head.set(rates, total);
      updateRows(list, facts(now, commands.of('commands')), ([name]) => name, fact);
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
