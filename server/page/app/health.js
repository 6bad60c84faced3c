// The server's verdict about itself as a line: whether it is well and, if not, why.
import {bytes, clock, duration} from './format.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

// "weir-a" of "weir-a:7379".
export function hostOf(server) {
  return server.slice(0, server.lastIndexOf(':'));
}

// The title of the page: the host and the view, and a mark that shows in a row of tabs.
export function pageTitle(now, view) {
  if (!now) return `weir: ${view}`;
  return `${now.verdict.state === 'bad' ? '(!) ' : ''}${hostOf(now.server)}: ${view}`;
}

// "for 40 s", "for 12 min", and then the time of the day.
function sinceText(since, now) {
  const age = Math.max(0, now - since);
  if (age < MINUTE) return `for ${Math.floor(age / 1000)} s`;
  if (age < HOUR) return `for ${Math.floor(age / MINUTE)} min`;
  return `since ${clock(since)}`;
}

function saved(now) {
  if (now.durability === 'none') return 'nothing is kept on disk';
  return now.last_save_age_ms === null ? null : `saved ${duration(now.last_save_age_ms)} ago`;
}

function replicas({role, replication}) {
  if (role === 'replica') return 'in sync with its primary';
  const count = replication.replicas.filter((one) => one.online).length;
  if (count === 0) return null;
  return count === 1 ? '1 replica in sync' : `${count} replicas in sync`;
}

function memory(now) {
  if (now.memory_permille === null) return `memory ${bytes(now.memory_bytes).join(' ').trim()}`;
  return `memory ${Math.round(now.memory_permille / 10)} %, no evictions`;
}

function headOf(state, count) {
  const things = count === 1 ? '1 thing' : `${count} things`;
  if (state === 'warn') return `${things} to look at: `;
  return count === 1 ? `${things} is wrong: ` : `${things} are wrong: `;
}

// Returns what the line says of `now`, the answer of /api/now: its state, its beginning, and the
// reasons with the addresses of their help.
export function verdictLine(now) {
  const {state, reasons} = now.verdict;
  if (reasons.length === 0) {
    const facts = [saved(now), replicas(now), memory(now)].filter((fact) => fact !== null);
    return {state, head: `All well: ${facts.join(', ')}`, reasons: []};
  }
  return {
    state,
    head: headOf(state, reasons.length),
    reasons: reasons.map(({code, text, since_ms: since}) => ({
      href: `#/health/${code}`, text: `${text}, ${sinceText(since, now.time_ms)}`,
    })),
  };
}
