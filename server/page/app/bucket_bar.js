// A bucket drawn as a bar of what is left, which counts down smoothly between polls.
import {bucketAt, describe, describeHeld} from './countdown.js';
import {h, setClass, setHidden, setText} from './dom.js';
import {clock, count, duration} from './format.js';

function leftOf(bucket, state) {
  if (bucket.held) {
    return `${count(bucket.capacity - state.remaining)} of ${count(bucket.capacity)} in use`;
  }
  if (bucket.used > bucket.capacity && bucket.capacity !== null) {
    return `${count(bucket.used - bucket.capacity)} in debt`;
  }
  if (bucket.capacity === null) return '';  // a limit that comes with each request
  return `${count(state.remaining)} left of ${count(bucket.capacity)}`;
}

// `set(bucket, serverMs)`: what the server has told, and its clock then. `frame()`: draws the
// bucket as it is now.
export function bucketBar() {
  const name = h('h3', {class: 'mono'}, '');
  const left = h('span', {class: 'left'}, '');
  const fill = h('span', {class: 'fill'});
  const track = h('span', {class: 'track'}, fill);
  const ban = h('p', {class: 'ban', hidden: true}, '');
  const text = h('p', {class: 'note'}, '');
  const root = h('li', {class: 'bucket'}, h('div', {class: 'head'}, name, left), track, ban, text);
  let bucket = null;
  let received = 0;
  let serverMs = 0;
  const frame = () => {
    const state = bucketAt(bucket, performance.now() - received);
    setHidden(track, state.fraction === null);
    fill.style.transform = `scaleX(${(state.fraction ?? 0).toFixed(4)})`;
    setClass(root, 'low', state.fraction !== null && state.fraction <= 0.2);
    setClass(root, 'banned', state.banned > 0);
    setText(left, leftOf(bucket, state));
    setHidden(ban, state.banned === 0);
    if (state.banned) {
      const end = clock(serverMs + bucket.banned_ms);
      setText(ban, `Banned for ${duration(state.banned)} more, until ${end}`);
    }
    setText(text, state.banned ? '' : bucket.held ? describeHeld(state) : describe(state));
    setHidden(text, state.banned > 0);
  };
  return {
    root,
    set(told, clockMs) {
      bucket = told;
      received = performance.now();
      serverMs = clockMs;
      setText(name, told.limit);
      frame();
    },
    frame,
  };
}

// A list of bars, which calls frame() of each at every frame while it is on the page.
export function bucketList(idOf) {
  const root = h('ul', {class: 'buckets'});
  let bars = new Map();
  let asked = 0;
  const frame = () => {
    bars.forEach((bar) => bar.frame());
    asked = root.isConnected && bars.size ? requestAnimationFrame(frame) : 0;
  };
  return {
    root,
    set(buckets, clockMs) {
      const before = bars;
      bars = new Map();
      buckets.forEach((bucket, i) => {
        const id = idOf(bucket, i);
        const bar = before.get(id) ?? bucketBar();
        bar.set(bucket, clockMs);
        bars.set(id, bar);
      });
      for (const [id, bar] of before) {
        if (!bars.has(id)) bar.root.remove();
      }
      [...bars.values()].forEach((bar, i) => {
        if (root.children[i] !== bar.root) root.insertBefore(bar.root, root.children[i] ?? null);
      });
      if (!asked && bars.size) asked = requestAnimationFrame(frame);
    },
  };
}
