"""The numbers, bars and charts of the live page are those of the server, on every screen."""

import sys

from page_case import HOSTILE, VIEWS, WIDTHS, PageCase, main, other_site
from weir_e2e import NEVER

PAGE_BYTES_MAX = 250_000


class PageTest(PageCase):
    # --- What is shown is what there is -----------------------------------------------------------

    def test_an_idle_server_says_what_to_type_first_and_shows_what_comes_of_it(self):
        server = self.start_page()
        self.go("now")
        command = self.browser.await_text(".welcome code", "RL.ALLOW")
        self.assertEqual(command, f"redis-cli -p {server.port} RL.ALLOW user:42 10/s")
        self.redis_cli(server, *command.split()[3:])
        self.browser.await_text(".tile.of-allowed", "1 in all")
        self.assertFalse(self.browser.run("return document.querySelector('.welcome')"
                                          ".checkVisibility()"))
        self.expect_no_trouble()

    def test_the_totals_are_those_of_statistics(self):
        self.start_busy()
        self.go("now")
        allowed, denied, shadow, near = self.statistics()["(total)"][:4]
        self.assertGreater(min(allowed, denied, shadow, near), 0)
        for name, total in {"allowed": allowed, "denied": denied, "shadow": shadow,
                            "near": near}.items():
            self.browser.await_text(f".tile.of-{name}", f"\\b{total:,} in all")
        for _ in range(3):
            self.client.call("RL.ALLOW", "user:5", "none")
        self.browser.await_text(".tile.of-denied", f"\\b{denied + 3:,} in all")
        self.expect_no_trouble()

    def test_a_row_of_limits_has_the_numbers_of_statistics(self):
        self.start_busy()
        self.go("limits")
        for name, row in self.statistics().items():
            if name == "(total)":
                continue
            self.browser.until(
                "const row = [...document.querySelectorAll('.wide tbody tr')]"
                ".find((one) => one.querySelector('a').innerText === arguments[0]);"
                "const text = (label) => row?.querySelector(`[data-label='${label}']`).innerText;"
                "return text('Allowed since the start') === arguments[1] &&"
                " text('Denied since the start') === arguments[2] && text('Bans') === arguments[3]",
                name, f"{row[0]:,}", f"{row[1]:,}", f"{row[4]:,}")
        self.expect_no_trouble()

    def test_the_rates_follow_the_traffic_and_come_to_rest(self):
        self.start_busy()
        self.go("now")
        self.browser.await_text(".tile.of-allowed .big", "^0\\s*/s")
        self.browser.await_text(".legend", "allowed")
        for _ in range(50):
            self.client.call("RL.ALLOW", "user:77", "unlimited")
        self.browser.await_text(".tile.of-allowed .big", "^[1-9]")
        self.browser.await_text(".tile.of-allowed .big", "^0\\s*/s")
        self.expect_no_trouble()

    def test_the_history_of_one_limit_is_drawn_in_each_range(self):
        self.start_busy()
        self.go("limits")
        self.browser.click_text("a", "10/m")
        self.browser.await_text("h1", "10/m")
        for title in ("1 h", "24 h", "5 min"):
            self.browser.click_text("button", title)
            self.browser.until(
                "const canvas = document.querySelector('.plot canvas');"
                "const pressed = document.querySelector('[aria-pressed=true]').innerText;"
                "return canvas !== null && pressed === arguments[0]", title)
        self.expect_no_trouble()

    def test_the_keys_denied_most_and_near_their_limits_are_listed(self):
        self.start_busy()
        self.go("who")
        denied = {key.decode(): count for key, count, _ in self.client.call("RL.TOP", 50)}
        near = {key.decode(): count for key, count, _ in self.client.call("RL.TOP", 50, "NEAR")}
        self.assertGreater(min(len(denied), len(near)), 1)
        for table, keys in {"of-denied": denied, "of-near": near}.items():
            for key, count in keys.items():
                self.browser.until(
                    "return [...document.querySelectorAll(`table.${arguments[0]} tbody tr`)]"
                    ".some((row) => row.querySelector('th').innerText === arguments[1]"
                    " && row.children[3].innerText === arguments[2])",
                    table, key, f"{count:,}")
        self.expect_no_trouble()

    def test_a_key_leads_to_the_limits_that_deny_it_and_these_to_their_keys(self):
        self.start_busy()
        self.go("who")
        self.browser.click_text("table.of-denied td a", "10/m")
        self.browser.await_text("h1", "10/m")
        for key, count, _ in self.client.call("RL.TOP", 50, "LIMIT", "10/m"):
            self.browser.until(
                "return [...document.querySelectorAll('table.of-denied tbody tr')].some((row) =>"
                " row.querySelector('th').innerText === arguments[0]"
                " && row.children[3].innerText === arguments[1])", key.decode(), f"{count:,}")
        self.go("limits/%40free%230")
        self.browser.await_text(".definition", "Of the policy free")
        self.expect_no_trouble()

    # --- One key ----------------------------------------------------------------------------------

    def test_a_key_counts_down_between_polls_and_frees_itself(self):
        client = self.connect(self.start_page())
        for _ in range(5):
            client.call("RL.ALLOW", "user:42", "5/5s")
        self.go("now")
        self.browser.press("/")
        self.browser.type("#find-key", "user:42\ue007")  # and Enter
        self.browser.await_text(".bucket", "left of 5")
        # Each poll is a request; the widths that are drawn between two of them are many more.
        widths, polls = self.browser.run_async("""
            const done = arguments[arguments.length - 1];
            const widths = new Set();
            const polls = () => performance.getEntriesByType('resource')
              .filter((entry) => entry.name.includes('/api/key')).length;
            const before = polls();
            const look = () => {
              const fill = document.querySelector('.fill');
              if (fill) widths.add(fill.style.transform);
              if (!fill || widths.size > 30) return done([widths.size, polls() - before]);
              requestAnimationFrame(look);
            };
            look();""")
        self.assertGreater(widths, 3 * (polls + 1))
        self.browser.await_text(".verdict", "^Free:")
        self.assertEqual(client.call("RL.INSPECT", "user:42"), [])
        self.expect_no_trouble()

    def test_a_ban_shows_its_end(self):
        self.start_busy()
        self.go("key/user%3A42")
        self.browser.await_text(".verdict", "^Banned by @login#0")
        self.browser.await_text(".ban:not([hidden])", r"Banned for \d+ min \d\d s more, until .*:")
        self.browser.await_text("main", "in debt")
        self.browser.await_text("main", r"@?free\s+30/m,burst=40")
        self.expect_no_trouble()

    def test_a_key_shows_its_holds_and_the_slots_that_are_out(self):
        client = self.connect(self.start_page())
        for hold in (HOSTILE[:64], "req-81"):
            client.call("RL.RESERVE", "k", "9/h,cost=2", "5,held", "HOLD", hold, "TTL", 3_000_000)
        self.go("key/k")
        self.browser.await_text(".buckets", "2 of 5 in use")
        self.browser.await_text(".buckets", r"last hold expires in 49 min \d\d s")
        self.browser.await_text(".holds", r"req-81\s+2 of 9/h, 1 of 5,held\s+expires in 49 min")
        self.browser.await_text(".holds", "<img src=x onerror=")
        client.call("RL.COMMIT", "k", "HOLD", "req-81")
        self.browser.await_text(".buckets", "1 of 5 in use")
        self.browser.await_text(".holds .settled", "req-81.*\\s+settled, forgotten in ")
        self.expect_no_trouble()

    def test_a_key_of_any_bytes_stays_text(self):
        self.start_busy()
        self.client.call("RL.POLICY", "OVERRIDE", "free", HOSTILE, "7/s")
        self.client.call("RL.ALLOW", b"\xff\x00/?#%41 \xc3\xa9", "none")
        for view in ("now", "who", "policies/free"):
            self.go(view)
            self.browser.await_text("main", "<img src=x onerror=")
        self.go("who")
        self.browser.click_text("a", HOSTILE)
        self.browser.await_text("h1", "<img src=x onerror=")
        self.browser.await_text(".bucket", "10/m")
        self.browser.click_text("button", "Reset\u2026")
        self.browser.await_text("dialog code", "RL.RESET")
        self.assertTrue(self.browser.run(
            "return window.hit === undefined && !document.querySelector('main img, dialog img')"
            " && !document.querySelector('main script, dialog script')"))
        self.go("who")
        self.browser.click("a[href='#/key/%FF%00%2F%3F%23%2541%20%C3%A9']")
        self.browser.await_text("h1", "\ufffd")
        self.browser.await_text(".verdict", "Free")
        self.expect_no_trouble()

    # --- Trying things out ------------------------------------------------------------------------

    def test_a_request_is_peeked_and_nothing_is_taken(self):
        client = self.connect(self.start_page())
        client.call("RL.ALLOW", "user 42", f"2/{NEVER}", "COST", 2)
        self.go("try")
        self.browser.type("main form input", f"RL.ALLOW 'user 42' 2/{NEVER} 10/h COST 1")
        self.browser.click_text("button", "Ask")
        self.browser.await_text(".verdict", f"Would be denied by 2/{NEVER}: a retry can pass in ")
        self.browser.await_text(".buckets", "10 left of 10")
        self.browser.type("main form input", "user:1 nonsense")
        self.browser.click_text("button", "Ask")
        error = client.call("RL.PEEK", "user:1", "nonsense")
        self.assertEqual(self.browser.await_text(".error:not([hidden])", "^ERR"), error)
        self.assertEqual(len(client.call("RL.INSPECT", "user 42")), 1)

    def test_a_limit_is_simulated_by_the_rule_that_decides(self):
        self.start_page()
        self.go("try")
        self.browser.click_text("button", "Steady")  # 5 a second against 3/s, for 20 s
        text = self.browser.await_text(".result .verdict", "of 100 requests admitted")
        # A token bucket: 3 at once, and 3 a second after that.
        self.assertRegex(text, r"^6\d of 100 requests admitted, 5 of them in the first second")
        self.browser.find(".result .plot canvas")
        self.expect_no_trouble()

    # --- How it behaves ---------------------------------------------------------------------------

    def test_a_poll_keeps_rows_focus_and_scroll(self):
        self.start_busy()
        self.browser.resize(1280, 300)
        self.go("limits")
        self.browser.find(".wide tbody tr:nth-child(4) a")
        self.browser.run("""
            window.rows = [...document.querySelectorAll('.wide tbody tr')];
            rows[3].querySelector('a').focus();
            window.scrollTo(0, 120);
            performance.clearResourceTimings();""")
        self.client.call("RL.ALLOW", "user:9", "10/m")
        self.browser.until("return performance.getEntriesByType('resource').length > 2")
        self.assertTrue(self.browser.run("""
            return rows.every((row) => row.isConnected) && window.scrollY === 120 &&
              document.activeElement === rows[3].querySelector('a');"""))

    def test_a_lost_server_is_said_and_the_page_heals(self):
        self.start_page()
        self.go("now")
        self.browser.await_text(".groups", "Up for")
        self.server.stop()
        self.browser.await_text("#banner", "The server does not answer")
        self.start_page(port=self.admin_port)
        self.browser.until("return document.querySelector('#banner').hidden")
        self.browser.await_text(".welcome", f"-p {self.server.port} ")

    def test_it_is_used_from_the_keyboard(self):
        self.start_busy()
        self.go("now")
        self.browser.press("/", *"user:42", "\ue007")
        self.browser.await_text("h1", "user:42")
        self.browser.press(*["\ue004"] * 3)  # Tab, from the top of the view
        focus = self.browser.run("return document.activeElement.matches(':focus-visible') &&"
                                 " getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(focus, "solid")
        self.expect_no_trouble()

    # Each view, from a telephone to a wall, in both colours.
    def test_every_view_fits_and_has_no_error(self):
        self.start_busy()
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            for width, height in WIDTHS.items():
                self.browser.resize(width, height)
                for view in VIEWS:
                    with self.subTest(scheme=scheme, width=width, view=view):
                        self.go(view)
                        self.browser.until(
                            "return performance.getEntriesByType('resource')"
                            ".some((entry) => entry.name.includes('/api/') && entry.responseEnd)")
                        self.browser.until("return document.documentElement.scrollWidth"
                                           " <= window.innerWidth")
                        self.assertTrue(self.browser.run(
                            "return document.querySelector('#banner').hidden"))
                        self.expect_no_trouble()
            dark = self.browser.run("return getComputedStyle(document.body).backgroundColor")
            self.assertEqual(max(map(int, dark[4:-1].split(","))) < 60, scheme == "dark")

    # The time is printed, for it depends on the machine: a page of one word takes some, too.
    def test_it_is_small(self):
        self.start_busy()
        with other_site("word") as site:
            words = [self.first_paint_ms(site, "body") for _ in range(5)]
        page = f"http://127.0.0.1:{self.admin_port}/#/now"
        paints = [self.first_paint_ms(page, ".plot canvas") for _ in range(10)]
        size = self.browser.run("""
            const files = [...performance.getEntriesByType('navigation'),
              ...performance.getEntriesByType('resource')];
            return files.filter((file) => !file.name.includes('/api/'))
              .reduce((sum, file) => sum + file.encodedBodySize, 0);""")
        print(f"page: {size} bytes; first paint after {min(paints):.0f} ms, "
              f"of one word after {min(words):.0f} ms", file=sys.stderr)
        self.assertLess(size, PAGE_BYTES_MAX)

    def first_paint_ms(self, address, awaited):
        """Loads a page and waits for an element of it."""
        self.browser.open("about:blank")
        self.browser.open(address)
        self.browser.find(awaited)
        return self.browser.until(
            "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")


if __name__ == "__main__":
    main()
