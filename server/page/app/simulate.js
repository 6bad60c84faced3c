// The simulation: a limit against a pattern of arrivals, decided by the server's own rule on an
// empty table, and drawn.
import {ApiError, ask} from './api.js';
import {ARRIVALS_MAX, arrivals} from './arrivals.js';
import {Chart} from './chart.js';
import {h, setHidden, setText} from './dom.js';
import {count, wait} from './format.js';
import {limitLines} from './limit_words.js';
import {limitsIn} from './limit_text.js';

const BINS_MAX = 240;

// The width of a bar: a second, or the shortest whole number of seconds of which there are few.
function binMs(seconds) {
  return 1000 * Math.ceil(seconds / BINS_MAX);
}

// Rows of [ms, requests that came, those admitted] for each bar.
function bins(times, allowed, seconds) {
  const width = binMs(seconds);
  const rows = [];
  for (let at = 0; at < 1000 * seconds; at += width) rows.push([at, 0, 0]);
  times.forEach((time, i) => {
    const row = rows[Math.floor(time / width)];
    ++row[1];
    if (allowed[i] === '1') ++row[2];
  });
  return rows;
}

function atSecond(ms) {
  return `${(ms / 1000).toLocaleString('en-US')} s`;
}

function summary(times, answer) {
  const passed = [...answer.allowed].filter((one) => one === '1').length;
  const first = times.filter((time, i) => time < 1000 && answer.allowed[i] === '1').length;
  const longest = Math.max(0, ...answer.retry_after_ms);
  const never = answer.retry_after_ms.some((ms) => ms < 0);
  const told = never ? ' Some could never pass.' : longest
    ? ` The longest wait that a denied request was told: ${wait(longest)}.` : '';
  return `${count(passed)} of ${count(times.length)} requests admitted, ${count(first)} of them ` +
    `in the first second.${told}`;
}

const FIELDS = [
  {name: 'rate', label: 'Requests', unit: '/s', value: 5, min: 0, max: 10_000},
  {name: 'burst', label: 'and at once', unit: 'requests', value: 10, min: 0, max: ARRIVALS_MAX},
  {name: 'every', label: 'every', unit: 's', value: 10, min: 0.001, max: 100_000},
  {name: 'seconds', label: 'for', unit: 's', value: 30, min: 1, max: 100_000},
  {name: 'cost', label: 'each costs', unit: 'tokens', value: 1, min: 0, max: 1e15},
];

const PRESETS = [
  {title: 'Steady', values: {rate: 5, burst: 0, every: 10, seconds: 20}},
  {title: 'Bursts', values: {rate: 0, burst: 20, every: 5, seconds: 30}},
  {title: 'Both', values: {rate: 5, burst: 10, every: 10, seconds: 30}},
];

function numberField({label, unit, value, min, max}) {
  const input = h('input', {type: 'number', value, min, max, step: 'any', required: true});
  const root = h('label', {}, h('span', {}, label), input, h('span', {class: 'unit'}, unit));
  return {root, input};
}

// One chart of bars and one of what was left after each request.
function charts(seconds) {
  const x = {axisLabelFormatter: (ms) => atSecond(ms)};
  const width = binMs(seconds);
  const each = width === 1000 ? '/s' : `in ${width / 1000} s`;
  const flow = new Chart([
    {label: 'denied', colour: 'denied'}, {label: 'admitted', colour: 'allowed'},
  ], {bars: width, axis: x, xLabel: atSecond, label: 'Requests admitted and denied over time',
    format: (value) => [count(value), each]});
  const left = new Chart([{label: 'left after each request', colour: 'quiet', fill: true}], {
    axis: x, xLabel: atSecond, label: 'Tokens left over time',
    format: (value) => [count(Math.round(value)), 'tokens'],
  });
  return {flow, left};
}

function drawing() {
  const text = h('p', {class: 'verdict'}, '');
  const place = h('div', {class: 'stack'});
  const root = h('div', {class: 'stack result', hidden: true}, text, place);
  let drawn = null;
  const close = () => drawn && (drawn.flow.close(), drawn.left.close());
  return {
    root,
    close,
    set(times, answer, seconds) {
      close();
      drawn = charts(seconds);
      place.replaceChildren(drawn.flow.root, drawn.left.root);
      setHidden(root, false);
      setText(text, summary(times, answer));
      const range = [0, 1000 * seconds];
      drawn.flow.set(bins(times, answer.allowed, seconds), range);
      drawn.left.set(times.map((time, i) => [time, answer.remaining[i]]), range);
    },
  };
}

// The limits of a field in words, which follow while it is typed.
export function meaning(field, limitsOf) {
  const root = h('ul', {class: 'meaning note'});
  const show = () => root.replaceChildren(...limitLines(limitsOf(field.value)).map(
    ({limit, words}) => h('li', {}, h('code', {}, limit), ` \u2013 ${words}`)));
  field.addEventListener('input', show);
  show();
  return root;
}

// `limitsText`: the limits that are simulated at first.
export function simulationCard(limitsText) {
  const limits = h('input', {
    class: 'mono', type: 'text', value: limitsText, required: true, 'aria-label': 'Limits',
    spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off',
  });
  const fields = Object.fromEntries(FIELDS.map((field) => [field.name, numberField(field)]));
  const error = h('p', {class: 'error', role: 'alert', hidden: true}, '');
  const result = drawing();
  const fail = (message) => {
    setText(error, message);
    setHidden(error, false);
    setHidden(result.root, true);
  };
  const run = async () => {
    const values = Object.fromEntries(
      FIELDS.map(({name}) => [name, Number(fields[name].input.value)]));
    const times = arrivals(values);
    if (!times.length) return fail('No request comes: give a rate or a burst.');
    if (times.length > ARRIVALS_MAX) return fail(`More than ${count(ARRIVALS_MAX)} requests.`);
    try {
      const answer = await ask('/api/simulate', {
        limits: limitsIn(limits.value), arrivals_ms: times, cost: values.cost,
      });
      setHidden(error, true);
      result.set(times, answer, values.seconds);
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      fail(failure.status ? failure.message : 'The server did not answer. Try again.');
    }
  };
  const preset = ({title, values}) => h('button', {type: 'button', click: () => {
    for (const [name, value] of Object.entries(values)) fields[name].input.value = value;
    if (limits.value) run();
  }}, title);
  const submit = (event) => {
    event.preventDefault();
    run();
  };
  const root = h('section', {class: 'card'}, h('h2', {}, 'A limit over time'),
    h('p', {}, 'Limits and policies against a pattern of requests of one key, by the rule that ',
      'decides in earnest, in a table of its own.'),
    h('form', {submit},
      h('div', {class: 'line'}, limits, h('button', {class: 'primary'}, 'Simulate')),
      meaning(limits, limitsIn),
      h('div', {class: 'fields'}, FIELDS.map(({name}) => fields[name].root)),
      h('div', {class: 'line'}, h('span', {class: 'note'}, 'Patterns:'), PRESETS.map(preset))),
    error, result.root);
  return {root, run, close: result.close};
}
