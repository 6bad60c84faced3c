// The view of one key: its buckets as they refill, its bans, holds and overrides, and what can be
// done.
import {byKey, change, get} from './api.js';
import {bucketList} from './bucket_bar.js';
import {redisCli} from './command.js';
import {diffTable, showChange} from './confirm.js';
import {keyText} from './copy_text.js';
import {h, setHidden, setText, toast, updateRows} from './dom.js';
import {holdList} from './hold_list.js';
import {keyVerdict} from './key_verdict.js';
import {limitsIn} from './limit_text.js';
import {canChange, rightsNote} from './server.js';
import {limitLinks} from './who.js';

// The view before a key is chosen.
export function keyChoiceView() {
  const input = h('input', {
    class: 'mono', type: 'text', 'aria-label': 'Key', placeholder: 'user:42', autocomplete: 'off',
    autocapitalize: 'off', spellcheck: 'false', required: true,
  });
  const submit = (event) => {
    event.preventDefault();
    location.hash = `#/key/${encodeURIComponent(input.value)}`;
  };
  const root = h('section', {class: 'card'}, h('h1', {}, 'Key'),
    h('p', {}, 'See the buckets of a key, and when it may go on.'),
    h('form', {class: 'line', submit}, input, h('button', {class: 'primary'}, 'Look up')),
    h('p', {class: 'note'}, 'Or choose one of those that are ', h('a', {href: '#/who'},
      'denied most'), '. In any view, / leads to the field at the top.'));
  return {root, title: 'Key', shown: () => input.focus(), poll: async () => {}};
}

function sendReset(k, poll) {
  return async () => {
    await change('POST', byKey('/api/key/reset', k));
    toast('Reset: the key has no buckets.');
    poll();
  };
}

function askReset(answer, k, poll) {
  const count = answer.buckets.length;
  showChange({
    title: `Reset ${answer.key}`, verb: 'Reset', danger: true,
    body: [h('p', {}, `Forgets ${count === 1 ? 'its bucket' : `its ${count} buckets`}, debts, `,
      'bans and holds included. The key may then use all its limits in full.')],
    command: redisCli('RL.RESET', answer.key),
    send: canChange() ? sendReset(k, poll) : null,
  });
}

function askUnoverride({policy, limits}, answer, k, poll) {
  const path = `/api/policies/${encodeURIComponent(policy)}/overrides`;
  showChange({
    title: `Give ${answer.key} the limits of ${policy} again`, verb: 'Drop the override',
    body: [diffTable(limits, [])], command: redisCli('RL.POLICY', 'UNOVERRIDE', policy, answer.key),
    send: canChange() ? async () => {
      await change('DELETE', byKey(path, k));
      toast('The override is gone.');
      poll();
    } : null,
  });
}

function askOverride(policy, limits, answer, k, poll) {
  const path = `/api/policies/${encodeURIComponent(policy)}/overrides`;
  const before = answer.overrides.find((one) => one.policy === policy)?.limits ?? [];
  showChange({
    title: `Override ${policy} for ${answer.key}`, verb: 'Override', body: [
      diffTable(before, limits)],
    command: redisCli('RL.POLICY', 'OVERRIDE', policy, answer.key, ...limits),
    send: canChange() ? async () => {
      await change('POST', byKey(path, k), {limits});
      toast('Overridden.');
      poll();
    } : null,
  });
}

// One override that holds for the key.
function overrideRow(override, drop) {
  const limits = h('td', {class: 'mono'}, '');
  const href = `#/policies/${encodeURIComponent(override.policy)}`;
  let now = override;
  return {
    root: h('tr', {}, h('th', {scope: 'row'}, h('a', {href, class: 'mono'}, override.policy)),
      limits, h('td', {class: 'number'}, h('button', {
        type: 'button', class: 'quiet', click: () => drop(now)}, 'Unoverride\u2026'))),
    update(told) {
      now = told;
      setText(limits, told.limits.join(' '));
    },
  };
}

