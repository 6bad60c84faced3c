"""The live page says what is true in the state of the server: a replica, a policy file, a limit on
trial, a server that stands still, and a narrow screen.
"""

import re
import resource

from page_case import WIDTHS, PageCase, main
from weir_e2e import free_port

PHONE = 390

# The headings and cells of each table that are drawn, as [headings, [cells of a row, ...]]; tables
# whose headings are hidden label each cell.
DRAWN_CELLS = """
  const drawn = (row) => [...row.children].filter((cell) => cell.checkVisibility()).length;
  return [...document.querySelectorAll('main table')].filter((table) => table.checkVisibility() &&
    table.tHead.checkVisibility()).map((table) => [drawn(table.tHead.rows[0]),
    [...table.tBodies[0].rows].filter((row) => row.checkVisibility()).map(drawn)]);"""


class StateTest(PageCase):
    def start_with_policies(self, text):
        self.file = self.write("policies.toml", text)
        self.client = self.connect(self.start_page("--policies", self.file))

    # --- What the server is -----------------------------------------------------------------------

    def test_a_replica_names_its_primary_and_sends_no_one_to_itself(self):
        primary = self.start()
        self.start_page("--replicaof", f"127.0.0.1 {primary.port}")
        self.go("now")
        self.browser.await_text(".welcome", f"A replica of 127.0.0.1:{primary.port}\\s+It is "
                                r"[\d.]+ s behind\. Decisions are made there")
        self.assertNotIn("redis-cli", self.browser.text("main"))
        self.connect(primary).call("RL.ALLOW", "user:42", "10/m")
        self.go("key/user%3A42")
        self.browser.await_text(".bucket", "9 left of 10")
        self.browser.click_text("button", "Reset\u2026")
        self.browser.await_text("dialog code", f"redis-cli -h 127.0.0.1 -p {primary.port} RL.RESET")
        primary.stop()
        self.go("now")
        self.browser.await_text(".welcome", "It has not heard from its primary for")
        self.expect_no_trouble()

    def test_what_happened_is_listed_and_marked_on_the_chart(self):
        self.client = self.connect(self.start_page())
        self.client.call("RL.POLICY", "SET", "free", "10/s")
        self.client.call("RL.POLICY", "OVERRIDE", "free", "<b>user</b>", "5/s")
        self.client.call("RL.ALLOW", "user:42", "@free")
        self.go("now")
        happened = self.browser.await_text(".events", "RL.POLICY SET free 10/s\\s+default")
        self.assertIn("RL.POLICY OVERRIDE free <b>user</b> 5/s", happened)
        self.assertIn("has started", happened)
        mark = ".dygraph-annotation[title*=started]"
        self.browser.until(f"return document.querySelector('{mark}')")
        self.assertIn("has started", self.focused(mark))
        polls = self.browser.run("return window.performance.getEntriesByType('resource').length")
        self.browser.until("return window.performance.getEntriesByType('resource').length > "
                           f"{polls + 3}")
        self.assertIn("has started", self.browser.run("return document.activeElement.title"),
                      "the focus stays where the chart is drawn again")
        self.expect_no_trouble()

    def focused(self, selector):
        """Focuses an element, and returns the sentence that it shows then."""
        return self.browser.run(
            "const node = document.querySelector(arguments[0]); node.focus();"
            "return getComputedStyle(node, '::after').content", selector)

    def test_numbers_show_their_sentence_to_the_keyboard(self):
        self.client = self.connect(self.start_page())
        self.client.call("RL.ALLOW", "user:42", "10/s", "COST", 11)
        self.go("now")
        self.browser.await_text(".facts", "Latency")
        for selector, sentence in (
                (".tile.of-denied", "Requests that at least one limit denied"),
                (".facts div", ""),
                ("th.number.noted", "Requests that the limit denied")):
            with self.subTest(selector):
                shown = self.focused(selector)
                self.assertIn(sentence, shown)
                self.assertGreater(len(shown), 12)
        self.go("who")
        self.browser.await_text("tbody", "user:42")
        self.assertIn("Requests of the key that were denied",
                      self.focused("th:nth-child(4) button"))
        self.expect_no_trouble()

    def test_each_head_of_numbers_has_a_sentence(self):
        rules = self.write("rules.yaml", "domain: shop\ndescriptors:\n- key: user\n"
                           "  rate_limit: {unit: hour, requests_per_unit: 2}\n")
        self.client = self.connect(self.start_page(f"--rls-config={rules}",
                                                   f"--http-port={free_port()}"))
        self.client.call("RL.POLICY", "SET", "free", "10/h")
        self.client.call("RL.ALLOW", "user:42", "@free", "COST", 11)
        self.client.call("RL.RESERVE", "user:42", "@free", "HOLD", "h", "TTL", 60_000)
        heads = []
        for view, shown in (("now", "user:42"), ("limits", "@free"), ("who", "user:42"),
                            ("key/user%3A42", "Holds"), ("policies", "@free"), ("rules", "shop")):
            self.go(view)
            self.browser.await_text("main", shown)
            found = self.browser.run(
                "return [...document.querySelectorAll('main thead th.number')]"
                ".map((head) => [head.innerText, head.querySelector('.noted') !== null"
                " || head.classList.contains('noted')])")
            self.assertEqual([name for name, is_noted in found if not is_noted], [], view)
            heads += [name for name, _ in found]
        self.assertLessEqual({"Overrides", "Allowed", "End"}, set(heads))
        self.expect_no_trouble()

    def test_a_chart_that_was_hidden_fills_its_place(self):
        self.client = self.connect(self.start_page())
        for width in (1280, PHONE):
            self.browser.resize(width, 800)
            self.go("now")
            self.client.call("RL.ALLOW", "user:42", "10/s")
            self.browser.until("return document.querySelector('.plot canvas')")
            self.browser.until("""
                const plot = document.querySelector('.plot');
                return plot.clientWidth > 0 &&
                  plot.querySelector('canvas').clientWidth === plot.clientWidth &&
                  plot.clientWidth > 0.8 * plot.parentElement.clientWidth &&
                  document.documentElement.scrollWidth <= innerWidth""")
            self.client.call("RL.STATS", "RESET")
        self.expect_no_trouble()

    def test_connections_are_counted_once(self):
        self.start_page()
        self.go("now")
        facts = self.browser.await_text(".groups", r"Connections\s+0 RESP, \d+ HTTP")
        shown = int(re.search(r"0 RESP, (\d+) HTTP", facts).group(1))
        self.assertGreater(shown, 0)
        self.client = self.connect(self.server)
        self.client.call("PING")
        self.browser.await_text(".groups", r"Connections\s+1 RESP, \d+ HTTP")

    def test_a_server_that_stands_still_is_greyed_in_three_seconds(self):
        self.start_page()
        self.go("now")
        self.browser.await_text(".groups", "Up for")
        self.server.pause()
        try:
            waited = self.browser.run_async("""
                const done = arguments[arguments.length - 1];
                const begin = performance.now();
                const look = () => document.getElementById('main').classList.contains('stale')
                  ? done(performance.now() - begin) : setTimeout(look, 50);
                look();""")
            self.assertIn("does not answer", self.browser.text("#banner"))
        finally:
            self.server.resume()
        self.assertLess(waited, 6000)  # 9 s would be the browser's patience
        self.browser.until("return document.querySelector('#banner').hidden"
                           " && !document.querySelector('main.stale')")

    def test_the_verdict_is_on_every_view_and_leads_to_its_help(self):
        server = self.start_page("--data-dir", f"{self.directory}/data", "--snapshot-interval",
                                 "20ms", "--server-name", "weir-a")
        self.go("now")
        self.browser.await_text("#verdict", r"^All well: saved [\d.]+ s ago, memory [\d.]+ \w+$")
        self.browser.await_text(".place", f"^weir-a:{server.port}\\s+primary$")
        self.assertEqual(self.browser.run("return document.title"), "weir-a: Now")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        self.connect(server).call("RL.ALLOW", "k", "10/h")
        wrong = r"^1 thing is wrong: saving fails \(.*\), for \d+ s$"
        self.browser.await_text("#verdict.bad", wrong)
        self.browser.until("return document.title === '(!) weir-a: Now'")
        self.go("limits")
        self.browser.await_text("#verdict.bad", wrong)
        self.browser.run("document.querySelector('#verdict a').click()")
        self.browser.await_text("h1", "^The disk is full$")
        self.browser.await_text("main", "Now: saving fails")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE,
                         (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.browser.await_text("main", "This is not so now")
        self.browser.await_text("#verdict.ok", "^All well")
        self.expect_no_trouble()

    # --- Advice that the server takes -------------------------------------------------------------

    def test_a_policy_of_the_file_is_changed_in_the_file(self):
        self.start_with_policies('[policies]\nfree = ["10/m", "5/m,shadow"]\n')
        self.go("policies")
        self.browser.await_text("table", r"@free\s+from policies.toml")
        self.browser.resize(PHONE, 800)
        self.browser.until("return document.documentElement.scrollWidth <= window.innerWidth")
        self.go("policies/free")
        self.browser.await_text("h1", "from policies.toml")
        self.browser.until("return document.querySelector('textarea').value !== ''")
        self.assertNotIn("Delete", self.browser.text("main"))
        self.browser.type("textarea", "20/m\n5/m,shadow")
        self.browser.click_text("button", "Review\u2026")
        self.expect_line('free = ["20/m", "5/m,shadow"]')
        self.client.call("RL.ALLOW", "k", "@free", "COST", 6)
        self.go("limits")
        self.browser.click_text("button", "Make real\u2026")
        self.expect_line('free = ["10/m", "5/m"]')
        self.expect_no_trouble()

    def expect_line(self, line):
        text = self.browser.await_text("dialog", "RELOAD")
        self.assertIn(f"In {self.file}:", text)
        self.assertIn(line, text)
        self.assertNotIn("RL.POLICY SET", text)

    def test_a_limit_on_trial_denies_no_key(self):
        client = self.connect(self.start_page())
        client.call("RL.POLICY", "SET", "free", "100/h", "3/h,shadow")
        client.call("RL.ALLOW", "k", "@free", "COST", 3)
        client.call("CL.THROTTLE", "k", 15, 30, 60)
        self.go("key/k")
        verdict = self.browser.await_text(".verdict.yes", "May go on")
        self.assertEqual(verdict, "May go on. If it were real, @free#1,shadow would deny.")
        self.browser.await_text(".buckets", "0 left of 3")
        self.assertNotIn("-1 left", self.browser.text(".buckets"))
        client.call("RL.ALLOW", "k", "@free", "COST", 97)
        self.browser.await_text(".verdict.no", r"^Denied now by @free#0\.$")
        self.expect_no_trouble()

    # --- What is on the screen --------------------------------------------------------------------

    def test_no_row_has_more_cells_than_headings(self):
        self.start_busy()
        self.client.call("RL.RESERVE", "user:42", "9/h", "HOLD", "h", "TTL", 3_000_000)
        for width in (*WIDTHS, PHONE):
            self.browser.resize(width, 800)
            for view in ("now", "limits", "who", "policies", "policies/free", "key/user%3A42"):
                with self.subTest(width=width, view=view):
                    self.go(view)
                    self.browser.until("return document.querySelector('main tbody tr') !== null")
                    for heads, rows in self.browser.run(DRAWN_CELLS):
                        self.assertEqual(rows, [heads] * len(rows))

    def test_a_dialog_closes_with_its_view(self):
        self.start_busy()
        self.go("key/user%3A42")
        self.browser.click_text("button", "Reset\u2026")
        self.browser.await_text("dialog code", "RL.RESET")
        self.browser.run("location.hash = '#/limits'")
        self.browser.await_text("h1", "Limits")
        self.assertTrue(self.browser.run("return document.querySelector('dialog') === null"))
        self.expect_no_trouble()


if __name__ == "__main__":
    main()
