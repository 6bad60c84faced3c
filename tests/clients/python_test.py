"""Drives both Limiters of weir_client against real servers: with users, TLS, a Unix socket;
stopped, gone, and back again.
"""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
import unittest

import weir_client
import weir_client.aio
from scripted_server import ScriptedServer
from tls_servers import TlsServerTest
from weir_client import Limited, Mistake, Unavailable
from weir_e2e import DEADLINE, NEVER, free_port

# The most seconds that a call with the default deadline of 50 ms may take on a busy machine.
BOUND_SECONDS = 2

USERS = "user default off\nuser app on >{} ~app:* +@limit\nuser admin on >admin ~* &* +@all\n"


class LimiterTests:
    """The tests of one Limiter. A subclass has its class and `do`, which awaits if it must."""

    limiter_class = None

    def do(self, result):
        return result

    def limiter(self, url, **options):
        """A Limiter that is patient, unless the options say otherwise."""
        options.setdefault("deadline", DEADLINE)
        limiter = self.limiter_class(url, **options)
        self.addCleanup(lambda: self.do(limiter.close()))
        return limiter

    def allow(self, limiter, *words, **options):
        return self.do(limiter.allow(*words, **options))

    def url(self, server, login=""):
        return f"redis://{login}127.0.0.1:{server.port}"

    def start_with_users(self):
        path = self.write("users", USERS.format("secret"))
        return self.start("--users-file", path)

    def change_password(self, server, password):
        self.write("users", USERS.format(password))
        with self.connect(server) as client:
            self.assertEqual(client.call("AUTH", "admin", "admin"), "OK")
            self.assertEqual(client.call("ACL", "LOAD"), "OK")

    # --- Answers ----------------------------------------------------------------------------------

    def test_decisions(self):
        limiter = self.limiter(self.url(self.start()))
        limit = f"2/{NEVER},fixed"
        self.assertEqual(
            [self.allow(limiter, "k", limit).remaining for _ in range(2)], [1, 0]
        )
        denied = self.allow(limiter, "k", limit)
        self.assertEqual((denied.allowed, denied.reason, denied.limit), (False, "denied", 0))
        self.assertGreater(denied.retry_after, 86400)
        self.assertEqual(self.allow(limiter, b"\xff\0", "5/s,cost=6").reason, "never")
        (row,) = self.allow(limiter, 7, "5/s,name=burst", details=True).limits
        self.assertEqual((row.name, row.allowed, row.count, row.remaining), ("burst", True, 5, 4))
        self.assertEqual(self.do(limiter.peek("k", limit)).reason, "denied")
        self.assertEqual(self.do(limiter.refund("k", limit)).remaining, 1)
        self.assertEqual(self.do(limiter.charge("k", limit, "COST", 2)).reason, "denied")
        self.assertEqual(self.do(limiter.command("RL.RESET", "k")), 1)
        counts = limiter.counts()
        self.assertEqual((counts.asked, counts.allowed, counts.denied), (8, 4, 4))

    def test_mistakes_are_raised(self):
        limiter = self.limiter(self.url(self.start()), fail="open")
        with self.assertRaisesRegex(Mistake, "unknown unit 'x'"):
            self.allow(limiter, "k", "2/x")
        with self.assertRaisesRegex(TypeError, "word 1"):
            self.allow(limiter, None, "2/s")
        with self.assertRaisesRegex(Mistake, "unknown policy 'gold'"):
            self.do(limiter.verify("k", "@gold"))

    def test_holds(self):
        server = self.start()
        limiter = self.limiter(self.url(server))
        limit = f"1000/{NEVER},fixed"

        def left(limit):
            return self.do(limiter.peek("team:7", limit, "COST", 0)).remaining

        words = "team:7", "2,held", f"{limit},cost={{}}"
        held = self.do(limiter.reserve(60, *words, estimate=600).open())
        self.assertEqual((left(limit), left("2,held")), (400, 1))
        with self.assertRaises(Limited) as denied:
            self.do(limiter.reserve(60, *words, estimate=600).open())
        self.assertEqual(denied.exception.key, "team:7")
        self.assertTrue(self.do(held.settle(900)))
        self.assertEqual((left(limit), left("2,held")), (100, 2))
        lease = self.do(limiter.lease(60, "team:7", "2,held").open())
        self.assertEqual((left("2,held"), lease.lost), (1, False))
        self.assertTrue(self.do(lease.release()))
        self.assertEqual(left("2,held"), 2)

    def test_a_slice(self):
        limiter = self.limiter(self.url(self.start("--slice-life", "60s")))
        limit = f"100/{NEVER},fixed"
        part = limiter.slice(6, 60, "k", limit)
        for _ in range(2):
            self.do(part.spend())
        self.assertEqual(self.do(limiter.peek("k", limit)).remaining, 93)
        self.do(part.give_back())
        self.assertEqual(self.do(limiter.peek("k", limit)).remaining, 97)
        for _ in range(98):
            self.do(part.spend())
        with self.assertRaises(Limited):
            self.do(part.spend())

    # Goal: a limit that bans is asked request by request, so it bans.
    def test_a_limit_of_which_there_are_no_slices(self):
        server = self.start()
        limiter = self.limiter(self.url(server))
        part = limiter.slice(6, 60, "k", "3/h,fixed,ban=15m")
        for _ in range(3):
            self.do(part.spend())
        with self.assertRaises(Limited) as denied:
            self.do(part.spend())
        self.assertGreater(denied.exception.retry_after, 800)
        with self.connect(server) as client:
            self.assertEqual(client.call("RL.INSPECT", "k", "HOLDS"), [])

    # --- Logins -----------------------------------------------------------------------------------

    def test_a_user_with_few_rights(self):
        server = self.start_with_users()
        limiter = self.limiter(self.url(server, "app:secret@"))
        with self.assertRaisesRegex(Mistake, "NOPERM"):
            self.allow(limiter, "other", "10/s")
        self.do(limiter.verify("app:x", "10/s"))
        self.assertTrue(self.allow(limiter, "app:x", "10/s"))
        self.do(limiter.slice(6, 1, "app:y", "100/h").spend())
        with self.connect(server) as client:
            client.call("AUTH", "admin", "admin")
            self.assertEqual(len(client.call("RL.INSPECT", "app:y", "HOLDS")), 1)
        decision = self.allow(limiter, "other", "10/s")
        self.assertEqual((decision.allowed, decision.cause), (True, "login"))
        with self.assertRaises(Unavailable):
            self.do(limiter.command("RL.RESET", "app:x"))

    def test_a_wrong_password_is_loud(self):
        server = self.start_with_users()
        for login, text in (("app:wrong@", "WRONGPASS"), (":wrong@", "WRONGPASS"), ("", "NOAUTH")):
            limiter = self.limiter(self.url(server, login), fail="open")
            for _ in range(2):
                with self.assertRaisesRegex(Mistake, text):
                    self.allow(limiter, "app:x", "10/s")
            self.assertNotIn("wrong", repr(limiter))

    def test_a_password_that_changes_while_the_service_runs(self):
        server = self.start_with_users()
        told = []
        limiter = self.limiter(self.url(server, "app:secret@"), on_unavailable=told.append)
        self.assertTrue(self.allow(limiter, "app:x", "10/s"))
        self.change_password(server, "other")
        self.assertEqual(self.allow(limiter, "app:x", "10/s").cause, "login")
        self.assertEqual(told, ["login"])
        self.change_password(server, "secret")
        self.assertEqual(self.allow(limiter, "app:x", "10/s").reason, "allowed")

    # Goal: the error of a login that comes after the deadline is raised by the next call.
    # Method: a server that answers the login only then.
    def test_a_login_that_is_refused_late(self):
        server = ScriptedServer(None)
        self.addCleanup(server.close)
        login = threading.Event()

        def answer(_words):
            login.wait(DEADLINE)
            return "-WRONGPASS invalid username-password pair or user is disabled."

        server._answer_to = answer
        limiter = self.limiter(self.url(server, "app:secret@"), deadline=0.05, fail="open")
        self.assertEqual(self.allow(limiter, "k", "1/s").cause, "timeout")
        login.set()

        def outcome():
            try:
                return self.allow(limiter, "k", "1/s").cause
            except Mistake as mistake:
                return str(mistake).partition(" ")[0]

        self.await_equal(outcome, "WRONGPASS")

    # --- Connections ------------------------------------------------------------------------------

    def test_a_unix_socket(self):
        path = os.path.join(self.directory, "weir.sock")
        self.start("--unix-socket", path)
        self.assertTrue(self.allow(self.limiter(f"unix://{path}"), "k", "1/s"))
        self.assertTrue(self.allow(self.limiter(None, unix_socket=path), "k2", "1/s"))

    def test_tls(self):
        server = self.start_tls("--tls-auth-clients=optional")
        ca = self.authority.certificate
        limiter = self.limiter(f"rediss://127.0.0.1:{server.tls_port}?ca={ca}")
        self.assertTrue(self.allow(limiter, "k", "1/s"))
        context = self.context(self.client_files)
        limiter = self.limiter(f"redis://127.0.0.1:{server.tls_port}", tls=context)
        self.assertTrue(self.allow(limiter, "k2", "1/s"))

    def test_a_certificate_of_another_name_or_authority(self):
        server = self.start_tls("--tls-auth-clients=optional")
        ca = self.authority.certificate
        for url in (f"rediss://localhost:{server.tls_port}?ca={ca}",
                    f"rediss://127.0.0.1:{server.tls_port}"):
            limiter = self.limiter(url, fail="closed")
            with self.assertRaisesRegex(Unavailable, "certificate"):
                self.do(limiter.verify())
            self.assertEqual(self.allow(limiter, "k", "1/s").cause, "connection")

    def test_plain_text_to_a_port_of_tls(self):
        server = self.start_tls()
        limiter = self.limiter(f"redis://127.0.0.1:{server.tls_port}")
        with self.assertRaises(Unavailable):
            self.do(limiter.verify())

    # --- Without an answer ------------------------------------------------------------------------

    def assert_fails_as_chosen(self, url):
        for fail in ("open", "closed"):
            limiter = self.limiter(url, fail=fail, deadline=None)
            begin = time.monotonic()
            decision = self.allow(limiter, "k", "1/h")
            self.assertEqual((decision.allowed, decision.reason), (fail == "open", "unavailable"))
            self.assertIn(decision.cause, ("timeout", "connection"))
            if fail == "closed":
                with self.assertRaises(Limited) as denied:
                    self.do(limiter.check("k", "1/h"))
                self.assertIsNone(denied.exception.retry_after)
                self.assertEqual(denied.exception.decision.reason, "unavailable")
            self.assertLess(time.monotonic() - begin, 2 * BOUND_SECONDS)

    def test_a_server_that_is_stopped(self):
        server = self.start()
        server.pause()
        self.addCleanup(server.resume)
        self.assert_fails_as_chosen(self.url(server))

    def test_a_server_that_is_stopped_with_tls(self):
        server = self.start_tls("--tls-auth-clients=optional")
        url = f"rediss://127.0.0.1:{server.tls_port}?ca={self.authority.certificate}"
        limiter = self.limiter(url, deadline=0.5)
        self.await_equal(lambda: self.allow(limiter, "k", "100/h,cost=0").reason, "allowed")
        server.pause()
        self.addCleanup(server.resume)
        for _ in range(2):
            begin = time.monotonic()
            self.assertEqual(self.allow(limiter, "k", "100/h,cost=0").cause, "timeout")
            self.assertLess(time.monotonic() - begin, BOUND_SECONDS)

    def test_a_decorator_of_the_other_kind_of_function(self):
        limiter = self.limiter("redis://127.0.0.1")

        async def coroutine():
            pass

        is_asyncio = self.limiter_class is weir_client.aio.Limiter
        with self.assertRaises(TypeError):
            limiter.limited("k", "1/s")(print if is_asyncio else coroutine)

    def test_no_server_at_all(self):
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))  # and does not listen
            url = f"redis://127.0.0.1:{unheard.getsockname()[1]}"
            self.assert_fails_as_chosen(url)
            with self.assertRaises(Unavailable):
                self.do(self.limiter(url).verify())

    # Goal: the deadline holds while the Limiter connects. Method: a full queue of connections.
    def test_a_server_that_accepts_no_connection(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            with socket.create_connection(full.getsockname()):
                self.assert_fails_as_chosen(f"redis://127.0.0.1:{full.getsockname()[1]}")

    def test_a_server_that_stops_while_it_is_asked(self):
        server = self.start()
        limiter = self.limiter(self.url(server), deadline=0.05)
        words = "k", "100/h,cost=0"
        self.await_equal(lambda: self.allow(limiter, *words).reason, "allowed")
        server.pause()
        self.addCleanup(server.resume)
        self.assertEqual(self.allow(limiter, *words).cause, "timeout")
        server.resume()
        self.await_equal(lambda: self.allow(limiter, *words).reason, "allowed")

    def test_a_server_that_comes_back(self):
        first = self.start()
        port = first.port
        limiter = self.limiter(self.url(first), fail="closed")
        self.assertTrue(self.allow(limiter, "k", "1/h"))
        self.assertEqual(first.stop(), 0)
        self.assertEqual(self.allow(limiter, "k", "1/h").cause, "connection")
        self.launch("--port", str(port)).port  # waits until it listens; its state was in memory
        self.assertEqual(self.allow(limiter, "k", "1/h").reason, "allowed")

    def test_the_log_of_a_limiter_without_a_callback(self):
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))
            limiter = self.limiter(f"redis://127.0.0.1:{unheard.getsockname()[1]}")
            with self.assertLogs("weir_client", "WARNING") as log:
                for _ in range(3):
                    self.allow(limiter, "k", "1/h")
        self.assertEqual(len(log.output), 1)
        self.assertIn("connection", log.output[0])


