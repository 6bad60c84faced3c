// The replicas of a primary, or the primary of a replica, as a table.
import {columnHead, h, setClass, setHidden, setText, updateRows} from './dom.js';
import {NONE, bytes, count, duration} from './format.js';

function amount(value) {
  return bytes(value).filter(Boolean).join(' ');
}

const OF_PRIMARY = [
  {title: 'Replica', note: 'Its address, as this server sees it'},
  {title: 'State', note: 'In sync once it has a whole state'},
  {title: 'Behind', note: 'Bytes of the history that it has not acknowledged', number: true},
  {title: 'Heard', note: 'The time since its last acknowledgement', number: true},
  {title: 'Acknowledged', note: 'The offset in the history up to which it has all', number: true},
];

const OF_REPLICA = [
  {title: 'Primary', note: 'The server that this one follows'},
  {title: 'State', note: 'Of the link to it'},
  {title: 'Behind', note: 'The age of what this server has of its state', number: true},
  {title: 'Applied', note: 'The offset in the history up to which it has all', number: true},
];

function replicaRow({address, online, offset, lag_ms: lag}, head) {
  return {
    id: address, bad: false,
    cells: [address, online ? 'in sync' : 'receives its first state',
      amount(Math.max(head - offset, 0)), `${duration(lag)} ago`, count(offset)],
  };
}

function linkRow(link, offset) {
  const state = !link.up ? `${link.state}, down for ${duration(link.down_ms)}`
    : link.complete ? link.state : `${link.state}, receives its first state`;
  const age = link.complete && link.data_age_ms !== null ? duration(link.data_age_ms) : NONE;
  return {id: link.primary, bad: !link.up, cells: [link.primary, state, age, count(offset)]};
}

// `now`: /api/now. Returns a title, a note, columns and rows; null if there is nothing to show.
export function replicationTable(now) {
  const {offset, loss_bound_ms: lost, link, replicas} = now.replication;
  if (link) {
    return {title: 'Its primary', note: '', columns: OF_REPLICA, rows: [linkRow(link, offset)]};
  }
  if (now.role !== 'primary' || replicas.length === 0) return null;
  const bound = lost === null ? 'everything, as no replica was in sync yet'
    : `at most the admissions of ${duration(lost)}`;
  return {
    title: 'Replicas', note: `A failover now would lose ${bound}. Offset ${count(offset)}`,
    columns: OF_PRIMARY, rows: replicas.map((one) => replicaRow(one, offset)),
  };
}

function tableRow(columns) {
  const cells = columns.map(({title, number}, i) => h(i === 0 ? 'th' : 'td', {
    scope: i === 0 ? 'row' : null, class: number ? 'number' : i === 0 ? 'mono' : '',
    'data-label': title,
  }, ''));
  const root = h('tr', {}, cells);
  return {
    root,
    update({cells: texts, bad}) {
      cells.forEach((cell, i) => setText(cell, texts[i]));
      setClass(root, 'bad', bad);
    },
  };
}

// The card, hidden while there is nothing to show. `set(now)`.
export function replicationCard() {
  const title = h('h2', {}, '');
  const note = h('span', {class: 'note'}, '');
  const heads = h('tr');
  const body = h('tbody');
  const root = h('section', {class: 'card replication', hidden: true},
    h('div', {class: 'head'}, title, note),
    h('table', {class: 'plain'}, h('thead', {}, heads), body));
  let shown = null;
  return {
    root,
    set(now) {
      const table = replicationTable(now);
      setHidden(root, table === null);
      if (!table) return;
      setText(title, table.title);
      setText(note, table.note);
      if (table.columns !== shown) {
        shown = table.columns;
        updateRows(body, [], null, null);
        heads.replaceChildren(...shown.map((one) =>
          columnHead(one.title, one.number ? 'number' : '', one.note)));
      }
      updateRows(body, table.rows, ({id}) => id, () => tableRow(shown));
    },
  };
}
