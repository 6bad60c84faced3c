// A dialog that shows a change before it is sent, and sends it.
import {ApiError} from './api.js';
import {h, setHidden, setText} from './dom.js';
import {commandBox} from './command.js';
import {difference} from './difference.js';

const CLASSES = {'-': 'gone', '+': 'new', ' ': 'kept'};

export function diffTable(before, after) {
  const lines = difference(before, after);
  return h('div', {class: 'diff'}, lines.map(({sign, text}) =>
    h('div', {class: CLASSES[sign]}, h('span', {class: 'sign'}, sign), h('code', {}, text))));
}

function buttonsOf(dialog, options, send) {
  const close = h('button', {type: 'button', click: () => dialog.close()},
    options.send ? 'Cancel' : 'Close');
  if (!options.send) return [close];
  const kind = options.danger ? 'danger' : 'primary';
  return [h('button', {type: 'button', class: kind, click: send}, options.verb), close];
}

// A text to copy, below what it is for.
function toCopy(title, text) {
  return [h('p', {class: 'note'}, title), commandBox(text).root];
}

// Shows a dialog with `title`, the nodes of `body`, the `line` for a `file`, and the `command` that
// does the same in a terminal. If there is `send()`, the button `verb` calls it, and an error of it
// stays in the dialog. Without it, the command is the only way.
export function showChange(options) {
  const error = h('p', {class: 'error', role: 'alert', hidden: true});
  const dialog = h('dialog', {'aria-label': options.title}, h('h2', {}, options.title),
    ...(options.body ?? []));
  const send = async () => {
    try {
      await options.send();
      dialog.close();
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setText(error, failure.status ? failure.message : 'The server did not answer. Try again.');
      setHidden(error, false);
    }
  };
  if (options.line) dialog.append(...toCopy(`In ${options.file}:`, options.line));
  if (options.command) {
    const title = options.send ? 'The same in a terminal:'
      : options.line ? 'Then in a terminal:' : 'In a terminal:';
    dialog.append(...toCopy(title, options.command));
  }
  dialog.append(error, h('div', {class: 'buttons'}, buttonsOf(dialog, options, send)));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Closes the dialog, if one is open, because the page no longer shows the thing that it changes.
export function closeChange() {
  document.querySelector('dialog[open]')?.close();
}
