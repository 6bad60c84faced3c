"""Drives both Limiters of weir_client against a server of the test's own, where connections fail,
callers give up and Limiters are closed at the worst moment.
"""

import asyncio
import contextlib
import gc
import inspect
import os
import queue
import select
import signal
import socket
import ssl
import tempfile
import threading
import time
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor

import weir_client
import weir_client.aio
from scripted_server import ScriptedSentinel, ScriptedServer, to_resp
from tls_servers import Authority
from weir_e2e import DEADLINE

OK = [1, 9, 0, 900, 0]
LINKS_MAX = 16
WAITS_MAX = 16
CLASSES = (weir_client.Limiter, weir_client.aio.Limiter)


@contextlib.contextmanager
def unheard_port():
    """A port at which nothing listens."""
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        yield unheard.getsockname()[1]


class TlsScriptedServer(ScriptedServer):
    """A ScriptedServer behind TLS, which shakes hands once `greeted` is set."""

    def __init__(self, events, context):
        self.accepted = 0
        self.greeted = threading.Event()
        self._context = context
        super().__init__(events)

    def _run(self, connection):
        self.accepted += 1
        self.greeted.wait(DEADLINE)
        with contextlib.suppress(OSError):
            super()._run(self._context.wrap_socket(connection, server_side=True))


class FaultTest(unittest.TestCase):
    def setUp(self):
        self.events = queue.Queue()
        self.server = ScriptedServer(self.events)
        self.addCleanup(self.server.close)
        self.runner = asyncio.Runner()
        self.addCleanup(self.runner.close)

    def do(self, result):
        return self.runner.run(result) if inspect.iscoroutine(result) else result

    def limiter(self, kind, login="", **options):
        options.setdefault("deadline", DEADLINE)
        limiter = kind(f"redis://{login}127.0.0.1:{self.server.port}", **options)
        self.addCleanup(lambda: self.do(limiter.close()))
        return limiter

    def await_equal(self, probe, wanted):
        """Polls until `probe()` is `wanted`."""
        end = time.monotonic() + DEADLINE
        while (seen := probe()) != wanted:
            self.assertLess(time.monotonic(), end, f"still {seen!r}, not {wanted!r}")

    def next_request(self):
        """The words of the next request, and its connection."""
        return self.events.get(timeout=DEADLINE)[1]

    def answer(self, *replies):
        """Answers the next requests, in a thread; the words that were asked."""
        asked = []

        def run():
            for reply in replies:
                words, connection = self.next_request()
                asked.append(" ".join(words))
                self.server.reply(connection, reply)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.addCleanup(thread.join, DEADLINE)
        return asked