class ThreadLimiterTest(LimiterTests, TlsServerTest):
    limiter_class = weir_client.Limiter

    # Goal: what such a process has spent does not come back.
    def test_a_process_that_ends_wastes_its_slice(self):
        server = self.start("--slice-life", "300ms")
        limit = f"100/{NEVER},fixed"
        program = (
            "import os, sys, weir_client; limiter = weir_client.Limiter(sys.argv[1], deadline=60); "
            "limiter.slice(6, 60, 'k', sys.argv[2]).spend(); os._exit(0)"
        )
        subprocess.run([sys.executable, "-c", program, self.url(server), limit], check=True)
        with self.connect(server) as client:
            self.await_equal(lambda: client.call("RL.INSPECT", "k", "HOLDS"), [])
            self.assertEqual(client.call("RL.PEEK", "k", limit, "COST", 0)[1], 94)

    # Goal: threads get all tokens and no more.
    def test_threads_share_a_limiter_and_a_slice(self):
        limiter = self.limiter(self.url(self.start("--slice-life", "60s")))
        limit = f"100/{NEVER},fixed"
        part = limiter.slice(7, 60, "sliced", limit)
        passed = []

        def ask():
            for _ in range(20):
                passed.append(bool(limiter.allow("asked", limit)))
                try:
                    part.spend()
                    passed.append("spent")
                except Limited:
                    pass

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual((passed.count(True), passed.count("spent")), (100, 100))

    # Goal: at most 16 calls wait, and the end of the server ends them.
    def test_waits(self):
        server = self.launch("--port", str(free_port()))
        limiter = self.limiter(self.url(server))
        self.assertTrue(limiter.wait(1, "k", "100/s").allowed)
        self.assertEqual(limiter.wait(0.001, "k", "1/m", "COST", 1).reason, "allowed")
        self.assertEqual(limiter.wait(0.001, "k", "1/m").reason, "denied")
        causes = []

        def wait(key):
            causes.append(limiter.wait(55, key, "1/50s").cause)

        for i in range(16):
            self.assertTrue(limiter.allow(f"k{i}", "1/50s"))
        threads = [
            threading.Thread(target=wait, args=(f"k{i}",)) for i in range(16)
        ]
        for thread in threads:
            thread.start()
        with self.connect(server) as client:
            self.await_equal(lambda: self.info(client)["blocked_clients"], 16)
        self.assertEqual(limiter.wait(1, "k", "100/s").cause, "busy")
        server.kill()
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual(causes, ["connection"] * 16)

    # Goal: a child process does not read the replies of its parent.
    def test_a_fork(self):
        server = self.start()
        limiter = self.limiter(self.url(server))
        limit = f"100/{NEVER},fixed"
        self.assertEqual(limiter.allow("k", limit).remaining, 99)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if limiter.allow("k", limit).remaining == 98 else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(limiter.allow("k", limit).remaining, 97)

    def test_a_lease_is_renewed_by_a_thread(self):
        server = self.start()
        limiter = self.limiter(self.url(server))
        # A third of the time is its renewal's; a busy machine may take the rest.
        with limiter.lease(1, "k", "1,held") as slot, self.connect(server) as client:
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                self.assertEqual(client.call("RL.PEEK", "k", "1,held")[0], 0)
            self.assertFalse(slot.lost)
        self.assertTrue(limiter.peek("k", "1,held"))


