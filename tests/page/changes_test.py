"""Changes from the live page: which users make them, after which look, and no other site."""

from page_case import USERS, PageCase, main, other_site
from weir_e2e import NEVER


class ChangesTest(PageCase):
    def test_without_users_nothing_is_changed_and_the_command_is_shown(self):
        self.start_busy()
        self.go("policies/free")
        self.browser.await_text("main", "Read-only: ")
        self.browser.until("return document.querySelector('textarea').value !== ''")
        self.browser.click_text("button", "Try as shadow")
        self.browser.click_text("button", "Review\u2026")
        self.browser.await_text("dialog code", "^")
        self.assertEqual(
            self.browser.run("return [...document.querySelectorAll('dialog .new code')]"
                             ".map((one) => one.innerText)"),
            ["10/m,burst=20,name=burst,shadow", "1000/h,shadow"])
        self.browser.await_text("dialog .command", f"redis-cli -p {self.server.port} RL.POLICY SET")
        self.assertEqual(self.browser.text("dialog .buttons"), "Close")
        self.expect_no_trouble()

    def test_a_user_who_may_change_limits_does_so_after_a_look_at_the_difference(self):
        self.start_page("--users-file", self.write("weir.users", USERS))
        client = self.connect(self.server)
        client.call("AUTH", "admin", "change")
        client.call("RL.POLICY", "SET", "free", "2/m", "100/h")
        client.call("RL.ALLOW", "user:42", "@free", "COST", 2)
        self.log_in("admin", "change")
        self.go("policies/free")
        self.browser.until("return document.querySelector('textarea').value === '2/m\\n100/h'")
        self.browser.type("textarea", "20/m\n100/h")
        self.browser.click_text("button", "Review\u2026")
        self.browser.await_text(".diff", "20/m")
        lines = self.browser.run("return [...document.querySelectorAll('.diff > div')]"
                                 ".map((one) => one.className + ' ' + one.innerText.trim())")
        self.assertEqual([" ".join(line.split()) for line in lines],
                         ["gone -2/m", "new +20/m", "kept 100/h"])
        self.assertEqual(client.call("RL.POLICY", "GET", "free"), [b"2/m", b"100/h"])
        self.browser.click_text("dialog button", "Change it")
        self.await_equal(lambda: client.call("RL.POLICY", "GET", "free"), [b"20/m", b"100/h"])

        self.go("key/user%3A42")
        self.browser.await_text(".buckets", "@free#0")
        self.browser.type("main form input", "unlimited")
        self.browser.click_text("button", "Override\u2026")
        self.browser.click_text("dialog button", "Override")
        self.browser.await_text(".overrides tbody", "unlimited")
        self.assertEqual(client.call("RL.POLICY", "OVERRIDES", "free"),
                         [[b"user:42", b"unlimited"]])
        self.browser.click_text("button", "Unoverride\u2026")
        self.browser.click_text("dialog button", "Drop the override")
        self.await_equal(lambda: client.call("RL.POLICY", "OVERRIDES", "free"), [])
        self.browser.click_text("button", "Reset\u2026")
        self.browser.click_text("dialog button", "Reset")
        self.browser.await_text(".verdict", "^Free:")
        self.assertEqual(client.call("RL.INSPECT", "user:42"), [])

        self.go("policies/free")
        self.browser.click_text("button", "Delete\u2026")
        self.browser.click_text("dialog button", "Delete")
        self.await_equal(lambda: client.call("RL.POLICY", "LIST"), [])
        self.browser.await_text("main", "No policy yet")
        self.expect_no_trouble()

    def test_a_user_without_rights_is_told_what_to_do(self):
        self.start_page("--users-file", self.write("weir.users", USERS))
        self.log_in("viewer", "look")
        self.go("who")
        self.browser.await_text("#banner", "NOPERM.*users file")
        self.browser.click_text("nav a", "Limits")
        self.browser.until("return document.querySelector('#banner').hidden")

    # No driver can close the browser's dialog for the name and the password. So the answer that the
    # page gets after that is made up here.
    def test_a_user_who_closes_the_dialog_is_told_what_to_do_and_not_asked_again(self):
        self.start_page()
        self.go("limits")
        self.browser.await_text("main", "No limit has been used")
        self.browser.run("""
            window.asked = 0;
            window.fetch = async () => {
              ++window.asked;
              return new Response('{"error":"NOAUTH a login is needed"}', {status: 401});
            };""")
        self.browser.await_text("#banner", "log in")
        self.assertEqual(self.browser.run("return window.asked"), 1)

    # --- Safety -----------------------------------------------------------------------------------

    # Goal: no page of another site can change or read anything. Method: such a page, served from
    # another origin, posts a form and fetches in each way that a browser lets it; its browser even
    # sends the login along.
    def test_a_forged_request_of_another_site_changes_and_reads_nothing(self):
        self.start_page("--users-file", self.write("weir.users", USERS))
        client = self.connect(self.server)
        client.call("AUTH", "admin", "change")
        client.call("RL.ALLOW", "user:42", f"1/{NEVER}")
        # The browser keeps a login that it was challenged for, and sends it along from then on.
        self.browser.open(f"http://admin:change@127.0.0.1:{self.admin_port}/api/now")
        self.browser.await_text("body", '"user":"admin"')
        target = f"http://127.0.0.1:{self.admin_port}/api/key/reset?k=user%3A42"
        with other_site() as site:
            self.browser.open(site)
            outcomes = self.browser.run_async("""
                const [target, done] = arguments;
                const read = target.replace(/key.*/, 'now');
                const outcome = (promise) => promise.then((answer) => answer.type, () => 'refused');
                Promise.all([
                  outcome(fetch(target, {method: 'POST', mode: 'no-cors',
                    credentials: 'include', body: '{}'})),
                  outcome(fetch(target, {method: 'POST', headers: {'X-Weir': '1'}, body: '{}'})),
                  outcome(fetch(target, {method: 'DELETE'})),
                  outcome(fetch(read, {credentials: 'include'})),
                ]).then(done);""", target)
            self.assertEqual(outcomes, ["refused"] * 4)
            self.browser.run("""
                const form = document.createElement('form');
                form.method = 'POST';
                form.action = arguments[0];
                document.body.append(form);
                form.submit();""", target)
            self.browser.await_text("body", "error")
        self.assertEqual(len(client.call("RL.INSPECT", "user:42")), 1)
        self.browser.troubles()

    def test_a_page_of_another_site_cannot_frame_this_one(self):
        self.start_page()
        with other_site(f'<iframe src="http://127.0.0.1:{self.admin_port}/"></iframe>') as site:
            self.browser.open(site)
            refusal = []
            self.await_equal(
                lambda: refusal.extend(self.browser.troubles()) or "frame" in str(refusal), True)

    def test_a_foreign_host_is_refused(self):
        self.start_page()
        self.browser.open(f"http://weir.evil.test:{self.admin_port}/")
        self.assertNotIn("Limits", self.browser.text("body"))
        status = self.browser.run("return performance.getEntriesByType('navigation')[0]"
                                  ".responseStatus")
        self.assertEqual(status, 421)
        self.browser.troubles()


if __name__ == "__main__":
    main()