class ConnectionTest(FaultTest):
    """The state of a connection that a call leaves to the next one."""

    def call(self, limiter, reply, *words):
        """Calls `command`, or `allow` without words; what it gives, and its connection."""
        with ThreadPoolExecutor() as pool:
            answered = pool.submit(self.answer_next, reply)
            called = limiter.command(*words) if words else limiter.allow("k", "9/h")
            return self.do(called), answered.result(DEADLINE)

    def answer_next(self, reply):
        _, connection = self.next_request()
        self.server.reply(connection, reply)
        return connection

    # Goal: what a command changes of its connection reaches no other call. Method: more commands
    # than there are connections.
    def test_commands_have_a_connection_of_their_own(self):
        for kind in CLASSES:
            limiter = self.limiter(kind)
            _, first = self.call(limiter, OK)
            for words in (("multi",), ("SUBSCRIBE", "c"), (b"SELECT", 0), ("RESET",), ("MONITOR",)):
                _, own = self.call(limiter, "+OK", *words)
                self.assertNotEqual(own, first)
                _, next_own = self.call(limiter, "+OK", *words)
                self.assertNotEqual(own, next_own)
            for _ in range(WAITS_MAX):
                self.call(limiter, "+OK", "MULTI")
            for words in (("RL.RESET", "k"), ("rl.top",), ()):
                _, connection = self.call(limiter, OK, *words)
                self.assertEqual(connection, first)

    # Goal: bytes that no request asked for are no reply to the next one.
    def test_a_connection_with_unread_bytes_is_closed(self):
        for kind in CLASSES:
            limiter = self.limiter(kind)
            for unread in (to_resp(OK), "*5\r\n:1"):
                decision, first = self.call(limiter, {"raw": to_resp(OK) + unread})
                self.assertTrue(decision)
                decision, second = self.call(limiter, [0, 3, 400, 900, 0])
                self.assertEqual((decision.reason, decision.remaining), ("denied", 3))
                self.assertNotEqual(first, second)
                limiter._engine._denials = weir_client.core.denials.Denials()

    # Goal: a patient Limiter connects as long as its deadline says. Method: a slow login.
    def test_connecting_may_take_as_long_as_the_deadline(self):
        pace = threading.Event()
        self.server._answer_to = lambda _login: pace.wait(0.2) or "+OK"
        with unittest.mock.patch("weir_client.core.settings.CONNECT_SECONDS", 0.05):
            for kind in CLASSES:
                limiter = self.limiter(kind, "app:secret@")
                self.assertTrue(self.call(limiter, OK)[0])

    # Goal: a Sentinel that is silent leaves time for the next one, with any deadline.
    def test_a_silent_sentinel_is_passed_over(self):
        silent, sentinel = (ScriptedSentinel(None) for _ in range(2))
        silent.primary = "silent"
        sentinel.primary = ["127.0.0.1", str(self.server.port)]
        self.addCleanup(silent.close)
        self.addCleanup(sentinel.close)
        places = [f"127.0.0.1:{each.port}" for each in (silent, sentinel)]
        for kind in CLASSES:
            limiter = kind(sentinels=places, master="main", deadline=2)
            self.addCleanup(lambda limiter=limiter: self.do(limiter.close()))
            self.assertEqual(self.call(limiter, OK)[0].reason, "allowed")

    # Goal: a connection that cannot be opened takes no room. Method: no thread can be started.
    def test_threads_that_cannot_be_started(self):
        limiter = self.limiter(weir_client.Limiter)
        with unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError("no thread")):
            for _ in range(LINKS_MAX):
                with self.assertRaises(RuntimeError):
                    limiter.allow("k", "1/s")
        self.assertTrue(self.call(limiter, OK)[0])

    # Goal: a ticket of TLS is no stray reply. Method: a connection that waits for a later call.
    def test_a_ticket_of_a_session_does_not_end_a_connection(self):
        directory = tempfile.TemporaryDirectory(prefix="weir_tls_")
        self.addCleanup(directory.cleanup)
        authority = Authority(directory.name, "ca")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("server"))
        server = TlsScriptedServer(self.events, context)
        self.addCleanup(server.close)
        url = f"rediss://127.0.0.1:{server.port}?ca={authority.certificate}"
        limiter = weir_client.Limiter(url, deadline=0.001)
        self.addCleanup(limiter.close)
        self.assertEqual(limiter.allow("k", "1/s").cause, "timeout")
        server.greeted.set()
        idle = limiter._wire._shelf._idle
        self.await_equal(lambda: len(idle), 1)
        self.assertEqual(idle[0].socket.version(), "TLSv1.3")
        self.assertTrue(select.select([idle[0].socket], [], [], DEADLINE)[0])
        limiter._engine.deadline = DEADLINE
        self.assertTrue(self.call(limiter, OK)[0])
        self.assertEqual(server.accepted, 1)


class Timers:
    """What begins a heartbeat; the test says when it is due."""

    def __init__(self):
        self.functions = []

    def every(self, _seconds, function):
        self.functions.append(function)
        return lambda: self.functions.remove(function)


