// The holds of a key: a row for each, with what it holds and when it expires.
import {columnHead, h, setClass, setHidden, setText, updateRows} from './dom.js';
import {count, duration} from './format.js';

// "1,500 of 100k/m, 1 of 5,held".
export function heldText(limits) {
  return limits.map(({limit, cost}) => `${count(cost)} of ${limit}`).join(', ');
}

// A settled hold is remembered for some time, so that it can be settled again.
export function endText({settled, expires_in_ms: left}) {
  return settled ? `settled, forgotten in ${duration(left)}` : `expires in ${duration(left)}`;
}

function holdRow() {
  const id = h('span', {class: 'mono'}, '');
  const held = h('td', {class: 'mono'}, '');
  const end = h('td', {class: 'number'}, '');
  const root = h('tr', {}, h('th', {scope: 'row'}, id), held, end);
  return {
    root,
    update(hold) {
      setText(id, hold.id);
      setText(held, heldText(hold.limits));
      setText(end, endText(hold));
      setClass(root, 'settled', hold.settled);
    },
  };
}

// A card that is hidden while there are no holds.
export function holdList() {
  const body = h('tbody');
  const root = h('section', {class: 'card holds', hidden: true}, h('h2', {}, 'Holds'),
    h('table', {class: 'plain'}, h('thead', {}, h('tr', {}, columnHead('Id'), columnHead('Holds'),
      columnHead('End', 'number', 'When the tokens come back, unless the hold is settled before'))),
    body));
  return {
    root,
    set(holds) {
      setHidden(root, holds.length === 0);
      updateRows(body, holds, (hold) => hold.id, holdRow);
    },
  };
}
