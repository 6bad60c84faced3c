// The views of policies: the list, and one policy with its overrides and an editor.
import {change, get} from './api.js';
import {redisCli} from './command.js';
import {diffTable, showChange} from './confirm.js';
import {columnHead, h, setHidden, setText, toast, updateRows} from './dom.js';
import {count} from './format.js';
import {keyLink} from './key_link.js';
import {isShadow, limitsIn, withShadow} from './limit_text.js';
import {fileOf, waysToSet} from './policy_change.js';
import {canChange, rightsNote} from './server.js';

const NONE_YET = 'A policy is a name for limits that the server keeps, so that changing them ' +
  'needs no new release of its clients.';

function pathOf(name) {
  return `/api/policies/${encodeURIComponent(name)}`;
}

function hashOf(name) {
  return `#/policies/${encodeURIComponent(name)}`;
}

// Tags that say which file a policy is from, or that the file no longer has it.
function policyTags() {
  const retired = h('span', {class: 'tag', title: 'No longer in the policy file'}, 'retired');
  const file = h('span', {class: 'tag long'}, '');
  return {
    root: h('span', {}, retired, file),
    set(policy) {
      setHidden(retired, !policy.retired);
      const path = fileOf(policy);
      setHidden(file, path === null);
      setText(file, `from ${path?.split('/').pop()}`);
      file.title = path ?? '';
    },
  };
}

function policyRow(policy) {
  const limits = h('td', {class: 'mono limits'}, '');
  const overrides = h('td', {class: 'number'}, '');
  const tags = policyTags();
  return {
    root: h('tr', {}, h('th', {scope: 'row'},
      h('a', {href: hashOf(policy.name), class: 'mono'}, `@${policy.name}`), ' ', tags.root),
    limits, overrides),
    update(now) {
      tags.set(now);
      setText(limits, now.limits.join('  '));
      setText(overrides, count(now.overrides));
    },
  };
}

// Shows what a change of a policy does, and sends it. The policy is asked for again first, since
// others may have changed it while it was edited.
async function review(name, limits, done) {
  const policy = await get(pathOf(name)).catch((error) => {
    if (error.status === 404) return null;
    throw error;
  });
  showChange({
    title: policy ? `Change @${name}` : `New policy @${name}`,
    verb: policy ? 'Change it' : 'Make it',
    body: [diffTable(policy?.limits ?? [], limits)], ...waysToSet(name, limits, policy),
    send: canChange() && fileOf(policy) === null ? async () => {
      await change('POST', pathOf(name), {limits});
      toast(`@${name} is changed.`);
      done();
    } : null,
  });
}

function limitsArea(value) {
  return h('textarea', {
    class: 'mono', rows: '5', 'aria-label': 'Limits, one a line', spellcheck: 'false',
    required: true, autocapitalize: 'off', placeholder: '10/s,burst=50\n1000/h',
  }, value);
}

function newPolicyForm() {
  const name = h('input', {
    class: 'mono', type: 'text', required: true, 'aria-label': 'Name', placeholder: 'free',
    autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false',
  });
  const limits = limitsArea('');
  const submit = (event) => {
    event.preventDefault();
    const chosen = name.value.trim().replace(/^@/, '');
    return review(chosen, limitsIn(limits.value), () => { location.hash = hashOf(chosen); })
      .catch((error) => toast(error.message));
  };
  return h('form', {class: 'editor', submit}, h('label', {}, h('span', {}, 'Name'), name),
    h('label', {}, h('span', {}, 'Limits, one a line'), limits),
    h('div', {class: 'buttons'}, h('button', {class: 'primary'}, 'Review\u2026')));
}

export function policiesView() {
  const body = h('tbody');
  const empty = h('p', {class: 'empty', hidden: true}, `No policy yet. ${NONE_YET}`);
  const table = h('table', {class: 'plain'}, h('thead', {}, h('tr', {},
    columnHead('Policy'), columnHead('Limits'), columnHead('Overrides', 'number',
      'Keys that have limits of their own in place of those of the policy'))), body);
  const rights = rightsNote();
  const rules = h('p', {class: 'note', hidden: true}, 'Those that begin with rls: are of the ',
    h('a', {href: '#/rules'}, 'rules of Envoy\u2019s rate limit service'), '.');
  const root = h('div', {class: 'stack'},
    h('section', {class: 'card'}, h('h1', {}, 'Policies'), rules, empty, table),
    h('section', {class: 'card'}, h('h2', {}, 'New policy'), rights.root, newPolicyForm()));
  return {
    root,
    title: 'Policies',
    async poll() {
      const {policies} = await get('/api/policies');
      updateRows(body, policies, (one) => one.name, policyRow);
      setHidden(rules, !policies.some(({name, from_file}) => from_file && name.startsWith('rls:')));
      setHidden(empty, policies.length > 0);
      setHidden(table, policies.length === 0);
      rights.update();
    },
  };
}

