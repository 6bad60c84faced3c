// A small chart of the last minute inside a table's row: what was let through, above it what was
// denied, and above that what would have been. The rows of a table share a scale.
import {svg} from './dom.js';

const WIDTH = 120;
const HEIGHT = 24;
const SECONDS = 60;
const LEAST = 1.5;  // the height of what is more than nothing, however little

function sumOf([allowed, denied, shadow]) {
  return allowed + denied + shadow;
}

// The highest second of several limits, by their `recent`; at least 1.
export function highestOf(limits) {
  return Math.max(1, ...limits.flatMap(({recent}) => (recent ?? []).map(sumOf)));
}

// The outline of an area from `base` up to `top`, both heights for each step. The last one is now.
function area(base, top) {
  const x = (i) => ((SECONDS - top.length + i) * WIDTH / (SECONDS - 1)).toFixed(1);
  const y = (height) => (HEIGHT - height).toFixed(1);
  const there = top.map((height, i) => `${x(i)},${y(height)}`);
  const back = base.map((height, i) => `${x(i)},${y(height)}`).reverse();
  return `M${[...there, ...back].join('L')}Z`;
}

// `set(recent, highest)`: [allowed, denied, shadow_denied, near_limit] of each of the last seconds,
// or null, and the second that is as high as the chart.
export function spark() {
  const passed = svg('path', {class: 'passed'});
  const denied = svg('path', {class: 'denied'});
  const shadow = svg('path', {class: 'shadow'});
  const root = svg('svg', {
    class: 'spark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  }, passed, denied, shadow);
  return {
    root,
    set(recent, highest) {
      const height = (value) => value && Math.max(LEAST, (HEIGHT - 2 * LEAST) * value / highest);
      const layers = [passed, denied, shadow];
      let base = (recent ?? []).map(() => 0);
      layers.forEach((layer, i) => {
        const top = base.map((below, second) => below + height(recent[second][i]));
        const some = top.some((value, second) => value > base[second]);
        layer.setAttribute('d', some ? area(base, top) : '');
        base = top;
      });
    },
  };
}
