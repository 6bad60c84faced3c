// Numbers as texts. Functions that return a pair give the number and its unit.

const GROUPED = new Intl.NumberFormat('en-US');
const ONE_DIGIT = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 1, maximumFractionDigits: 1,
});

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const NONE = '\u2013';  // stands where there is no number

export function count(value) {
  return GROUPED.format(value);
}

// A number at an axis: no more digits than it needs.
export function axisNumber(value) {
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3)));
}

// One digit behind the point below 100; none where there is nothing.
export function rate(perSecond) {
  const small = perSecond > 0 && perSecond < 99.95;
  return [small ? ONE_DIGIT.format(Math.max(perSecond, 0.1)) : count(Math.round(perSecond)), '/s'];
}

export function percent(part, whole) {
  if (!whole) return [NONE, ''];
  const value = 100 * part / whole;
  if (value > 0 && value < 0.1) return ['< 0.1', '%'];
  return [value === 0 || value === 100 ? String(value) : ONE_DIGIT.format(value), '%'];
}

export function bytes(value) {
  let unit = 'B';
  for (const larger of ['KiB', 'MiB', 'GiB', 'TiB']) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return [unit === 'B' || value >= 100 ? count(Math.round(value)) : ONE_DIGIT.format(value), unit];
}

export function latency(microseconds) {
  if (microseconds < 1000) {
    return [microseconds < 10 ? ONE_DIGIT.format(microseconds) : count(Math.round(microseconds)),
      '\u00b5s'];
  }
  return [ONE_DIGIT.format(microseconds / 1000), 'ms'];
}

function two(value) {
  return String(value).padStart(2, '0');
}

// "0.4 s", "3 min 05 s", "2 h 07 min", "12 d 3 h".
export function duration(ms) {
  if (ms < MINUTE) return `${ONE_DIGIT.format(ms / SECOND)} s`;
  const whole = (unit) => Math.floor(ms / unit);
  if (ms < HOUR) return `${whole(MINUTE)} min ${two(whole(SECOND) % 60)} s`;
  if (ms < DAY) return `${whole(HOUR)} h ${two(whole(MINUTE) % 60)} min`;
  return `${count(whole(DAY))} d ${whole(HOUR) % 24} h`;
}

// As duration(), in milliseconds below a second.
export function wait(ms) {
  return ms < SECOND ? `${count(Math.ceil(ms))} ms` : duration(ms);
}

// The name of the zone in which times are shown: "UTC", "GMT+2".
export function zone(ms = Date.now()) {
  const parts = new Intl.DateTimeFormat('en-US', {timeZoneName: 'short'}).formatToParts(ms);
  return parts.find((part) => part.type === 'timeZoneName').value;
}

// The time of the day, with the date if that is not today's.
export function timeOfDay(ms) {
  const then = new Date(ms);
  const time = [then.getHours(), then.getMinutes(), then.getSeconds()].map(two).join(':');
  if (then.toDateString() === new Date().toDateString()) return time;
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${time}`;
}

// The same with its zone.
export function clock(ms) {
  return `${timeOfDay(ms)} ${zone(ms)}`;
}
