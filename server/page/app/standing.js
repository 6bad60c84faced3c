// The standing of a server that makes no decisions now.
import {duration} from './format.js';

function following(link) {
  if (!link.complete) return 'It receives its first state and knows no bucket yet.';
  const age = link.data_age_ms;
  const behind = age === null ? 'It was not in sync yet.' : `It is ${duration(age)} behind.`;
  return link.up ? behind
    : `${behind} It has not heard from its primary for ${duration(link.down_ms)}.`;
}

// Returns a title and sentences for `now`, the answer of /api/now; nothing for a primary that
// decides.
export function standing(now) {
  const link = now.replication.link;
  if (now.role === 'replica') {
    const primary = link?.primary ?? 'another server';
    return {
      title: `A replica of ${primary}`,
      text: `${link ? `${following(link)} ` : ''}Decisions are made there: ask ${primary}, or ` +
        'promote this server by REPLICAOF NO ONE.',
    };
  }
  if (now.role === 'gated') {
    return {
      title: 'Waiting for Sentinel',
      text: 'It refuses most commands until a Sentinel has said which server is the primary.',
    };
  }
  if (now.role === 'deposed') {
    return {
      title: 'Deposed',
      text: 'It has heard of a later primary and admits nothing. REPLICAOF gives it a role.',
    };
  }
  if (now.durability !== 'none' && now.last_save_age_ms === null) {
    return {
      title: 'Loading its state',
      text: 'It refuses most commands until it has read its data directory.',
    };
  }
  return null;
}