class SliceTest(FaultTest):
    """A slice is settled, also if weir is away when it ends; as long as it lives."""

    SLICED = [3, 6, 0, 900_000, 0, 60_000_000, 7, []]
    TAKEN = [3, 6, 0, 900, 0, [["9/h", 1, 9, 6, 0, 900, group, 1, 0] for group in (0, 1)]]
    SETTLED = [1, 9, 0, 900, 0]

    def setUp(self):
        super().setUp()
        self.now = 0.0
        self.timers = Timers()

    def start(self, kind, *others):
        """A Limiter, and a slice of which a token is spent. With other keys it is a hold."""
        limiter = self.limiter(kind, clock=lambda: self.now, every=self.timers.every)
        part = limiter.slice(3, 60, "k", "9/h", *others)
        self.answer(self.TAKEN if others else self.SLICED)
        self.do(part.spend())
        return limiter, part

    def tick(self):
        """Runs the timer that was begun last."""
        self.do(self.timers.functions[-1]())

    def test_a_commit_that_is_not_answered_is_kept_and_repeated(self):
        for kind in CLASSES:
            limiter, part = self.start(kind)
            asked = self.answer("lost", "lost", "-LOADING weir is loading", self.SETTLED)
            self.do(part.give_back())
            self.tick()
            self.tick()
            self.assertEqual(self.timers.functions, [])
            self.assertEqual(len(set(asked)), 1)
            self.assertRegex(asked[3], "^RL.COMMIT k COST 1 HOLD")
            self.assertEqual(limiter.counts().unavailable, {"connection": 1})

    def test_a_repeated_commit_of_a_slice_that_comes_too_late_changes_nothing(self):
        for kind in CLASSES:
            _, part = self.start(kind)
            asked = self.answer("lost", "lost", [0, 0, 0, 0, 0])
            self.do(part.give_back())
            self.tick()
            self.assertEqual((len(asked), self.timers.functions), (3, []))

    def test_a_repeated_commit_of_a_hold_that_comes_too_late_is_followed_by_a_charge(self):
        for kind in CLASSES:
            limiter, part = self.start(kind, "AND", "l", "9/h")
            asked = self.answer("lost", "lost", [0, 0, 0, 0, 0], "lost")
            self.do(part.give_back())
            self.tick()
            self.assertEqual(self.timers.functions, [])
            self.assertEqual(asked[3], "RL.CHARGE k 9/h COST 1 AND l 9/h COST 1")
            self.assertEqual(limiter.counts().unavailable, {"connection": 2})

    # Goal: nothing is charged twice. Method: weir may have forgotten a commit that it has made.
    def test_a_commit_is_not_repeated_after_a_minute(self):
        for kind in CLASSES:
            _, part = self.start(kind)
            asked = self.answer("lost", "lost")
            self.do(part.give_back())
            self.now += 60
            self.tick()
            self.assertEqual((len(asked), self.timers.functions), (2, []))

    def test_a_commit_whose_caller_is_cancelled_is_repeated(self):
        _, part = self.start(weir_client.aio.Limiter)

        async def cancel():
            giving_back = asyncio.ensure_future(part.give_back())
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, self.next_request)
            giving_back.cancel()
            await asyncio.wait((giving_back,))

        self.do(cancel())
        asked = self.answer(self.SETTLED)
        self.tick()
        self.assertRegex(asked[0], "^RL.COMMIT k COST 1 HOLD")

    def test_a_closed_limiter_ends_the_repetition(self):
        for kind in CLASSES:
            limiter, part = self.start(kind)
            self.answer("lost", "lost")
            self.do(part.give_back())
            self.do(limiter.close())
            self.tick()
            self.assertEqual(self.timers.functions, [])


@unittest.skipUnless(hasattr(os, "fork"), "needs fork()")
class ForkTest(FaultTest):
    def assert_child(self, run):
        """Runs it in a child process, which ends in time and well."""
        child = os.fork()
        if child == 0:
            signal.alarm(int(DEADLINE))
            status = 1
            try:
                run()
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    # Goal: a child process can ask, whatever other threads of its parent were doing.
    def test_a_fork_while_a_thread_holds_a_lock(self):
        for kind in CLASSES:
            limiter = self.limiter(kind)
            self.answer(OK, SliceTest.SLICED, OK, SliceTest.SLICED)
            self.assertTrue(self.do(limiter.allow("k", "9/h")))
            part = limiter.slice(3, 60, "k", "9/h")
            self.do(part.spend())

            def ask():
                if kind is weir_client.Limiter:
                    limiter.allow("k", "9/h")
                    part.spend()
                else:
                    asyncio.run(limiter.allow("k", "9/h"))
                    asyncio.run(part.spend())

            locks = [limiter._engine.counters._lock, limiter._engine._denials._lock]
            if kind is weir_client.Limiter:
                locks += [limiter._wire._changed, part._lock]
            with contextlib.ExitStack() as held:
                for lock in locks:
                    held.enter_context(lock)
                self.assert_child(ask)
            self.answer([1, 9, 0, 900, 0])
            self.do(part.give_back())

    # Goal: a child process has no connection of its parent, also none that is in use.
    def test_a_fork_leaves_the_connections_to_the_parent(self):
        for kind in CLASSES:
            limiter = self.limiter(kind)

            def ask_and_fork():
                _, connection = self.next_request()
                self.assert_child(lambda: self.assertEqual(self.sockets_to_server(), []))
                self.server.reply(connection, OK)

            for _ in range(2):
                with ThreadPoolExecutor() as pool:
                    forked = pool.submit(ask_and_fork)
                    self.assertTrue(self.do(limiter.allow("k", "9/h")))
                    forked.result(DEADLINE)

    def sockets_to_server(self):
        """The open sockets of this process that are connected to the server."""
        found = []
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                opened = socket.socket(fileno=os.dup(int(name)))
                with opened:
                    if opened.getpeername()[1:] == (self.server.port,):
                        found.append(opened.getsockname())
        return found

    def test_a_closed_limiter_is_closed_in_a_child(self):
        limiter = weir_client.Limiter(f"redis://127.0.0.1:{self.server.port}")
        limiter.close()

        def ask():
            with self.assertRaises(weir_client.Mistake):
                limiter.allow("k", "9/h")

        self.assert_child(ask)


