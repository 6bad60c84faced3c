// Commands to copy into a terminal.
import {h, setText, toast} from './dom.js';

let port = 7379;

// The port of the Redis protocol, which the server tells.
export function setPort(value) {
  if (value) port = value;
}

// A word as a POSIX shell reads it back.
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function redisCli(...words) {
  return ['redis-cli', '-p', String(port), ...words].map(quoted).join(' ');
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
