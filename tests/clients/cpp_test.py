"""Drives the C++ library weir_client against real servers: its answers, and its logins."""

import os
import threading
import time
import unittest

from cases_test import Conversation
from cpp_client import OK, CppClientTest
from weir_e2e import DEADLINE, NEVER, free_port


class CppTest(CppClientTest):
    # --- Answers ----------------------------------------------------------------------------------

    def test_decisions(self):
        limiter = self.limiter(url=self.url(self.start()))
        limit = f"2/{NEVER},fixed"
        said = [limiter.call("allow", "k", limit) for _ in range(3)]
        self.assertEqual([each.split()[:2] for each in said],
                         [["allowed", "1"], ["allowed", "0"], ["denied", "0"]])
        self.assertGreater(int(said[2].split()[2]), 86_400_000)
        self.assertTrue(limiter.call("allow", "k2", "5/s,cost=6").startswith("never 5 - "))
        row = limiter.call("details", "k3", "5/s,name=burst").partition(" | ")[2]
        self.assertTrue(row.startswith("burst 1 5 4 "))
        self.assertTrue(limiter.call("peek", "k", limit).startswith("denied"))
        self.assertTrue(limiter.call("refund", "k", limit).startswith("allowed 1 "))
        self.assertTrue(limiter.call("charge", "k", limit, "COST", "2").startswith("denied"))
        self.assertEqual(limiter.call("command", "RL.RESET", "k"), "1")
        self.assertEqual(limiter.call("counts"), "asked 8 allowed 4 denied 4")

    def test_mistakes_are_thrown(self):
        limiter = self.limiter(url=self.url(self.start()), fail="open")
        self.assertRegex(limiter.call("allow", "k", "2/x"), "^mistake ERR .*unknown unit 'x'")
        self.assertRegex(limiter.call("verify", "k", "@gold"), "^mistake .*unknown policy 'gold'")

    def test_fields(self):
        limiter = self.limiter(url=self.url(self.start()))
        words = "k", f"1/{NEVER},fixed,name=once"
        self.assertIn('RateLimit: "once";r=0 |', limiter.call("fields", *words))
        self.assertRegex(limiter.call("fields", *words), r"Retry-After: \d+ \| 429 {.*\"once\"\]}")

    def test_holds(self):
        limiter = self.limiter(url=self.url(self.start()))
        limit = f"1000/{NEVER},fixed"
        words = 600, 60_000, "team:7", "2,held", f"{limit},cost={{}}"
        self.assertEqual(limiter.call("reserve", *words), "passes")
        self.assertEqual(self.left(limiter, "team:7", limit), 400)
        self.assertRegex(limiter.call("reserve", *words), "^limited team:7 ")
        self.assertEqual(limiter.call("settle", 900), "settled")
        self.assertEqual(self.left(limiter, "team:7", limit), 100)
        self.assertEqual(self.left(limiter, "team:7", "2,held"), 2)

    def test_a_settlement_below_zero_is_not_sent(self):
        limiter = self.limiter(url=self.url(self.start()))
        limit = f"1000/{NEVER},fixed"
        for settle in "settle", "settle_or_charge":
            limiter.call("reserve", 600, 60_000, "k", f"{limit},cost={{}}")
            self.assertRegex(limiter.call(settle, -1), "^mistake ")
            self.assertEqual(limiter.call("cancel"), "ok")
            self.assertEqual(self.left(limiter, "k", limit), 1000)
        self.assertIn("mistakes 2", limiter.call("counts"))

    def test_times_that_no_server_takes(self):
        server, url = self.scripted()
        limiter = self.limiter(url=url, fail="open")
        day = 86_400_000
        calls = [("wait", ms, "k", "1/s") for ms in (-1, day + 1, 2**63 - 1)]
        for ms in 0, -1, day + 1, 2**63 - 1:
            calls += [("reserve", None, ms, "k", "1,held"), ("lease", ms, "k", "1,held")]
            calls += [("slice", 5, ms, "k", "9/s")]
        for call in calls:
            with self.subTest(call=call):
                self.assertRegex(limiter.call(*call), "^mistake .* a day at most")
        self.assertEqual(limiter.call("counts"), f"mistakes {len(calls)}")

    def test_a_slice(self):
        limiter = self.limiter(url=self.url(self.start("--slice-life", "60s")))
        limit = f"100/{NEVER},fixed"
        limiter.call("slice", 6, 60_000, "k", limit)
        for _ in range(2):
            self.assertEqual(limiter.call("spend"), "passes")
        self.assertEqual(self.left(limiter, "k", limit), 94)
        self.assertEqual(limiter.call("give_back"), "ok")
        self.assertEqual(self.left(limiter, "k", limit), 98)
        for _ in range(98):
            self.assertEqual(limiter.call("spend"), "passes")
        self.assertRegex(limiter.call("spend"), "^limited k ")

    # Goal: a slice is settled once weir answers again, by a call or the timer, while it lives; what
    # was spent of a hold is charged then if that is too late.
    def test_a_commit_without_an_answer_is_repeated(self):
        slice_words = "RL.SLICE k 9/h NEED 1 UNIT 1 UPTO 3 HOLD {} TTL 60000"
        sliced = [3, 6, 0, 900_000, 0, 60_000_000, 7, []]
        keys = ("k", "9/h", "AND", "l", "9/h")
        take_words = "RL.TAKE k 9/h AND l 9/h UPTO 3 HOLD {} TTL 60400 WITHLIMITS"
        taken = [3, 6, 0, 900, 0, [["9/h", 1, 9, 6, 0, 900, group, 1, 0] for group in (0, 1)]]
        settled, too_late = [1, 9, 0, 900, 0], [0, 0, 0, 0, 0]

        def slices(name):
            return [slice_words.format(name), sliced]

        def commit(name, reply):
            return [f"RL.COMMIT k COST 1 HOLD {name}", reply]

        def commit_both(reply):
            return ["RL.COMMIT k COST 1 AND l COST 1 HOLD $h", reply]

        self.play(
            [["limiter", {"fail": "closed", "deadline_ms": 100}], [], "ok"],
            [["slice", 3, 60_000, "k", "9/h"], [], "ok"],
            [["spend"], [slices("$a")], "passes"],
            [["give_back"], [commit("$a", "lost"), commit("$a", "lost")], "ok"],
            [["spend"], [slices("$b")], "passes"],
            [["clock", 100], [], "ok"],
            [["give_back"], [commit("$a", settled), commit("$b", "-LOADING no")], "ok"],
            [["clock", 100], [], "ok"],
            [["give_back"], [commit("$b", too_late)], "ok"],
            [["give_back"], [], "ok"],
            [["spend"], [slices("$c")], "passes"],
            [["clock", 59_939], [commit("$c", "-LOADING no")], "ok"],
            [["clock", 59_939], [], "ok"],  # it has lapsed
            [["beats"], [], "0"],
            [["slice", 3, 60_000, *keys], [], "ok"],
            [["spend"], [[take_words.format("$h"), taken]], "passes"],
            [["clock", 60_000], [commit_both("-LOADING no")], "ok"],
            [["clock", 60_000], [commit_both(too_late),
                                 ["RL.CHARGE k 9/h COST 1 AND l 9/h COST 1", settled]], "ok"],
            [["beats"], [], "0"],
        )

    # Goal: a commit that is owed is repeated by the timer although the next slice came too late.
    def test_a_commit_is_repeated_after_a_late_slice(self):
        def slices(name, life_us):
            words = f"RL.SLICE k 9/h NEED 1 UNIT 1 UPTO 3 HOLD {name} TTL 60000"
            return [words, [3, 6, 0, 900_000, 0, life_us, 7, []]]

        def commit(name, reply):
            return [f"RL.COMMIT k COST 1 HOLD {name}", reply]

        settled, too_late = [1, 9, 0, 900, 0], [0, 0, 0, 0, 0]
        self.play(
            [["limiter", {"fail": "closed", "deadline_ms": 10_000}], [], "ok"],
            [["slice", 3, 60_000, "k", "9/h"], [], "ok"],
            [["spend"], [slices("$a", 60_000_000)], "passes"],
            [["give_back"], [commit("$a", "-LOADING no")], "ok"],
            [["spend"], [slices("$b", 900), commit("$b", too_late)], "passes"],
            [["clock", 10_000], [commit("$a", settled)], "ok"],
            [["beats"], [], "0"],
        )

    def play(self, *steps):
        conversation = Conversation(self, self.limiter())
        self.addCleanup(conversation.close)
        conversation.play(steps)

    def test_a_lease_is_renewed_by_a_thread(self):
        server = self.start()
        limiter = self.limiter(url=self.url(server))
        self.assertEqual(limiter.call("lease", 200, "k", "1,held"), "passes")
        with self.connect(server) as client:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                self.assertEqual(client.call("RL.PEEK", "k", "1,held")[0], 0)
        self.assertEqual(limiter.call("lost"), "held")
        self.assertEqual(limiter.call("release"), "freed")
        self.assertEqual(self.left(limiter, "k", "1,held"), 1)

    # Goal: threads get all tokens and no more.
    def test_threads_share_a_limiter_and_a_slice(self):
        limiter = self.limiter(url=self.url(self.start("--slice-life", "60s")))
        limit = f"100/{NEVER},fixed"
        self.assertEqual(limiter.call("crowd", 24, 20, "asked", limit), "100")
        limiter.call("slice", 7, 60_000, "sliced", limit)
        self.assertEqual(limiter.call("crowd", 8, 20), "100")

    def test_many_kept_denials(self):
        limiter = self.limiter(url=self.url(self.start()))
        self.assertEqual(limiter.call("flood", 10_001), "0")
        self.assertEqual(limiter.call("counts"), "asked 10001 denied 10001")

    # Goal: at most 16 calls wait, and the end of the server ends them.
    def test_waits(self):
        server = self.launch("--port", str(free_port()))
        limiter = self.limiter(url=self.url(server))
        self.assertTrue(limiter.call("wait", 1000, "k", "100/s").startswith("allowed"))
        self.assertTrue(limiter.call("wait", 1, "l", "1/m").startswith("allowed"))
        self.assertTrue(limiter.call("wait", 1, "l", "1/m").startswith("denied"))
        for i in range(17):
            self.assert_passes(limiter, f"k{i}", "1/50s")
        limiter.send(("wait_all", 17, 55_000, "k", "1/50s"))
        with self.connect(server) as client:
            self.await_equal(lambda: self.info(client)["blocked_clients"], 16)
        server.kill()
        causes = limiter.next_said().split()
        self.assertEqual(sorted(causes), ["busy"] + ["connection"] * 16)

    # Goal: a command that changes its connection changes it for no other call.
    def test_a_command_that_changes_its_connection(self):
        url = self.url(self.start_with_users(), "app:secret@")
        limiter = self.limiter(url=url)
        self.assertEqual(limiter.call("command", "AUTH", "admin", "admin"), '"OK"')
        said = limiter.call("allow", "other", "10/s")
        self.assertEqual(said, "unavailable login allowed")  # app has no right to that key
        limiter = self.limiter(url=url.replace("app:secret", "admin:admin"))
        for words in (("MULTI",), ("SUBSCRIBE", "a", "b"), ("MONITOR",), ("HELLO", "3"), ("QUIT",)):
            with self.subTest(words=words):
                limiter.call("command", *words)
                self.assert_passes(limiter, words[0], "10/s")

    def test_other_commands_keep_their_connection(self):
        server = self.start()
        limiter = self.limiter(url=self.url(server))
        for _ in range(3):
            limiter.call("command", "rl.reset", "k")
        with self.connect(server) as client:
            self.assertEqual(self.info(client)["total_connections_received"], 2)

    # --- Logins -----------------------------------------------------------------------------------

    def test_a_user_with_few_rights(self):
        limiter = self.limiter(url=self.url(self.start_with_users(), "app:secret@"))
        self.assertRegex(limiter.call("allow", "other", "10/s"), "^mistake NOPERM")
        self.assertEqual(limiter.call("verify", "app:x", "10/s"), "ok")
        self.assert_passes(limiter, "app:x", "10/s")
        self.assertEqual(limiter.call("allow", "other", "10/s"), "unavailable login allowed")
        self.assertEqual(limiter.call("command", "RL.RESET", "app:x"), "raised login")

    def test_a_wrong_password_is_loud(self):
        server = self.start_with_users()
        for login, text in (("app:wrong@", "WRONGPASS"), (":wrong@", "WRONGPASS"), ("", "NOAUTH")):
            limiter = self.limiter(url=self.url(server, login), fail="open")
            for _ in range(2):
                self.assertRegex(limiter.call("allow", "app:x", "10/s"), f"^mistake {text}")
            self.assertNotIn("wrong", limiter.call("text"))

    def test_a_password_that_changes_while_the_service_runs(self):
        server = self.start_with_users()
        limiter = self.limiter(url=self.url(server, "app:secret@"))
        self.assert_passes(limiter, "app:x", "10/s")
        self.change_password(server, "other")
        self.assertEqual(limiter.call("allow", "app:x", "10/s"), "unavailable login allowed")
        self.assertEqual(limiter.call("causes"), "login")
        self.change_password(server, "secret")
        self.assert_passes(limiter, "app:x", "10/s")

    # Goal: the error of a login that comes after the deadline is thrown by the next call.
    # Method: a server that answers the login only then.
    def test_a_login_that_is_refused_late(self):
        _, limiter, login = self.late_login(
            "-WRONGPASS invalid username-password pair or user is disabled."
        )
        login.set()
        self.await_equal(lambda: limiter.call("allow", "k", "1/s").split()[1], "WRONGPASS")

    # Goal: an outage at a login that comes after the deadline is over for the next call.
    def test_an_outage_at_a_late_login(self):
        server, limiter, login = self.late_login("-LOADING weir is loading")
        login.set()
        self.await_equal(lambda: self.threads(limiter), limiter.idle_threads)
        server._answer_to = lambda _words: "+OK"
        limiter.send(["allow", "k", "1/s"])
        self.next_asked(server).sendall(OK)
        self.assertEqual(limiter.next_said(), "allowed 9 0 900 0")

    def late_login(self, reply):
        """A server, a Limiter whose first call has ended, and the event that lets it log in."""
        server, _ = self.scripted()
        login = threading.Event()

        def answer(_words):
            login.wait(DEADLINE)
            return reply

        server._answer_to = answer
        limiter = self.limiter(url=self.url(server, "app:secret@"), deadline_ms=50, fail="open")
        self.assertEqual(limiter.call("allow", "k", "1/s"), "unavailable timeout allowed")
        return server, limiter, login


if __name__ == "__main__":
    unittest.main()