class AsyncioTest(FaultTest):
    kind = weir_client.aio.Limiter

    async def asked(self, count):
        """Waits until so many requests have come; their connections."""
        loop = asyncio.get_running_loop()
        return [(await loop.run_in_executor(None, self.next_request))[1] for _ in range(count)]

    # Goal: calls that give up leave nothing behind. Method: none of them gets a connection.
    def test_calls_without_a_connection_leave_no_futures(self):
        self.server.login = "silent"
        limiter = self.limiter(self.kind, "a:b@", deadline=0.001, on_unavailable=lambda cause: None)

        async def futures_after(calls):
            for _ in range(calls):
                await limiter.allow("k", "1/s")
            gc.collect()
            return sum(isinstance(each, asyncio.Future) for each in gc.get_objects())

        before = self.do(futures_after(100))  # all links are being opened from then on
        self.assertLess(self.do(futures_after(300)), before + 100)

    # Goal: a call that waits for room is woken when a connection is refused.
    def test_all_calls_end_when_connections_are_refused(self):
        with unheard_port() as port:
            limiter = self.kind(f"redis://127.0.0.1:{port}", deadline=DEADLINE)
            self.addCleanup(lambda: self.do(limiter.close()))

            async def ask():
                calls = (limiter.allow("k", "1/s") for _ in range(3 * LINKS_MAX))
                return {decision.cause for decision in await asyncio.gather(*calls)}

            self.assertEqual(self.do(ask()), {"connection"})

    def test_calls_that_wait_go_on_when_connections_are_lost(self):
        limiter = self.limiter(self.kind)

        async def ask():
            tasks = [asyncio.ensure_future(limiter.allow("k", "1/s")) for _ in range(LINKS_MAX + 5)]
            for connection in await self.asked(LINKS_MAX):
                self.server.reply(connection, "lost")
            for connection in await self.asked(5):
                self.server.reply(connection, OK)
            return sorted(decision.reason for decision in await asyncio.gather(*tasks))

        self.assertEqual(self.do(ask()), ["allowed"] * 5 + ["unavailable"] * LINKS_MAX)

    # Goal: a closed Limiter is an outage to the calls that it ends, and cancels no caller.
    def test_calls_that_are_ended_by_close(self):
        limiter = self.limiter(self.kind, fail="closed")

        async def close():
            calls = [limiter.allow("k", "1/s") for _ in range(LINKS_MAX + 1)]
            calls.append(limiter.wait(5, "k", "1/s"))
            calls.append(limiter.reserve(60, "k", "9/s").open())
            tasks = [asyncio.ensure_future(call) for call in calls]
            await self.asked(LINKS_MAX + 1)
            await limiter.close()
            *decisions, limited = await asyncio.gather(*tasks, return_exceptions=True)
            return {decision.cause for decision in decisions}, limited

        causes, limited = self.do(close())
        self.assertEqual(causes, {"connection"})
        self.assertIsInstance(limited, weir_client.Limited)
        self.assertEqual(limited.decision.cause, "connection")


if __name__ == "__main__":
    unittest.main()
