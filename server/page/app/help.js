// The help of the page, opened by "?": keys, colours and words.
import {h} from './dom.js';

const KEYS = [
  ['/', 'to the field that looks up a key'],
  ['f', 'to the filter of a table'],
  ['?', 'this help'],
  ['Tab', 'reaches everything else'],
  ['Esc', 'closes a dialog'],
];

const COLOURS = [
  ['allowed', 'was let through'],
  ['denied', 'was denied, or is wrong'],
  ['shadow', 'would have been denied by a limit on trial'],
  ['near', 'is near a limit, or is to be looked at'],
];

const WORDS = [
  ['limit', 'A rule such as 10/s. Each key has a bucket of its own for each limit.'],
  ['bucket', 'What a key has left of a limit.'],
  ['policy', 'A name for limits, which the server keeps.'],
  ['shadow', 'A limit on trial: it counts, and denies nothing.'],
  ['ban', 'A denial that shuts a limit for a time (ban=).'],
  ['hold', 'Tokens that are reserved until their request ends (RL.RESERVE).'],
  ['near a limit', 'An admission after which 80 % of the limit was in use.'],
  ['since the start', 'Since the start of the server or the last RL.STATS RESET.'],
];

export function showHelp() {
  if (document.querySelector('dialog[open]')) return;
  const dialog = h('dialog', {'aria-labelledby': 'help-title'},
    h('h2', {id: 'help-title'}, 'Help'));
  const list = (rows) => h('dl', {class: 'help'}, rows.flatMap(([term, text]) =>
    [h('dt', {}, term), h('dd', {}, text)]));
  dialog.append(
    h('h3', {}, 'Keys'), list(KEYS.map(([key, text]) => [h('kbd', {}, key), text])),
    h('h3', {}, 'Colours'), list(COLOURS.map(([name, text]) =>
      [h('span', {class: `swatch of-${name}`}), text])),
    h('h3', {}, 'Words'), list(WORDS),
    h('p', {class: 'note'}, 'A number says what it is while the pointer is on it or its heading.'),
    h('div', {class: 'buttons'},
      h('button', {type: 'button', click: () => dialog.close()}, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
