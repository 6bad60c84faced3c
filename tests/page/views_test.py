"""The views of the live page beside their numbers: words, order, help, and the layout."""

import contextlib
import http.client
import json
import signal

from page_case import HOSTILE, USERS, VIEWS, PageCase, main
from weir_e2e import DEADLINE, free_port

PHONE = 390
NARROWEST = 320
PHONE_HEIGHT = 800
SHIFT_MAX = 0.005  # of 1

# Adds up how far the parts of the screen move without a cause of the user, and notes which. A
# number that gets a digit moves its text, but not the place that it stands in, nor what is beside
# it.
SHIFTS = """
window.shift = 0;
window.moved = [];
const edges = ({left, right, top, bottom}) => [left, right, top, bottom];
const moves = ({previousRect, currentRect}) => edges(currentRect).some(
  (edge, i) => Math.abs(edge - edges(previousRect)[i]) > STEP_MAX);
const place = (rect) => edges(rect).map(Math.round).join(' ');
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const parts = entry.hadRecentInput ? [] : entry.sources.filter(moves);
    if (parts.length) window.shift += entry.value;
    for (const {node, previousRect, currentRect} of parts) {
      window.moved.push(`${node?.className || node?.nodeName} "${node?.textContent}" from ` +
        `${place(previousRect)} to ${place(currentRect)}`);
    }
  }
}).observe({type: 'layout-shift', buffered: true});
""".replace("STEP_MAX", "5")  # pixels


