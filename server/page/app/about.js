// The view about the page: who may change something and how to get there, and licences.
import {refreshServer} from './server.js';
import {h} from './dom.js';

const DYGRAPHS_LICENCE = `Copyright (c) 2006, 2009, 2011, 2012, 2013, 2017
        Dan Vanderkam <danvdk@gmail.com>
Copyright (c) 2011 Paul Felix <paul.eric.felix@gmail.com>
Copyright (c) 2011, 2013 Robert Konigsberg <konigsberg@google.com>
Copyright (c) 2013 David Eberlein <david.eberlein@ch.sauter-bc.com>
Copyright (c) 2013 Google, Inc.
Copyright (c) 2014 mirabilos <m@mirbsd.org>
Copyright (c) 2015 Petr Shevtsov <petr.shevtsov@gmail.com>
Copyright (c) 2022, 2023 mirabilos <t.glaser@tarent.de>
                   Deutsche Telekom LLCTO
and numerous contributors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

const USERS = `user default off
user app on >another-password ~* +@limit
user admin on >a-long-password ~* +@all`;

// `part`: "changes" leads to the paragraph about them.
export function aboutView(part) {
  const changes = h('h2', {tabindex: '-1'}, 'Changes');
  const root = h('div', {class: 'stack'},
    h('section', {class: 'card text'}, h('h1', {}, 'About this page'),
      h('p', {}, 'It is served by weir itself and asks nothing of other hosts. It polls once a ',
        'second while it is visible, and not at all in a hidden tab.'),
      changes,
      h('p', {}, 'Without users, everyone who reaches the port would be its administrator, so the ',
        'page only reads. To change limits from here, start weir with a file of users, ',
        h('code', {}, '--users-file weir.users'), ':'),
      h('pre', {class: 'code'}, USERS),
      h('p', {}, 'The browser then asks for a name and a password. The page can do what that user ',
        'may do in a terminal, and nothing else.')),
    h('section', {class: 'card text'}, h('h2', {}, 'Licences'),
      h('p', {}, 'weir: Apache License 2.0. The charts are drawn by dygraphs 2.2.1, under the MIT ',
        'licence:'),
      h('pre', {class: 'code licence'}, DYGRAPHS_LICENCE)));
  const shown = () => {
    if (part !== 'changes') return;
    changes.scrollIntoView();
    changes.focus();
  };
  return {root, title: 'About', asksServer: true, shown, poll: refreshServer};
}
