// The page's beginning: shows the view that the address names, polls it, and says what went wrong.
import {aboutView} from './app/about.js';
import {ApiError, byHash, byKey} from './app/api.js';
import {closeChange} from './app/confirm.js';
import {copyText, h, setClass, setHidden, setText} from './app/dom.js';
import {keyChoiceView, keyView} from './app/key.js';
import {limitView} from './app/limit.js';
import {limitsView} from './app/limits.js';
import {nowView} from './app/now.js';
import {policiesView, policyView} from './app/policies.js';
import {Poller} from './app/poller.js';
import {headline, refreshServer, showTitle} from './app/server.js';
import {tryView} from './app/try.js';
import {whoView} from './app/who.js';

const SERVER_EVERY_MS = 5_000;  // header and footer, in views that do not ask for them anyway
const STALE_MS = 3000;  // numbers that are older are drawn as such

// The text that a link has percent-encoded; itself if a user has typed something else.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// A view that most pages are closed without, so it is loaded when it is wanted. `load` imports it.
function later(title, load, asksServer = false) {
  const root = h('div', {class: 'stack'});
  let view = null;
  let wake = () => {};
  return {
    root,
    title,
    asksServer,
    wake: (poll) => { wake = poll; },
    async poll() {
      if (!view) {
        view = await load();
        view.wake?.(wake);
        root.append(view.root);
      }
      await view.poll();
    },
  };
}

// The part of the address behind the first "#/": its first word names the view. The rest is what
// the view is of; that of a key stays encoded, since its bytes need not be UTF-8.
const VIEWS = {
  now: nowView,
  limits: (rest) => rest ? limitView(decoded(rest)) : limitsView(),
  who: whoView,
  key: (rest) => rest ? keyView(byKey('/api/key', rest), rest) : keyChoiceView(),
  cut: (hash) => keyView(byHash('/api/key', hash ?? ''), null),
  try: (rest) => tryView(rest ? decoded(rest) : ''),
  policies: (rest) => rest ? policyView(decoded(rest)) : policiesView(),
  health: (code) => later('Health',
    async () => (await import('./app/health_view.js')).healthView(code), true),
  rules: () => later('Rules', async () => (await import('./app/rules.js')).rulesView()),
  about: aboutView,
};

const main = document.getElementById('main');
const banner = document.getElementById('banner');
const verdict = document.getElementById('verdict');
const copyButton = document.getElementById('copy');

let view = null;
let serverAsked = -Infinity;
let stale = 0;  // the timer that runs out if no answer comes

// A view is an element `root`, a `title`, and a `poll()` that asks the server and shows the answer.
// It may have `wake(poll)`, which hands it a function that polls at once, `shown()`, which is
// called when it is seen, `copy()`, which returns its lines and its data for the clipboard,
// `close()`, and `asksServer` if its poll() does what the footer needs.
async function poll() {
  const polled = view;
  if (!polled.asksServer && performance.now() - serverAsked >= SERVER_EVERY_MS) {
    serverAsked = performance.now();
    // A user who may not run INFO may still see other views.
    await refreshServer().catch((error) => { if (error.status !== 403) throw error; });
  }
  try {
    await polled.poll();
    if (polled === view) reveal();
  } catch (error) {
    if (polled === view) throw error;  // else the user has left the view
  }
}

// What to do about a failure, in a sentence or two.
function advice(error) {
  switch (error.status) {
    case 0: return 'The server does not answer. This page goes on trying.';
    case 401: return 'This server has users. Reload the page and log in as one of them.';
    case 403: return `${error.message} An administrator can allow it in the users file; ACL LOAD ` +
      'reads it again.';
    case 404: return error.message;
    case 503: return `${error.message} This page goes on trying.`;
    default: return error.message;
  }
}

// A view is not seen before its first answer, or the failure of that, so that nothing moves then.
function reveal() {
  if (!main.classList.contains('waiting')) return;
  setClass(document.body, 'waiting', false);
  setClass(main, 'waiting', false);
  view.shown?.();
}

function fail(error) {
  clearTimeout(stale);
  reveal();
  setText(banner, advice(error));
  setClass(banner, 'lost', error.status === 0 || error.status >= 500);
  setHidden(banner, false);
  setClass(main, 'stale', error.status === 0);
  setClass(verdict, 'stale', error.status === 0);
  if (error.status === undefined) console.error(error);
  return error.status !== 401;  // a browser would ask for the password again and again
}

// Draws the numbers as old ones if no answer comes in time. A hidden page asks for none.
function awaitAnswer() {
  clearTimeout(stale);
  stale = setTimeout(() => {
    if (document.visibilityState === 'visible') fail(new ApiError(0, ''));
  }, STALE_MS);
}

function succeed() {
  setHidden(banner, true);
  setClass(main, 'stale', false);
  setClass(verdict, 'stale', false);
  awaitAnswer();
}

const poller = new Poller(poll, succeed, fail);

function markCurrent(name) {
  for (const link of document.querySelectorAll('.views a')) {
    const current = link.hash === `#/${name}`;
    if (current) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

function showView() {
  const [, name, rest] = /^#\/([a-z]+)(?:\/(.*))?$/s.exec(location.hash) ?? [];
  if (!Object.hasOwn(VIEWS, name ?? '')) {
    location.replace('#/now');
    return;
  }
  const first = view === null;
  view?.close?.();
  closeChange();
  view = VIEWS[name](rest);
  view.wake?.(() => poller.wake());
  main.replaceChildren(view.root);
  setHidden(copyButton, !view.copy);
  setClass(main, 'waiting', true);
  showTitle(view.title);
  markCurrent(name);
  setHidden(banner, true);
  window.scrollTo(0, 0);
  if (!first) main.focus({preventScroll: true});
  poller.wake();
}

function findKey(event) {
  event.preventDefault();
  const field = document.getElementById('find-key');
  if (!field.value) return;
  location.hash = `#/key/${encodeURIComponent(field.value)}`;
  field.value = '';
}

// Keys, anywhere but in a field: "/" goes to the field that looks up a key, "f" to the filter of
// the view, and "?" shows help.
function pressed(event) {
  const typing = event.target.closest('input, textarea, select, dialog');
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = {'/': document.getElementById('find-key'), f: main.querySelector('.filter')};
  if (event.key === '?') {
    help();
  } else if (field[event.key]) {
    event.preventDefault();
    field[event.key].focus();
  }
}

// Copies what the view shows as text, with the server and the time; with Shift, as JSON.
function copyView(event) {
  const {lines, data} = view.copy();
  const text = [`${document.title}, ${headline()}`, verdict.innerText, ...lines].join('\n');
  copyText(event.shiftKey ? JSON.stringify(data, null, 1) : text);
}

async function help() {
  (await import('./app/help.js')).showHelp();
}

window.addEventListener('hashchange', showView);
document.getElementById('find').addEventListener('submit', findKey);
document.addEventListener('keydown', pressed);
copyButton.addEventListener('click', copyView);
document.getElementById('help').addEventListener('click', help);
showView();