function overrideForm(submitted) {
  const policy = h('select', {'aria-label': 'Policy'});
  const limits = h('input', {
    class: 'mono', type: 'text', required: true, 'aria-label': 'Limits', spellcheck: 'false',
    placeholder: '100/s 10k/h, unlimited, or none', autocomplete: 'off', autocapitalize: 'off',
  });
  const root = h('form', {class: 'line', hidden: true, submit: (event) => {
    event.preventDefault();
    submitted(policy.value, limitsIn(limits.value));
  }}, policy, limits, h('button', {}, 'Override\u2026'));
  return {
    root,
    set(policies) {
      const names = policies.filter((one) => !one.retired).map((one) => one.name);
      policy.replaceChildren(...names.map((name) => h('option', {value: name}, name)));
      setHidden(root, names.length === 0);
    },
  };
}

// `path`: of the request for it. `k`: names it in changes; null for one whose text is cut, which
// cannot be changed.
export function keyView(path, k) {
  const name = h('code', {}, '');
  const state = h('p', {class: 'verdict'}, '');
  const deniers = h('p', {class: 'note', hidden: true}, 'Limits that have denied it: ');
  const denierLinks = h('span', {});
  deniers.append(denierLinks);
  const setDeniers = limitLinks(denierLinks);
  const buckets = bucketList((bucket, i) => `${bucket.limit} ${i}`);
  const holds = holdList();
  const overrides = h('tbody');
  const noOverride = h('p', {class: 'empty'}, 'No override holds for this key.');
  const table = h('table', {class: 'plain'}, h('thead', {}, h('tr', {},
    h('th', {scope: 'col'}, 'Policy'), h('th', {scope: 'col'}, 'Limits of this key'),
    h('th', {}, h('span', {class: 'unseen'}, 'Change')))), overrides);
  const reset = h('button', {
    type: 'button', class: 'danger', click: () => askReset(answer, k, wake),
  }, 'Reset\u2026');
  const form = overrideForm((policy, limits) => askOverride(policy, limits, answer, k, wake));
  const rights = rightsNote();
  const about = k === null ? h('p', {class: 'note'}, 'Only the first 128 bytes of this key are ' +
    'known here. Its overrides are not shown, and RL.RESET needs the whole key.') : null;
  const root = h('div', {class: 'stack'},
    h('section', {class: 'card'},
      h('div', {class: 'head'}, h('h1', {}, h('span', {class: 'of'}, 'Key '), name), reset),
      state, buckets.root, deniers, about ?? []),
    holds.root,
    about ? [] : [h('section', {class: 'card overrides'}, h('h2', {}, 'Overrides'), noOverride,
      table, form.root), rights.root]);
  let answer = {key: '', buckets: [], holds: [], overrides: []};
  let wake = () => {};
  let policiesKnown = false;

  const show = () => {
    const verdict = keyVerdict(answer.buckets);
    setText(name, about ? `${answer.key}\u2026` : answer.key);
    state.className = `verdict ${verdict.denied ? 'no' : 'yes'}`;
    setText(state, verdict.text);
    buckets.set(answer.buckets, answer.time_ms);
    holds.set(answer.holds);
    setDeniers(answer.denied_by ?? []);
    setHidden(deniers, !answer.denied_by?.length);
    setHidden(reset, about !== null || answer.buckets.length === 0);
    setHidden(table, answer.overrides.length === 0);
    setHidden(noOverride, answer.overrides.length > 0);
    updateRows(overrides, answer.overrides, (one) => one.policy, (one) =>
      overrideRow(one, (dropped) => askUnoverride(dropped, answer, k, wake)));
    rights.update();
  };

  return {
    root,
    title: 'Key',
    wake: (poll) => { wake = poll; },
    copy: () => ({
      lines: [`key ${answer.key}`, ...keyText(answer, state.textContent)], data: answer,
    }),
    async poll() {
      answer = await get(path);
      show();
      if (policiesKnown || about) return;
      policiesKnown = true;
      form.set(await get('/api/policies').then((all) => all.policies, () => []));
    },
  };
}
