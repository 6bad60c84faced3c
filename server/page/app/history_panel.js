// A chart of decisions per second over five minutes, an hour or a day, of all limits or of one.
import {get} from './api.js';
import {Chart} from './chart.js';
import {h} from './dom.js';
import {clock, rate} from './format.js';

const RANGES = [
  {label: '5 min', steps: 300, step: 1, refreshMs: 30_000},
  {label: '1 h', steps: 360, step: 10, refreshMs: 10_000},
  {label: '24 h', steps: 288, step: 300, refreshMs: 60_000},
];

const GAP_MS = 5000;  // between two polls; after longer ones, the server is asked what was
const POLLS_MAX = 10;

const COUNTS = ['allowed', 'denied', 'shadow_denied', 'near_limit'];

const MEAN_SECONDS = 5;
const MEAN = `mean of ${MEAN_SECONDS} s`;

const SERIES = [
  {label: 'allowed', colour: 'allowed', fill: true},
  {label: 'denied', colour: 'denied', fill: true},
  {label: 'would deny', colour: 'shadow', fill: false},
  {label: 'near a limit', colour: 'near', fill: false},
];

// The counts of /api/history as rows of a chart: the time of each step's begin, and rates.
function rowsOf(history) {
  const [series] = history.series;
  if (!series) return [];
  return series.allowed.map((unused, i) => [
    new Date(1000 * (history.from + i * history.step)),
    ...COUNTS.map((name) => series[name][i] === null ? null : series[name][i] / history.step),
  ]);
}

// The time at the axis: the seconds only where there are any.
function axisTime(date) {
  const time = date.toTimeString().slice(0, 8);
  return time.endsWith(':00') ? time.slice(0, 5) : time;
}

// A cumulative count at `time`, between the polls around it; `polls` are {time, counts}, ascending.
function countAt(polls, name, time) {
  const after = polls.findIndex((poll) => poll.time >= time);
  if (after <= 0) return polls.at(after).counts[name];
  const [a, b] = [polls[after - 1], polls[after]];
  return a.counts[name] + (time - a.time) / (b.time - a.time) * (b.counts[name] - a.counts[name]);
}

// What was counted in the second from `begin` on. Of the first second, the polls may have seen the
// end only.
function inSecond(polls, name, begin) {
  const from = Math.max(begin, polls[0].time);
  const counted = countAt(polls, name, begin + 1000) - countAt(polls, name, from);
  return counted * 1000 / (begin + 1000 - from);
}

export class HistoryPanel {
  // `limit`: the name of a limit; undefined for all together.
  constructor(limit) {
    this.limit = limit;
    this.range = RANGES[0];
    this.rows = [];
    this.polls = [];  // the last ones, from which follow() continues
    this.refreshed = -Infinity;
    this.chart = new Chart(SERIES, {
      format: rate, xLabel: clock, label: 'Decisions per second over time',
      axis: {axisLabelFormatter: axisTime},
    });
    this.buttons = RANGES.map((range) => h('button', {
      type: 'button', 'aria-pressed': String(range === this.range),
      click: () => this.choose(range),
    }, range.label));
    this.root = h('section', {class: 'card'},
      h('div', {class: 'head'}, h('h2', {}, 'Decisions per second'),
        h('div', {class: 'segments', role: 'group', 'aria-label': 'Time shown'}, this.buttons)),
      this.chart.root);
  }

  choose(range) {
    this.range = range;
    this.rows = [];
    this.refreshed = -Infinity;
    this.buttons.forEach((button, i) =>
      button.setAttribute('aria-pressed', String(RANGES[i] === range)));
    this.wanted?.();
  }

  // Asks the server if what is drawn has grown old. Between two answers, follow() continues.
  async refresh(everyMs = this.range.refreshMs) {
    if (performance.now() - this.refreshed < everyMs) return;
    const {range} = this;
    const history = await get('/api/history', {
      step: range.step, ...(this.limit === undefined ? {} : {limit: this.limit}),
    });
    if (range !== this.range) return;
    this.refreshed = performance.now();
    this.rows = rowsOf(history).slice(-range.steps);
    this.draw();
  }

  // Continues by the seconds that have passed since the last poll of cumulative counts.
  follow(time, counts) {
    const before = this.polls.at(-1);
    const reset = before && COUNTS.some((name) => counts[name] < before.counts[name]);
    if (before && (reset || time - before.time > GAP_MS)) {
      this.polls = [];
      this.refreshed = -Infinity;
    }
    this.polls = [...this.polls, {time, counts}].slice(-POLLS_MAX);
    if (this.range.step !== 1 || !this.rows.length) return;
    const first = this.polls[0].time;
    for (let begin = this.end() + 1000; begin + 1000 <= time; begin += 1000) {
      if (begin + 1000 <= first) continue;
      this.rows.push([new Date(begin), ...COUNTS.map((name) => inSecond(this.polls, name, begin))]);
    }
    this.rows = this.rows.slice(-this.range.steps);
    this.draw();
  }

  // The mean of the last seconds of one limit, as the tiles have of all.
  showOwnMean() {
    const last = this.rows.slice(-MEAN_SECONDS);
    if (this.range.step !== 1 || !last.length) return this.chart.showAtRest(null);
    const mean = (i) => last.reduce((sum, row) => sum + (row[i + 1] ?? 0), 0) / last.length;
    this.chart.showAtRest(COUNTS.map((name, i) => mean(i)), MEAN);
  }

  // The legend's rates, unless the pointer asks for those of a moment: the tiles'.
  showMean(rates) {
    this.chart.showAtRest(COUNTS.map((name) => rates.of(name)), MEAN);
  }

  // Marks what has happened, from the next drawing on.
  mark(marks) {
    this.chart.mark(marks);
  }

  // The time of the last row.
  end() {
    return this.rows.at(-1)[0].getTime();
  }

  draw() {
    if (!this.rows.length) return;
    const end = this.end();
    if (this.limit !== undefined) this.showOwnMean();
    this.chart.set(this.rows, [end - 1000 * this.range.steps * this.range.step, end]);
  }

  close() {
    this.chart.close();
  }
}
