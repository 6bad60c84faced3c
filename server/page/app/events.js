// Events of the server: the last ones as a list, and all as marks on a chart.
import {get} from './api.js';
import {foldingCard, h, setHidden, setText, updateRows} from './dom.js';
import {timeOfDay, zone} from './format.js';

const SHOWN = 10;
const LETTERS = {
  start: 'S', role: 'R', health: 'H', policy: 'P', config: 'C', users: 'U', flush: 'F',
};

function eventRow() {
  const time = h('td', {class: 'when'}, '');
  const mark = h('td', {}, '');
  const text = h('td', {}, '');
  const who = h('td', {}, '');
  return {
    root: h('tr', {}, time, mark, text, who),
    update(event) {
      setText(time, timeOfDay(event.time_ms));
      setText(mark, LETTERS[event.kind] ?? '?');
      setText(text, event.text);
      setText(who, event.who);
    },
  };
}

// The card, hidden while there is nothing to show.
export function eventsCard() {
  const body = h('tbody');
  const column = (text) => h('th', {scope: 'col'}, text);
  const root = foldingCard('What happened', h('table', {class: 'plain events'},
    h('thead', {}, h('tr', {}, [`When (${zone()})`, 'Mark', 'What', 'Who'].map(column))), body));
  return {
    root,
    // Returns all events as marks of a chart.
    async refresh() {
      const {events} = await get('/api/events');
      const last = events.slice(-SHOWN).reverse();
      updateRows(body, last, (one) => `${one.time_ms} ${one.who} ${one.text}`, eventRow);
      setHidden(root, last.length === 0);
      return events.map((one) => ({
        time: one.time_ms, letter: LETTERS[one.kind] ?? '?', text: one.text,
      }));
    },
  };
}
