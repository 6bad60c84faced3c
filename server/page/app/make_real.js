// The way to make a limit on trial a real one: a command, or a change of the program.
import {get} from './api.js';
import {showChange} from './confirm.js';
import {h} from './dom.js';
import {isShadow, labelOf, policyPosition, withoutShadow} from './limit_text.js';
import {waysToSet} from './policy_change.js';

// The policy that has the limit of this name in statistics, and its position there; or null.
async function findInPolicies(name) {
  const place = policyPosition(name);
  const {policies} = await get('/api/policies');
  for (const policy of policies) {
    if (place && policy.name !== place.policy) continue;
    const position = place?.position ?? policy.limits.findIndex((limit) =>
      isShadow(limit) && (limit === name || labelOf(limit) === name));
    if (isShadow(policy.limits[position] ?? '')) return {policy, position};
  }
  return null;
}

// Shows how `name`, a shadow limit as RL.STATS names it, becomes one that denies.
export async function showRealCommand(name) {
  const found = await findInPolicies(name).catch(() => null);
  const title = `Make ${name} deny`;
  if (found) {
    const limits = found.policy.limits.map((limit, i) =>
      i === found.position ? withoutShadow(limit) : limit);
    showChange({
      title, ...waysToSet(found.policy.name, limits, found.policy),
      body: [h('p', {}, 'It is part of the policy ', h('a', {
        href: `#/policies/${encodeURIComponent(found.policy.name)}`,
      }, found.policy.name), '. Keys start with full buckets, as a shadow limit has its own.')],
    });
    return;
  }
  showChange({
    title,
    body: [h('p', {}, 'No policy has it: the requests of your programs name it themselves. In ' +
      'the program, leave out ', h('code', {}, ',shadow'), ' in the limit ',
    /^\d/.test(name) ? [h('code', {}, name), ': ', h('code', {}, withoutShadow(name))]
      : [h('code', {}, `name=${name}`)], '.')],
  });
}
