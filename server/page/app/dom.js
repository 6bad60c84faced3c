// Elements of the page: building them and changing them in place. Every text becomes a text node,
// so that a key, which any client of the server may choose, is never read as HTML.

const SVG = 'http://www.w3.org/2000/svg';

// Gives `node` what `attributes` says: functions listen for the event of their name, booleans set
// or leave out the attribute, all others are attributes. None is a style: the page's policy for
// content refuses them.
function assign(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') {
      node.addEventListener(name, value);
    } else if (typeof value === 'boolean') {
      node.toggleAttribute(name, value);
    } else if (value !== undefined && value !== null) {
      node.setAttribute(name, value);
    }
  }
  return node;
}

// h('p', {class: 'note'}, 'text', h('b', {}, 'more')): an element with attributes and children.
// Children that are null or false are left out.
export function h(name, attributes = {}, ...children) {
  const node = assign(document.createElement(name), attributes);
  node.append(...children.flat().filter((child) => child !== null && child !== false));
  return node;
}

export function svg(name, attributes = {}, ...children) {
  const node = assign(document.createElementNS(SVG, name), attributes);
  node.append(...children);
  return node;
}

// Gives a number or a heading its sentence, which the pointer, the focus and a tap show.
export function setNote(node, text) {
  if (node.title !== text) node.title = text;
  if (node.classList.contains('noted')) return;
  node.classList.add('noted');
  node.tabIndex = 0;
}

// The head of a column, with a sentence about its numbers, if there is one.
export function columnHead(text, kind, note) {
  const head = h('th', {scope: 'col', class: kind}, text);
  if (note) setNote(head, note);
  return head;
}

// Shows `text` in `node`. Touches nothing if it is there already, so that a poll without news
// neither repaints nor loses a selection.
export function setText(node, text) {
  const only = node.firstChild;
  if (only && only === node.lastChild && only.nodeType === Node.TEXT_NODE) {
    if (only.data !== text) only.data = text;
  } else if (node.textContent !== text || only !== node.lastChild) {
    node.replaceChildren(text);
  }
}

export function setClass(node, name, on) {
  if (node.classList.contains(name) !== on) node.classList.toggle(name, on);
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

const rowsOf = new WeakMap();  // parent -> Map of an item's id -> its row

// Makes the children of `parent` those of `items`, in their order. `make(item)` returns a new row:
// its element `root` and `update(item)`. Rows of items that stay are kept, and moved only if the
// order differs, so focus, selection and scroll position survive a poll.
export function updateRows(parent, items, idOf, make) {
  const rows = rowsOf.get(parent) ?? new Map();
  const kept = new Map();
  let next = parent.firstElementChild;
  for (const item of items) {
    const id = idOf(item);
    if (kept.has(id)) continue;
    const row = rows.get(id) ?? make(item);
    row.update(item);
    kept.set(id, row);
    if (row.root === next) {
      next = next.nextElementSibling;
    } else {
      parent.insertBefore(row.root, next);
    }
  }
  for (const [id, row] of rows) {
    if (!kept.has(id)) row.root.remove();
  }
  rowsOf.set(parent, kept);
}

// A number with its unit in a quieter type; zero is as quiet. `set([number, unit])` changes both in
// place.
export function quantity(className = '') {
  const number = h('span', {}, '');
  const unit = h('span', {class: 'unit'}, '');
  const root = h('span', {class: `quantity ${className}`}, number, unit);
  return {
    root,
    set([text, of = '']) {
      setText(number, text);
      setText(unit, of);
      setClass(root, 'zero', text === '0');
    },
  };
}

// A card that folds. It is open at first, unless the screen is a telephone's.
export function foldingCard(title, ...children) {
  const open = matchMedia('(min-width: 621px)').matches;
  return h('details', {class: 'card', open}, h('summary', {}, h('h2', {}, title)), children);
}

// Puts a text into the clipboard. That is there on a secure origin only, and loopback is one;
// elsewhere a selected field is copied, which browsers do for a click.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h('textarea', {class: 'unseen'}, text);
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
  toast('Copied.');
}

// A message at the bottom of the page, for some seconds; read out by screen readers.
export function toast(text) {
  const node = document.getElementById('toast');
  setText(node, text);
  node.classList.remove('shown');
  requestAnimationFrame(() => node.classList.add('shown'));
}
