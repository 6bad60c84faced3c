// The server as the last /api/now told it: its name, version and verdict, the user, and whether
// changes are allowed. All views show these in the header and the footer.
import {get} from './api.js';
import {setServer} from './command.js';
import {h, setClass, setHidden, setText, updateRows} from './dom.js';
import {clock, duration} from './format.js';
import {pageTitle, verdictLine} from './health.js';

let now = null;
let view = '';

export async function refreshServer() {
  now = await get('/api/now');
  setServer(now);
  showHeader();
  showFooter();
  return now;
}

// Names the view that is shown; the title of the page has the server's name before it.
export function showTitle(title) {
  view = title;
  document.title = pageTitle(now, view);
}

// "weir-a:7379 primary, 2026-11-30 06:31:05 UTC", by the server's clock.
export function headline() {
  const date = new Date(now.time_ms).toLocaleDateString('sv');
  const time = clock(now.time_ms);
  return `${now.server} ${now.role}, ${time.startsWith(date) ? time : `${date} ${time}`}`;
}

export function canChange() {
  return now?.can_change ?? false;
}

function readOnlyBecause() {
  return now?.read_only_because ?? 'your user may not change anything';
}

// A line that says why changes are not sent from here, hidden where they are.
export function rightsNote() {
  const text = h('span', {}, '');
  const root = h('p', {class: 'note', hidden: true}, text, ' ',
    h('a', {href: '#/about/changes'}, 'How to change that'));
  return {
    root,
    update() {
      setHidden(root, canChange());
      const target = now?.role === 'replica' ? 'its primary' : 'a terminal';
      setText(text, `Read-only: ${readOnlyBecause()}. Buttons show the command for ${target}.`);
    },
  };
}

function reasonLink() {
  const link = h('a', {}, '');
  return {
    root: h('li', {}, link),
    update({href, text}) {
      if (link.getAttribute('href') !== href) link.setAttribute('href', href);
      setText(link, text);
    },
  };
}

function showHeader() {
  const roles = {gated: 'waits for Sentinel'};
  setText(document.getElementById('place'), now.server);
  setText(document.getElementById('role'), roles[now.role] ?? now.role);
  const {state, head, reasons} = verdictLine(now);
  const line = document.getElementById('verdict');
  for (const other of ['ok', 'warn', 'bad']) setClass(line, other, other === state);
  setText(line.firstElementChild, head);
  updateRows(line.lastElementChild, reasons, ({href}) => href, reasonLink);
  setHidden(line, false);
  showTitle(view);
}

function showFooter() {
  const uptime = duration(now.uptime_s * 1000);
  setText(document.getElementById('server'), `weir ${now.version}, up for ${uptime}`);
  setText(document.getElementById('rights'), now.can_change
    ? `user ${now.user}, may change limits` : `user ${now.user}, read-only`);
}
