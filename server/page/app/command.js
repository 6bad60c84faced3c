// Commands to copy into a terminal.
import {copyText, h, setText} from './dom.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const KEPT = 'weir-commands-from';  // in the browser: "here", or the server's own host

let server = {port: 7379};

// How this page was reached; tests have none.
const page = globalThis.location ?? {hostname: 'localhost', protocol: 'http:'};

function isRemote() {
  return !LOOPBACK.includes(page.hostname);
}

function isFromHere() {
  return isRemote() && globalThis.localStorage?.getItem(KEPT) !== 'host';
}

// Sets the server that commands address, and as which user, by /api/now.
export function setServer(now) {
  server = now;
}

// This server, as it is reached from its own host or from that of the browser; or the primary of a
// replica, as a replica refuses changes and decisions.
function where() {
  const primary = server.replication?.link?.primary;
  const colon = primary?.lastIndexOf(':');
  const address = primary ? ['-h', primary.slice(0, colon), '-p', primary.slice(colon + 1)]
    : [...(isFromHere() ? ['-h', page.hostname.replace(/^\[|\]$/g, '')] : []),
      '-p', String(server.port || 7379)];
  const user = server.user ?? 'default';
  return [...address, ...(user === 'default' ? [] : ['--user', user]),
    ...(page.protocol === 'https:' ? ['--tls'] : [])];
}

// A word as a POSIX shell reads it back.
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function redisCli(...words) {
  return ['redis-cli', ...where(), ...words].map(quoted).join(' ');
}

// Where the terminal is: a choice that the browser remembers, and that changes the commands shown.
// Only where it makes a difference.
function terminalChoice() {
  const label = (fromHere) => fromHere ? 'from here' : 'on its host';
  const button = h('button', {type: 'button', class: 'quiet', hidden: !isRemote(),
    title: 'Where the terminal is', click: () => {
      const before = redisCli();
      localStorage.setItem(KEPT, isFromHere() ? 'host' : 'here');
      for (const code of document.querySelectorAll('.command code')) {
        if (code.textContent.startsWith(before)) {
          setText(code, redisCli() + code.textContent.slice(before.length));
        }
      }
      for (const one of document.querySelectorAll('.command .terminal')) {
        setText(one, label(isFromHere()));
      }
    }}, label(isFromHere()));
  button.classList.add('terminal');
  return button;
}

// A box with a command and a button that copies it. `set(text)` shows another one.
export function commandBox(text) {
  const code = h('code', {}, text);
  const button = h('button', {
    type: 'button', class: 'quiet', click: () => copyText(code.textContent),
  }, 'Copy');
  return {
    root: h('div', {class: 'command'}, code,
      text.startsWith('redis-cli') || !text ? terminalChoice() : null, button),
    set: (other) => setText(code, other),
  };
}
