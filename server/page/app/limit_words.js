// Limits in words: "100k/m" is "a bucket of 100,000 that refills in a minute".
import {count} from './format.js';

const UNITS = [
  [/^(us)$/, 'microsecond'], [/^(ms)$/, 'millisecond'], [/^(s|secs?|seconds?)$/, 'second'],
  [/^(m|mins?|minutes?)$/, 'minute'], [/^(h|hrs?|hours?)$/, 'hour'], [/^d$/, 'day'],
  [/^w$/, 'week'],
];
const CALENDAR = ['day', 'week', 'month', 'year'];
const THOUSANDS = {k: 1e3, K: 1e3, M: 1e6, G: 1e9};

function spanText(number, unit) {
  const word = UNITS.find(([pattern]) => pattern.test(unit))?.[1];
  if (!word) return null;
  if (number === '' || number === '1') return `${word === 'hour' ? 'an' : 'a'} ${word}`;
  return `${count(Number(number))} ${word}s`;
}

function valueOf(options, name) {
  return options.find((option) => option.startsWith(`${name}=`))?.slice(name.length + 1);
}

function optionsText(options) {
  const ban = valueOf(options, 'ban');
  const keep = valueOf(options, 'keep');
  const cost = valueOf(options, 'cost');
  return [
    ban && `A denial shuts it for ${ban}.`,
    keep && `A request is denied if fewer than ${keep} would be left.`,
    cost && `A request takes ${cost} of it.`,
    options.includes('shadow') && 'It is on trial: it counts, and denies nothing.',
  ].filter(Boolean);
}

function calendarText(amount, written, unit, options) {
  const zone = valueOf(options, 'tz') ?? 'UTC';
  const note = unit === 'day' ? ` ${written}/d would be a bucket over 24 hours.` : '';
  return `${amount} in each ${unit} of the calendar: all are back when the next begins, at ` +
    `midnight (${zone}).${note}`;
}

function rateText(amount, [, digits, thousands, number, unit], options) {
  if (number === '' && CALENDAR.includes(unit)) {
    return calendarText(amount, digits + thousands, unit, options);
  }
  const span = spanText(number, unit);
  if (!span) return null;
  if (options.includes('sliding')) return `${amount} in any ${span.replace(/^an? /, '')}.`;
  if (options.includes('fixed')) return `${amount} in a window of ${span} from the first request.`;
  const burst = valueOf(options, 'burst');
  return burst ? `A bucket of ${burst}, to which ${amount} come back in ${span}.`
    : `A bucket of ${amount} that refills in ${span}.`;
}

// The meaning of one limit as it is written; null for another word, or for a name.
export function limitWords(text) {
  const [head, ...options] = text.split(',');
  const policy = /^@([\w.-]+)$/.exec(head);
  if (policy) return `The limits of the policy ${policy[1]}.`;
  if (head === 'unlimited' || head === 'none') {
    return head === 'none' ? 'It denies every request.' : 'It admits every request.';
  }
  const found = /^(\d+)([kKMG]?)(?:\/(\d*)([a-z]+))?$/.exec(head);
  if (!found) return null;
  const amount = count(Number(found[1]) * (THOUSANDS[found[2]] ?? 1));
  const held = found[4] === undefined && options.includes('held');
  const first = held ? `At most ${amount} at a time, held by RL.RESERVE.`
    : found[4] === undefined ? null : rateText(amount, found, options);
  return first && [first, ...optionsText(options)].join(' ');
}

// The same of several limits, a line each; limits that have no meaning are left out.
export function limitLines(limits) {
  return limits.flatMap((limit) => {
    const words = limitWords(limit);
    return words ? [{limit, words}] : [];
  });
}
