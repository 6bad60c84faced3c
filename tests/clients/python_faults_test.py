"""Drives both Limiters of weir_client against a server of the test's own, where connections fail,
callers give up and Limiters are closed at the worst moment.
"""

import asyncio
import contextlib
import gc
import inspect
import queue
import socket
import threading
import unittest

import weir_client
import weir_client.aio
from scripted_server import ScriptedServer
from weir_e2e import DEADLINE

OK = [1, 9, 0, 900, 0]
LINKS_MAX = 16
CLASSES = (weir_client.Limiter, weir_client.aio.Limiter)


@contextlib.contextmanager
def unheard_port():
    """A port at which nothing listens."""
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        yield unheard.getsockname()[1]


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