class AsyncioLimiterTest(LimiterTests, TlsServerTest):
    limiter_class = weir_client.aio.Limiter

    def setUp(self):
        super().setUp()
        self.runner = asyncio.Runner()
        self.addCleanup(self.runner.close)

    def do(self, result):
        return self.runner.run(result) if asyncio.iscoroutine(result) else result

    # Goal: after a call was cancelled, its reply reaches no other. Method: the server is stopped
    # while it is asked, and answers when it is continued.
    def test_a_call_that_is_cancelled(self):
        server = self.start()
        limiter = self.limiter(self.url(server))

        async def cancel():
            self.assertTrue(await limiter.allow("warm", "1/s"))
            server.pause()
            call = asyncio.ensure_future(limiter.allow("cancelled", "5/h"))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(call, 0.05)
            server.resume()
            return await limiter.allow("k", "1000/h")

        self.assertEqual(self.do(cancel()).remaining, 999)

    def test_tasks_share_a_limiter(self):
        limiter = self.limiter(self.url(self.start("--slice-life", "60s")))
        limit = f"100/{NEVER},fixed"
        part = limiter.slice(7, 60, "sliced", limit)

        async def spend():
            try:
                await part.spend()
                return True
            except Limited:
                return False

        async def ask():
            asked = [limiter.allow("asked", limit) for _ in range(150)]
            spent = [spend() for _ in range(150)]
            return await asyncio.gather(*asked), await asyncio.gather(*spent)

        asked, spent = self.do(ask())
        self.assertEqual((sum(map(bool, asked)), sum(spent)), (100, 100))
        self.do(part.give_back())

    def test_one_limiter_on_two_loops(self):
        limiter = self.limiter(self.url(self.start()))
        self.assertTrue(self.do(limiter.allow("k", "5/h")))
        with asyncio.Runner() as second:
            self.assertTrue(second.run(limiter.allow("k", "5/h")))
        self.assertTrue(self.do(limiter.allow("k", "5/h")))


if __name__ == "__main__":
    unittest.main()
