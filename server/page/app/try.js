// The view that tries things out: what a request would be answered, and what a limit would do.
import {bucketList} from './bucket_bar.js';
import {ApiError, ask} from './api.js';
import {h, setHidden, setText} from './dom.js';
import {count, wait} from './format.js';
import {meaning, simulationCard} from './simulate.js';
import {splitWords, withoutCommand} from './words.js';

function verdictText(verdict) {
  const by = verdict.limits?.[verdict.limit]?.name ?? verdict.limits?.[0]?.name;
  if (verdict.allowed) {
    return `Would be allowed, and leave ${count(verdict.remaining)} by ${by ?? 'its limit'}.`;
  }
  const denied = `Would be denied by ${by ?? 'its limit'}`;
  return verdict.retry_after_ms < 0 ? `${denied}: a retry can never pass.`
    : `${denied}: a retry can pass in ${wait(verdict.retry_after_ms)}.`;
}

// A limit of a verdict as a bucket that bucketBar() draws. If several limits do not admit the
// request, only the one that the verdict names is known to deny it: the others may be limits on
// trial.
function asBucket(limit, denies) {
  const never = limit.reset_after_ms < 0;
  return {
    limit: `${denies ? 'denies: ' : ''}${limit.name}`,
    remaining: limit.remaining, capacity: limit.limit, used: limit.limit - limit.remaining,
    reset_after_ms: never ? 0 : limit.reset_after_ms, next_token_ms: null, banned_ms: 0,
  };
}

function peekCard() {
  const input = h('input', {
    class: 'mono', type: 'text', 'aria-label': 'Words of the request', spellcheck: 'false',
    autocomplete: 'off', autocapitalize: 'off', required: true,
    placeholder: 'user:42 10/s 1000/h COST 2',
  });
  const verdict = h('p', {class: 'verdict', hidden: true}, '');
  const error = h('p', {class: 'error', role: 'alert', hidden: true}, '');
  const limits = bucketList((bucket, i) => String(i));
  let words = null;
  const show = (answer) => {
    verdict.className = `verdict ${answer.allowed ? 'yes' : 'no'}`;
    setText(verdict, verdictText(answer));
    limits.set((answer.limits ?? []).map((limit, i) =>
      asBucket(limit, !answer.allowed && i === answer.limit)), Date.now());
    setHidden(verdict, false);
    setHidden(error, true);
  };
  const fail = (failure) => {
    words = null;
    setText(error, failure.message);
    setHidden(error, false);
    setHidden(verdict, true);
    limits.set([], 0);
  };
  // A wrong word is the user's to correct; anything else is for the banner.
  const poll = async () => {
    if (!words) return;
    try {
      show(await ask('/api/peek', words));
    } catch (failure) {
      if (!(failure instanceof ApiError) || ![400, 403].includes(failure.status)) throw failure;
      fail(failure);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    words = withoutCommand(splitWords(input.value));
    root.dispatchEvent(new Event('asked'));
  };
  const root = h('section', {class: 'card'}, h('h2', {}, 'A request'),
    h('p', {}, 'Type the words of RL.ALLOW: a key and its limits. Nothing is taken (RL.PEEK), and ',
      'the answer follows as time passes.'),
    h('form', {class: 'line', submit}, input, h('button', {class: 'primary'}, 'Ask')),
    meaning(input, (text) => withoutCommand(splitWords(text)).slice(1)),
    error, verdict, limits.root);
  return {root, poll};
}

// `limits`: those that are simulated at once.
export function tryView(limits) {
  const peek = peekCard();
  const simulation = simulationCard(limits || '3/s');
  let begun = false;
  return {
    root: h('div', {class: 'stack'}, h('h1', {class: 'unseen'}, 'Try'), peek.root, simulation.root),
    title: 'Try',
    wake: (poll) => peek.root.addEventListener('asked', poll),
    async poll() {
      if (!begun) await simulation.run();
      begun = true;
      await peek.poll();
    },
    close: simulation.close,
  };
}
