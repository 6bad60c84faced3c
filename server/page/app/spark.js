// A small chart of the last minute inside a table's row: what was let through, above it what was
// denied, and above that what would have been. It has no axes; the row's numbers say the scale.
import {svg} from './dom.js';

const WIDTH = 120;
const HEIGHT = 24;

// The outline of an area from `base` up to `top`, both heights for each step.
function area(base, top, highest) {
  const x = (i) => (i * WIDTH / Math.max(1, top.length - 1)).toFixed(1);
  const y = (value) => (HEIGHT - 1 - (HEIGHT - 2) * value / highest).toFixed(1);
  const there = top.map((value, i) => `${x(i)},${y(value)}`);
  const back = base.map((value, i) => `${x(i)},${y(value)}`).reverse();
  return `M${[...there, ...back].join('L')}Z`;
}

// `set(recent)`: [allowed, denied, shadow_denied, near_limit] of each second, or null.
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
    set(recent) {
      const steps = recent ?? [];
      const low = steps.map(([allowed]) => allowed);
      const middle = steps.map(([allowed, no]) => allowed + no);
      const high = steps.map(([allowed, no, would]) => allowed + no + would);
      const highest = Math.max(1, ...high);
      const some = high.some((value) => value > 0);
      const outline = (base, top) => some ? area(base, top, highest) : '';
      passed.setAttribute('d', outline(low.map(() => 0), low));
      denied.setAttribute('d', outline(low, middle));
      shadow.setAttribute('d', outline(middle, high));
    },
  };
}
