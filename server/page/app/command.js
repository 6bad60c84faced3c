// Commands to copy into a terminal.
import {h, setText, toast} from './dom.js';

let where = ['-p', '7379'];

// Sets the server that commands address: this one, at the `port` of /api/now, or the primary of a
// replica, as a replica refuses changes and decisions.
export function setServer({port, replication}) {
  const primary = replication?.link?.primary;
  const colon = primary?.lastIndexOf(':');
  if (primary) where = ['-h', primary.slice(0, colon), '-p', primary.slice(colon + 1)];
  else if (port) where = ['-p', String(port)];
}

// A word as a POSIX shell reads it back.
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function redisCli(...words) {
  return ['redis-cli', ...where, ...words].map(quoted).join(' ');
}

// The clipboard is there on a secure origin only, and loopback is one; elsewhere the text is
// selected, ready for Ctrl-C.
async function copy(node) {
  try {
    await navigator.clipboard.writeText(node.textContent);
    toast('Copied.');
  } catch {
    getSelection().selectAllChildren(node);
    toast('Selected: copy it with Ctrl-C.');
  }
}

// A box with a command and a button that copies it. `set(text)` shows another one.
export function commandBox(text) {
  const code = h('code', {}, text);
  const button = h('button', {type: 'button', class: 'quiet', click: () => copy(code)}, 'Copy');
  return {root: h('div', {class: 'command'}, code, button), set: (other) => setText(code, other)};
}
