// Tables that are filtered, sorted by their columns, and show no more rows than one reads.
import {columnHead, h, setHidden, setNote, setText} from './dom.js';
import {count} from './format.js';

const ROWS = 50;

// The heads of a table's columns. Those with `of(item)`, a number or a text, are buttons that sort
// by it, numbers from the greatest. `note`: what the numbers are. `changed()`: another order.
export class Sorting {
  constructor(columns, changed) {
    this.columns = columns;
    this.by = null;  // a column; null: the order of the server
    this.down = true;
    this.changed = changed;
    this.heads = columns.map((column) => {
      if (!column.of) return columnHead(column.title, column.kind ?? '', column.note);
      const button = h('button', {type: 'button', click: () => this.choose(column)}, column.title);
      if (column.note) setNote(button, column.note);
      return h('th', {scope: 'col', class: column.kind ?? '', 'aria-sort': 'none'}, button);
    });
    this.select = h('select', {class: 'order', 'aria-label': 'Order', change: () =>
      this.choose(columns[Number(this.select.value)] ?? null)},
    h('option', {value: ''}, 'Order'), columns.flatMap((column, i) =>
      column.of ? [h('option', {value: String(i)}, column.title)] : []));
  }

  // The same column again turns the order round; a third time leaves it to the server.
  choose(column) {
    const again = column !== null && column === this.by;
    const first = column?.kind !== undefined;  // numbers
    this.by = again && this.down !== first ? null : column;
    this.down = again ? !this.down : first;
    this.columns.forEach((one, i) => {
      if (!one.of) return;
      const order = this.down ? 'descending' : 'ascending';
      this.heads[i].setAttribute('aria-sort', one === this.by ? order : 'none');
    });
    this.changed();
  }

  sort(items) {
    if (!this.by) return items;
    const sign = this.down ? -1 : 1;
    const of = this.by.of;
    const order = (a, b) => typeof of(a) === 'string' ? of(a).localeCompare(of(b)) : of(a) - of(b);
    return [...items].sort((a, b) => sign * order(a, b));
  }
}

// A field that filters by a part of a text. "f" leads to the first one of a view (app.js).
export function filterField(label, changed) {
  const field = h('input', {
    class: 'filter', type: 'search', placeholder: 'Filter', 'aria-label': label,
    title: 'Press f to come here', autocomplete: 'off', spellcheck: 'false', input: () => changed(),
  });
  return {
    root: field,
    pick(items, textOf) {
      const wanted = field.value.toLowerCase();
      return wanted ? items.filter((item) => textOf(item).toLowerCase().includes(wanted)) : items;
    },
  };
}

// Cuts a list to its first rows, and has a button that shows all.
export function rowsShown(changed) {
  let all = false;
  const root = h('button', {type: 'button', class: 'quiet', hidden: true, click: () => {
    all = true;
    changed();
  }}, '');
  return {
    root,
    cut(items) {
      setHidden(root, all || items.length <= ROWS);
      setText(root, `Show all ${count(items.length)}`);
      return all ? items : items.slice(0, ROWS);
    },
  };
}
