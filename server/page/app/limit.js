// The view of one limit: what it means, its past, and the keys that it denies.
import {limitText} from './copy_text.js';
import {h, setHidden} from './dom.js';
import {HistoryPanel} from './history_panel.js';
import {limitWords} from './limit_words.js';
import {deniedByCard} from './who.js';

// Its text, what that means, and where it is from: "100k/m,name=tokens", of the policy free.
function definitionParts({policy, definition, from_file: fromFile}) {
  const words = definition && limitWords(definition);
  const from = fromFile ? ' (policy file)' : ' (RL.POLICY)';
  return [
    definition ? h('code', {}, definition) : null, words ? ` \u2013 ${words}` : null,
    policy ? h('span', {}, definition ? ' Of the policy ' : 'Of the policy ',
      h('a', {href: `#/policies/${encodeURIComponent(policy)}`}, policy),
      definition ? from : ', which no longer has it', '.') : null,
    definition ? h('span', {}, ' ', h('a', {href: `#/try/${encodeURIComponent(definition)}`},
      'Try it')) : null,
  ].filter(Boolean);
}

export function limitView(name) {
  const history = new HistoryPanel(name);
  const keys = deniedByCard(name);
  const definition = h('p', {class: 'definition', hidden: true}, '');
  const root = h('div', {class: 'stack'},
    h('h1', {}, h('span', {class: 'of'}, 'Limit '), h('code', {}, name)), definition, history.root,
    keys.root, h('p', {class: 'note'}, 'The server keeps the past of the first 64 limits that ' +
      'were used. ', h('a', {href: '#/limits'}, 'All limits')));
  let answer = null;
  let defined = '';
  const define = (limit) => {
    answer = limit;
    const now = JSON.stringify([limit.policy, limit.definition, limit.from_file]);
    if (now === defined) return;  // touches nothing if it is there
    defined = now;
    const parts = definitionParts(limit);
    setHidden(definition, parts.length === 0);
    definition.replaceChildren(...parts);
  };
  return {
    root,
    title: name,
    wake: (poll) => { history.wanted = poll; },
    copy: () => ({lines: answer ? limitText(answer) : [], data: answer}),
    async poll() {
      await history.refresh(history.range.step === 1 ? 0 : undefined);
      if (keys.root.hidden) return;
      await keys.refresh().then(define, (failure) => {
        if (failure.status !== 403) throw failure;
        setHidden(keys.root, true);  // RL.TOP is a right of its own: it is not asked again
      });
    },
    close: () => history.close(),
  };
}
