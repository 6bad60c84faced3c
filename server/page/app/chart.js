// Charts over time, drawn by dygraphs, with a legend of our own: that of dygraphs writes styles
// into attributes, which the page's policy for content refuses, so it is left out.
/* global Dygraph */
import {h, quantity, setNote, setText} from './dom.js';
import {NONE, axisNumber} from './format.js';

let library = null;  // a promise of dygraphs: it is loaded for the first chart

function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    document.head.append(h('script', {src: '/dygraph.js', load: resolve, error: reject}));
  }).then(() => {
    Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);
  });
  library.catch(() => { library = null; });  // so that the next poll tries again
  return library;
}

const dark = matchMedia('(prefers-color-scheme: dark)');

// The value of a colour of app.css, such as "denied".
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function fontSize() {
  return Math.round(0.75 * parseFloat(getComputedStyle(document.documentElement).fontSize));
}

// Draws a series as bars from one point to the next, the width of `binMs` of x.
function barPlotter(binMs) {
  return ({dygraph, drawingContext, points, color}) => {
    drawingContext.fillStyle = color;
    drawingContext.globalAlpha = 0.8;
    const base = dygraph.toDomYCoord(0);
    for (const point of points) {
      const right = dygraph.toDomXCoord(point.xval + binMs);
      const width = Math.max(1, right - point.canvasx - 1);
      drawingContext.clearRect(point.canvasx, point.canvasy, width, base - point.canvasy);
      drawingContext.fillRect(point.canvasx, point.canvasy, width, base - point.canvasy);
    }
    drawingContext.globalAlpha = 1;
  };
}

export class Chart {
  // `series`: {label, colour, fill} each. `format(value)` gives a number and its unit, `xLabel(x)`
  // the text of a point in time.
  constructor(series, {format, xLabel, label, bars, axis = {}}) {
    this.series = series;
    this.format = format;
    this.xLabel = xLabel;
    this.bars = bars;
    this.axis = axis;
    this.rows = [];
    this.marks = [];
    this.host = h('div', {class: 'plot', role: 'img', 'aria-label': label});
    this.when = h('span', {class: 'when'}, '');
    this.values = series.map(() => quantity());
    this.root = h('figure', {class: 'chart'}, h('figcaption', {class: 'legend'},
      series.map((one, i) => h('span', {class: `entry of-${one.colour}`},
        h('span', {class: 'swatch'}), `${one.label} `, this.values[i].root)), this.when),
    this.host);
    this.themeChanged = () => this.graph?.updateOptions(this.theme());
    dark.addEventListener('change', this.themeChanged);
    this.resized = new ResizeObserver(() => {
      if (this.graph) this.graph.resize();
      else this.set(this.rows, this.window);
    });
    this.resized.observe(this.host);
  }

  // Rows of x and one value, or null, for each series. `window`: the first and the last x shown.
  set(rows, window) {
    this.rows = rows;
    this.window = window;
    if (!this.hovered) this.showLast();
    loadLibrary().then(() => this.draw(), () => {});
  }

  // Shows these values instead of those of the last row; null: that again.
  showAtRest(values, when = '') {
    this.rest = values && {values, when};
    if (!this.hovered) this.showLast();
  }

  // Marks points in time at the axis: {time, letter, text} each.
  mark(marks) {
    this.marks = marks;
  }

  // A mark stands at the row in whose time it falls. Several there are one, with all texts and the
  // letter of the last.
  annotations() {
    const found = new Map();
    for (const {time, letter, text} of this.marks) {
      const next = this.rows.findIndex((row) => Number(row[0]) > time);
      const row = this.rows[next < 0 ? this.rows.length - 1 : next - 1];
      if (row === undefined) continue;
      const x = Number(row[0]);
      const before = found.get(x);
      found.set(x, {
        series: this.series[0].label, x, shortText: letter, attachAtBottom: true,
        text: before ? `${before.text}\n${text}` : text,
      });
    }
    return [...found.values()];
  }

  // A graph that is made while it is hidden would keep the width of dygraphs' default.
  draw() {
    if (!this.host.isConnected || !this.host.clientWidth || !this.rows.length) return;
    if (this.graph) {
      const focused = this.host.querySelector('.dygraph-annotation:focus')?.title;
      this.graph.setAnnotations(this.annotations(), true);
      this.graph.updateOptions({file: this.rows, dateWindow: this.window});
      this.noteMarks(focused);
    } else {
      const options = {...this.options(), dateWindow: this.window};
      this.graph = new Dygraph(this.host, this.rows, options);
      this.graph.ready(() => {
        this.graph.setAnnotations(this.annotations());
        this.noteMarks();
      });
    }
  }

  // Lets the keyboard reach the marks, which dygraphs makes again for each drawing.
  noteMarks(focused) {
    for (const mark of this.host.querySelectorAll('.dygraph-annotation')) {
      setNote(mark, mark.title);
      if (mark.title === focused) mark.focus({preventScroll: true});
    }
  }

  close() {
    dark.removeEventListener('change', this.themeChanged);
    this.resized.disconnect();
    this.graph?.destroy();
  }

  theme() {
    return {
      colors: this.series.map((one) => colour(one.colour)),
      gridLineColor: colour('grid'),
      axisLineColor: colour('line'),
      axisLabelFontSize: fontSize(),
    };
  }

  options() {
    const shared = {
      labels: ['x', ...this.series.map((one) => one.label)],
      interactionModel: {},
      showLabelsOnHighlight: false,
      includeZero: true,
      strokeWidth: 1.5,
      highlightCircleSize: 3,
      fillAlpha: 0.12,
      rightGap: 12,
      xAxisHeight: 2 * fontSize(),
      series: Object.fromEntries(this.series.map((one) => [one.label, {fillGraph: one.fill}])),
      axes: {
        x: {drawGrid: false, pixelsPerLabel: 9 * fontSize(), axisLabelWidth: 5.5 * fontSize(),
          ...this.axis},
        y: {axisLabelWidth: 4 * fontSize(), pixelsPerLabel: 3 * fontSize(),
          axisLabelFormatter: (value) => axisNumber(value)},
      },
      highlightCallback: (event, x, points, row) => this.showRow(row),
      unhighlightCallback: () => this.showLast(),
    };
    if (this.bars) shared.plotter = barPlotter(this.bars);
    return {...shared, ...this.theme()};
  }

  showRow(index) {
    this.hovered = true;
    this.show(this.rows[index]);
  }

  showLast() {
    this.hovered = false;
    if (this.rest) this.showValues(this.rest.values, this.rest.when);
    else this.show(this.rows.at(-1));
  }

  show(row) {
    if (row) this.showValues(row.slice(1), this.xLabel(Number(row[0])));
  }

  showValues(values, when) {
    this.values.forEach((shown, i) =>
      shown.set(values[i] === null ? [NONE, ''] : this.format(values[i])));
    setText(this.when, when);
  }
}
