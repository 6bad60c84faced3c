// The view of one reason of the verdict: whether it holds, what it means and what to do.
import {h, setText} from './dom.js';
import {verdictLine} from './health.js';
import {HELP} from './health_help.js';
import {refreshServer} from './server.js';

export function healthView(code) {
  const help = Object.hasOwn(HELP, code) ? HELP[code] : null;
  const holds = h('p', {}, '');
  return {
    root: h('section', {class: 'card text'},
      h('h1', {}, help?.heading ?? 'There is no such reason'), holds,
      help && h('p', {}, help.means), help && h('p', {}, help.act),
      help && h('p', {class: 'note'}, 'More is in docs/operations.md, under ',
        h('b', {}, help.heading), '.')),
    async poll() {
      const {reasons} = verdictLine(await refreshServer());
      const reason = reasons.find((one) => one.href === `#/health/${code}`);
      setText(holds, reason ? `Now: ${reason.text}.` : 'This is not so now.');
    },
  };
}
