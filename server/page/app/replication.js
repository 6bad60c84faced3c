// The server's part in replication as rows of facts: name, text, and whether it is bad.
import {bytes, count, duration} from './format.js';

const ROLES = {
  primary: 'primary', replica: 'replica', deposed: 'DEPOSED: it admits nothing',
  gated: 'waits for Sentinel',
};

function amount(value) {
  return bytes(value).filter(Boolean).join(' ');
}

function replicaRow(replica, head) {
  const behind = amount(Math.max(head - replica.offset, 0));
  const heard = `heard ${duration(replica.lag_ms)} ago`;
  const text = replica.online ? `${behind} behind, ${heard}` : `receives its first state, ${heard}`;
  return [`Replica ${replica.address}`, text];
}

function linkRows(link) {
  const age = link.data_age_ms === null ? 'as it was loaded' : `${duration(link.data_age_ms)} old`;
  const text = link.up ? link.state : `${link.state}, down for ${duration(link.down_ms)}`;
  return [
    ['Follows', `${link.primary}, ${text}`, !link.up],
    ['State', link.complete ? age : 'not complete', !link.complete],
  ];
}

// `now`: /api/now. No rows for a primary that has no replicas.
export function replicationFacts(now) {
  const {offset, loss_bound_ms: lost, link, replicas} = now.replication;
  if (now.role === 'primary' && replicas.length === 0) return [];
  const rows = [['Role', ROLES[now.role], now.role === 'deposed'], ['Offset', count(offset)]];
  if (link) return rows.concat(linkRows(link));
  const none = 'everything: no replica was in sync yet';
  const bound = lost === null ? none : `at most ${duration(lost)}`;
  rows.push(['Lost by a failover', bound]);
  return rows.concat(replicas.map((one) => replicaRow(one, offset)));
}
