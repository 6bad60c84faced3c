// The server as the last /api/now told it: its version, the user, and whether changes are allowed.
import {get} from './api.js';
import {setServer} from './command.js';
import {h, setHidden, setText} from './dom.js';
import {duration} from './format.js';

let now = null;

export async function refreshServer() {
  now = await get('/api/now');
  setServer(now);
  showFooter();
  return now;
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
    h('a', {href: '#/about'}, 'How to change that'));
  return {
    root,
    update() {
      setHidden(root, canChange());
      const target = now?.role === 'replica' ? 'its primary' : 'a terminal';
      setText(text, `Read-only: ${readOnlyBecause()}. Buttons show the command for ${target}.`);
    },
  };
}

function showFooter() {
  const uptime = duration(now.uptime_s * 1000);
  const roles = {replica: ', a replica', gated: ', waiting for Sentinel', deposed: ', deposed'};
  const role = roles[now.role] ?? '';
  setText(document.getElementById('server'), `weir ${now.version}${role}, up for ${uptime}`);
  setText(document.getElementById('rights'), now.can_change
    ? `user ${now.user}, may change limits` : `user ${now.user}, read-only`);
}