class ViewsTest(PageCase):
    def names(self):
        """The limits in the order of their rows."""
        return self.browser.run("return [...document.querySelectorAll('.limits-table tbody tr')]"
                                ".map((row) => row.querySelector('a').innerText)")

    @staticmethod
    def call_rls(port, calls):
        entry = {"key": "user", "value": "7"}
        body = json.dumps({"domain": "shop", "descriptors": [{"entries": [entry]}]})
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        with contextlib.closing(connection):
            for _ in range(calls):
                connection.request("POST", "/json", body)
                connection.getresponse().read()

    def height(self):
        return self.browser.run("return document.documentElement.scrollHeight")

    # --- The server -------------------------------------------------------------------------------

    def test_a_primary_has_a_table_of_its_replicas_and_a_replica_one_of_its_primary(self):
        primary = self.start_page()
        port = self.admin_port
        self.start_page("--replicaof", f"127.0.0.1 {primary.port}")
        self.go("now")
        self.browser.await_text(".replication",
                                f"Its primary.*\\s.*\\s+127.0.0.1:{primary.port}\\s+connected")
        self.admin_port = port
        self.go("now")
        self.browser.await_text(".replication", r"Replicas\s+A failover now would lose .*Offset \d")
        row = r"127\.0\.0\.1:\d+\s+in sync\s+\d+ B\s+[\d.]+ s ago\s+\d"
        self.browser.await_text(".replication tbody", row)
        self.browser.resize(NARROWEST, PHONE_HEIGHT)
        self.browser.until("return document.documentElement.scrollWidth <= window.innerWidth")
        self.expect_no_trouble()

    def test_the_latency_is_that_of_the_last_minute(self):
        client = self.connect(self.start_page())
        self.go("now")
        self.browser.await_text(".facts", "Latency, p50\\s+\u2013\\s+Latency, p99\\s+\u2013")
        client.call("RL.ALLOW", "user:42", "10/s")
        self.browser.await_text(".facts", r"Latency, p99\s+[\d.,]+ .?s")
        note = self.browser.run("return document.querySelector('.facts div').title")
        self.assertRegex(note, r"in the last \d+ s$")
        self.expect_no_trouble()

    def test_a_key_whose_text_is_cut_can_be_looked_at(self):
        client = self.connect(self.start_page())
        key = "session:" + 200 * "x"
        client.call("RL.ALLOW", key, "5/h", "COST", "2")
        client.call("RL.ALLOW", key, "5/h", "COST", "9")
        self.go("who")
        self.browser.await_text("tbody", "session:x+\u2026")
        self.browser.run("document.querySelector('tbody a.key').click()")
        self.browser.await_text("main", r"Key session:x+\u2026[^\0]*3 left of 5")
        self.browser.await_text("main", "Only the first 128 bytes")
        shown = self.browser.run("return document.querySelector('main').innerText")
        self.assertNotIn("Reset", shown)
        self.expect_no_trouble()

    def test_rules_of_envoys_service_have_a_table(self):
        port = free_port()
        path = self.write("rules.yaml", "domain: shop\ndescriptors:\n- key: user\n"
                          "  rate_limit: {unit: hour, requests_per_unit: 2}\n"
                          "  descriptors:\n  - {key: path, value: /api/*}\n")
        server = self.start_page(f"--rls-config={path}", f"--http-port={port}")
        self.go("policies")
        self.browser.await_text("main", "from rules.yaml")
        self.browser.click_text("a", "rules of Envoy\u2019s rate limit service")
        row = r"shop \u203a user\s+2/h,fixed,aligned\s+0\s*/s\s+0\s*/s"
        self.browser.await_text("tbody", row + r"\s+shop \u203a user \u203a path: /api/\* no limit")
        self.browser.await_text("main", "Rules: 2, domains: 1. Loads since the start: 1, and 0")
        self.call_rls(port, 1)
        row = r"shop \u203a user\s+2/h,fixed,aligned\s+0\.\d+\s*/s\s+0\s*/s"
        self.browser.await_text("tbody", row)
        self.call_rls(port, 3)
        row = r"shop \u203a user\s+2/h,fixed,aligned\s+0\.\d+\s*/s\s+0\.\d+\s*/s"
        self.browser.await_text("tbody", row)
        self.write("rules.yaml", "domain: ''\n")
        server.process.send_signal(signal.SIGHUP)
        self.browser.await_text(".error", "The rules are not as the files say: .*rules.yaml:1")
        self.browser.await_text("tbody", "2/h,fixed,aligned")
        self.browser.resize(NARROWEST, PHONE_HEIGHT)
        self.browser.until("return document.documentElement.scrollWidth <= window.innerWidth")
        self.expect_no_trouble()

    def test_a_fact_has_a_sentence(self):
        self.start_page()
        self.go("now")
        self.browser.await_text(".groups", "Load[^]*State[^]*Memory")
        self.browser.await_text(".groups", r"Memory\s+table .*, process [^]*Clients")
        self.assertTrue(self.browser.run(
            "return [...document.querySelectorAll('.facts div')].every((one) => one.title)"))

    # --- Limits and keys --------------------------------------------------------------------------

    def test_now_and_a_key_name_the_limits_that_deny(self):
        self.start_busy()
        self.go("now")
        self.browser.await_text(".pair", r"Keys denied most[^]*user:42\s+[^]*@login#0")
        self.go("key/ip%3A203.0.113.1")
        self.assertNotIn("have denied it", self.browser.text("main"))
        self.client.call("RL.ALLOW", "ip:203.0.113.1", "10/m", "COST", 10)
        self.browser.await_text("main", r"Limits that have denied it: 10/m")
        self.expect_no_trouble()

    def test_a_limit_is_explained_and_can_be_tried(self):
        self.start_busy()
        self.go("limits/%40free%230%20burst")
        self.browser.await_text(".definition",
                                "^10/m,burst=20,name=burst . A bucket of 20, to which 10 come "
                                r"back in a minute\. Of the policy free \(RL\.POLICY\)")
        self.browser.click_text(".definition a", "Try it")
        self.browser.await_text(".result .verdict", "admitted")
        field = "return document.querySelector('[aria-label=Limits]').value"
        self.assertEqual(self.browser.run(field), "10/m,burst=20,name=burst")
        self.expect_no_trouble()

    def test_limits_are_grouped_sorted_and_filtered(self):
        self.start_busy()
        self.go("limits")
        free = ["@free#0 burst", "@free#1", "@free#2 trial"]
        names = self.names()
        at = names.index(free[0])
        self.assertEqual([name for name in names[at:] if name in free], free)
        self.browser.click_text("th button", "Denied since the start")
        self.browser.until("return document.querySelector('[aria-sort=descending]')?.innerText"
                           ".startsWith('Denied since')")
        rows = self.statistics()
        self.browser.run("document.activeElement.blur()")
        denied = sorted((row[1] for name, row in rows.items() if name != "(total)"), reverse=True)
        self.await_equal(lambda: [rows[name][1] for name in self.names()], denied)
        self.browser.press("f", *"LOGIN")
        self.await_equal(self.names, ["@login#0"])
        self.expect_no_trouble()

    def test_long_tables_are_cut_until_all_are_wanted(self):
        client = self.connect(self.start_page())
        for i in range(60):
            client.call("RL.ALLOW", f"user:{i}", f"1/h,name=limit-{i}", "COST", 2)
        for view in ("limits", "who"):
            self.go(view)
            count = "return document.querySelectorAll('main tbody tr').length"
            self.await_equal(lambda script=count: self.browser.run(script), 50)
            self.browser.click_text("button", "Show all 60")
            self.await_equal(lambda script=count: self.browser.run(script), 60)

    def test_a_zero_is_grey_and_a_denial_red_only_where_there_are_many(self):
        client = self.connect(self.start_page())
        client.call("RL.ALLOW", "k", "100/s", "COST", 1)
        client.call("RL.ALLOW", "many", "1/h")
        self.go("limits")
        cell = ("const row = [...document.querySelectorAll('.limits-table tbody tr')].find((one) =>"
                " one.querySelector('a').innerText === arguments[0]);"
                "return row && row.querySelector(`[data-label='${arguments[1]}']`).matches("
                "arguments[2])")

        # A share is that of the last seconds, so each look at the page follows a denial.
        def is_red_while_it_denies():
            client.call("RL.ALLOW", "many", "1/h")
            return self.browser.run(cell, "1/h", "Denied", ".of-denied")

        self.await_equal(is_red_while_it_denies, True)
        self.browser.until(cell, "100/s", "Denied", ":not(.of-denied):has(.zero)")

    def test_a_limit_that_programs_name_is_made_real_there(self):
        client = self.connect(self.start_page())
        client.call("RL.ALLOW", "k", "5/h,shadow,name=api", "COST", 6)
        self.go("limits")
        self.browser.click_text("button", "Make real\u2026")
        text = self.browser.await_text("dialog", "In the program, leave out ,shadow .*name=api")
        self.assertNotIn("redis-cli", text)

    # --- Words and keys ---------------------------------------------------------------------------

    def test_try_shows_a_limit_at_once_and_says_what_it_means(self):
        self.start_page()
        self.go("try")
        self.browser.await_text(".result .verdict", "requests admitted, 5 of them in the first")
        self.browser.await_text(".meaning li", "^3/s . A bucket of 3 that refills in a second")
        self.browser.type("[aria-label=Limits]", "1000/day")
        self.browser.await_text(".meaning li", "of the calendar.*1000/d would be a bucket over 24")
        self.browser.type("[aria-label='Words of the request']", "user:42 5,held 10/s COST 2")
        texts = self.browser.run("return [...document.querySelectorAll('.meaning')][0].innerText")
        self.assertRegex(texts, r"^5,held . At most 5 at a time.*\n10/s . A bucket of 10")
        self.expect_no_trouble()

    def test_help_opens_and_closes_from_the_keyboard(self):
        self.start_page()
        self.go("now")
        self.browser.press("?")
        self.browser.await_text("dialog", "Colours")
        self.browser.press("\ue00c")  # Esc
        self.browser.until("return document.querySelector('dialog') === null")
        self.expect_no_trouble()

    def test_a_view_is_copied_as_text_or_as_json(self):
        server = self.start_page("--server-name", "weir-a")
        client = self.connect(server)
        client.call("RL.ALLOW", HOSTILE, "none")
        for view, line in (("now", f"  {HOSTILE}: 1 denied by none"),
                           ("limits/none", "denied since the start: 1"),
                           ("key/user%3A42", "key user:42")):
            self.go(view)
            self.browser.run("navigator.clipboard.writeText = async (text) => {copied = text;};")
            self.browser.click("#copy:not([hidden])")
            lines = self.browser.until("return window.copied").split("\n")
            self.assertRegex(lines[0], f"^weir-a: .*, weir-a:{server.port} primary, "
                             r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+$")
            self.assertIn("All well", lines[1])
            self.assertIn(line, lines)
            self.assertLessEqual(len(lines), 20)
            self.browser.run("document.getElementById('copy').dispatchEvent("
                             "new MouseEvent('click', {shiftKey: true}))")
            self.browser.until("return window.copied.startsWith('{') && JSON.parse(copied)")
        self.expect_no_trouble()

    def test_commands_name_the_user(self):
        self.start_page("--users-file", self.write("weir.users", USERS))
        client = self.connect(self.server)
        client.call("AUTH", "admin", "change")
        client.call("RL.POLICY", "SET", "free", "2/m")
        self.log_in("admin", "change")
        self.go("policies/free")
        self.browser.until("return document.querySelector('textarea').value !== ''")
        self.browser.click_text("button", "Delete\u2026")
        self.browser.await_text("dialog code",
                                f"redis-cli -p {self.server.port} --user admin RL.POLICY DEL free")

    def test_commands_name_the_host_as_which_the_page_was_reached(self):
        server = self.start_page("--admin-hosts", "weir.evil.test")
        self.browser.open(f"http://weir.evil.test:{self.admin_port}/#/now")
        self.browser.await_text(".command code", f"redis-cli -h weir.evil.test -p {server.port} RL")
        self.browser.click(".terminal")
        for _ in range(2):
            self.browser.await_text(".command code", f"redis-cli -p {server.port} RL")
            self.browser.run("location.reload()")
        self.browser.troubles()  # a warning that the address is not of a secure origin

    def test_the_page_says_how_to_change_more(self):
        self.start_page()
        self.go("policies")
        self.browser.click_text("a", "How to change that")
        self.browser.until("return document.activeElement.innerText === 'Changes'")

    # --- The layout -------------------------------------------------------------------------------

    def test_nothing_overflows_the_narrowest_screen(self):
        self.start_busy()
        self.browser.resize(NARROWEST, PHONE_HEIGHT)
        for view in VIEWS:
            with self.subTest(view=view):
                self.go(view)
                self.browser.until("return document.documentElement.scrollWidth <= innerWidth")
                self.expect_no_trouble()

    def test_nothing_moves_on_the_screen(self):
        self.start_busy()
        for width in (PHONE, 1440):
            self.browser.resize(width, PHONE_HEIGHT)
            for view in VIEWS:
                with self.subTest(width=width, view=view):
                    self.go(view)
                    self.browser.run(SHIFTS)
                    self.browser.until("return performance.getEntriesByType('resource')"
                                       ".filter((one) => one.name.includes('/api/')).length > 3")
                    self.assertLess(self.browser.run("return shift"), SHIFT_MAX,
                                    self.browser.run("return moved.join(', ')"))

    def test_a_telephone_shows_a_limit_in_two_lines_and_the_rest_on_demand(self):
        self.start_busy()
        self.browser.resize(PHONE, PHONE_HEIGHT)
        self.go("now")
        self.browser.until("return document.querySelector('.plot canvas')")
        self.assertLess(self.height(), 1600)
        self.go("limits")
        for i in range(15 - len(self.names())):
            self.client.call("RL.ALLOW", "k", f"9/s,name=limit-{i}")
        self.browser.until("return document.querySelectorAll('main tbody tr').length >= 15")
        self.assertLess(self.height(), 1800)
        bans = "return document.querySelector(\"[data-label='Bans']\").checkVisibility()"
        self.assertFalse(self.browser.run(bans))
        self.browser.click(".limits-table .more")
        self.assertTrue(self.browser.run(bans))


if __name__ == "__main__":
    main()