function overrideRow(override) {
  const limits = h('td', {class: 'mono limits'}, '');
  return {
    root: h('tr', {}, h('th', {scope: 'row'}, keyLink(override)), limits),
    update: (now) => setText(limits, now.limits.join('  ')),
  };
}

// The editor of a policy's limits. `set(policy)` shows them as long as the user has not typed.
function editor(name, wake) {
  const area = limitsArea('');
  const note = h('p', {class: 'note', hidden: true},
    'It has changed on the server meanwhile; the review shows against what.');
  let shown = '';
  const show = (limits) => {
    shown = limits.join('\n');
    area.value = shown;
    area.rows = Math.max(3, limits.length + 1);
  };
  const tryShadow = () => {
    const limits = limitsIn(area.value);
    const real = limits.filter((limit) => !isShadow(limit));
    area.value = [...limits, ...real.map(withShadow)].join('\n');
    area.rows = limits.length + real.length + 1;
    area.focus();
    area.setSelectionRange(limits.join('\n').length + 1, area.value.length);
    toast('Now change the numbers of the copies. They count, and never deny.');
  };
  const submit = (event) => {
    event.preventDefault();
    const limits = limitsIn(area.value);
    return review(name, limits, () => {
      show(limits);
      wake();
    }).catch((error) => toast(error.message));
  };
  const remove = h('button', {
    type: 'button', class: 'danger end', hidden: true, click: () => askDelete(name),
  }, 'Delete\u2026');
  const root = h('form', {class: 'editor', submit},
    h('label', {}, h('span', {}, 'Limits, one a line'), area), note,
    h('div', {class: 'buttons'}, h('button', {class: 'primary'}, 'Review\u2026'),
      h('button', {type: 'button', click: tryShadow}, 'Try as shadow'),
      h('button', {type: 'button', click: () => { area.value = shown; }}, 'Undo'), remove));
  return {
    root,
    set(policy) {
      const {limits} = policy;
      setHidden(remove, fileOf(policy) !== null);
      const typed = area.value !== shown;
      const changed = limits.join('\n') !== shown;
      if (changed && !typed) show(limits);
      setHidden(note, !(changed && typed));
    },
  };
}

function askDelete(name) {
  showChange({
    title: `Delete @${name}`, verb: 'Delete', danger: true,
    body: [h('p', {}, 'Its overrides and the buckets of its limits go, too. Requests that name it ',
      'are answered with an error.')],
    command: redisCli('RL.POLICY', 'DEL', name),
    send: canChange() ? async () => {
      await change('DELETE', pathOf(name));
      toast(`@${name} is gone.`);
      location.hash = '#/policies';
    } : null,
  });
}

export function policyView(name) {
  const body = h('tbody');
  const none = h('p', {class: 'empty', hidden: true},
    'No key has other limits. Look up a key to override them for it.');
  const more = h('p', {class: 'note', hidden: true}, '');
  const table = h('table', {class: 'plain'}, h('thead', {}, h('tr', {},
    h('th', {scope: 'col'}, 'Key'), h('th', {scope: 'col'}, 'Limits of this key'))), body);
  const tags = policyTags();
  const rights = rightsNote();
  let wake = () => {};
  const edit = editor(name, () => wake());
  const root = h('div', {class: 'stack'},
    h('section', {class: 'card'}, h('h1', {}, h('span', {class: 'of'}, 'Policy '),
      h('code', {}, `@${name}`), ' ', tags.root), rights.root, edit.root),
    h('section', {class: 'card'}, h('h2', {}, 'Overrides'), none, table, more),
    h('p', {class: 'note'}, h('a', {href: '#/policies'}, 'All policies')));
  return {
    root,
    title: `@${name}`,
    wake: (poll) => { wake = poll; },
    async poll() {
      const policy = await get(pathOf(name));
      edit.set(policy);
      tags.set(policy);
      updateRows(body, policy.overrides, (one) => one.k, overrideRow);
      setHidden(none, policy.overrides.length > 0);
      setHidden(table, policy.overrides.length === 0);
      setHidden(more, !policy.more);
      setText(more, `And ${count(policy.more ?? 0)} more.`);
      rights.update();
    },
  };
}
