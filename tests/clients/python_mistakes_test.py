"""Passes wrong values to weir_client, and its objects through pickle."""

import asyncio
import copy
import inspect
import math
import pickle
import ssl
import unittest

import weir_client
import weir_client.aio
from weir_client import Decision, LimitRow, Limited, Mistake, Unavailable
from weir_client.core.rules import Rules
from weir_e2e import DEADLINE, NEVER, ServerTest

CLASSES = (weir_client.Limiter, weir_client.aio.Limiter)
NO_WHOLE_NUMBERS = ((1.0, TypeError), (True, TypeError), ("1", TypeError), (-1, Mistake))
NO_SECONDS = (
    (True, TypeError), ("1", TypeError), (None, TypeError),
    (-1, Mistake), (math.nan, Mistake), (math.inf, Mistake), (-0.001, Mistake),
)


class ValueTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.runner = asyncio.Runner()
        self.addCleanup(self.runner.close)

    def do(self, result):
        return self.runner.run(result) if inspect.iscoroutine(result) else result

    def limiters(self):
        server = self.start()
        for kind in CLASSES:
            with self.subTest(kind):
                limiter = kind(f"redis://127.0.0.1:{server.port}", deadline=DEADLINE)
                yield limiter
                self.do(limiter.close())

    def assert_refused(self, values, call):
        for value, error in values:
            with self.subTest(value=value), self.assertRaises(error):
                self.do(call(value))

    # Goal: a wrong number leaves the hold as it is. Method: the end of its scope cancels it.
    def test_a_settlement_with_a_wrong_value(self):
        limit = f"10/{NEVER},fixed"
        for limiter in self.limiters():
            for name in ("settle", "settle_or_charge"):
                words = name, f"{limit},cost={{}}"
                for value, error in NO_WHOLE_NUMBERS:
                    held = self.do(limiter.reserve(60, *words, estimate=4).open())
                    with self.subTest(value=value), self.assertRaises(error):
                        self.do(getattr(held, name)(value))
                    self.assertTrue(held.is_open)
                    self.do(held.cancel())
                self.assertEqual(self.do(limiter.peek(name, limit, "COST", 0)).remaining, 10)
                self.do(limiter.command("RL.RESET", name))

    def test_whole_numbers(self):
        for limiter in self.limiters():
            values = (*NO_WHOLE_NUMBERS, (0, Mistake))
            self.assert_refused(values, lambda size: limiter.slice(size, 1, "k", "9/s"))
            self.assert_refused(
                NO_WHOLE_NUMBERS,
                lambda cost: limiter.reserve(60, "k", "9/s,cost={}", estimate=cost),
            )
        self.assert_refused(NO_WHOLE_NUMBERS, lambda hops: Rules(["1/s"], trusted_hops=hops))
        for kind in CLASSES:
            self.assert_refused(NO_WHOLE_NUMBERS, lambda port, kind=kind: kind(host="h", port=port))

    def test_seconds(self):
        positive = (*NO_SECONDS, (0, Mistake))
        for limiter in self.limiters():
            self.assert_refused(NO_SECONDS, lambda timeout: limiter.wait(timeout, "k", "9/s"))
            self.assert_refused(positive, lambda ttl: limiter.reserve(ttl, "k", "9/s"))
            self.assert_refused(positive, lambda ttl: limiter.lease(ttl, "k", "1,held"))
            self.assert_refused(positive, lambda time: limiter.slice(5, time, "k", "9/s"))
            self.assertTrue(self.do(limiter.wait(0, "k", "9/s")))
        without = [row for row in positive if row[0] is not None]
        self.assert_refused(without, lambda deadline: weir_client.Limiter(deadline=deadline))


class OptionTest(unittest.TestCase):
    def test_texts(self):
        for options in ({"username": 7}, {"password": b"s3cret"}, {"sentinels": "h1:1"}):
            if "sentinels" in options:
                options["master"] = "main"
            with self.subTest(options), self.assertRaises(TypeError) as refused:
                weir_client.Limiter(**options)
            self.assertNotIn("s3cret", str(refused.exception))

    def test_a_url_of_tls_and_an_object_of_tls(self):
        context = ssl.create_default_context()
        for kind in CLASSES:
            for url in ("rediss://h", "redis://h", "rediss+sentinel://h/main"):
                limiter = kind(url, tls=context)
                self.assertIs(limiter._settings.tls, context)
                self.assertIn("rediss", repr(limiter))
            self.assertIn("rediss", repr(kind("rediss://h", tls=True)))
            with self.assertRaisesRegex(Mistake, "authorities"):
                kind("rediss://h?ca=/x", tls=context)


class PickleTest(unittest.TestCase):
    def test_objects_and_exceptions(self):
        row = LimitRow("10/s", False, 10, 0, 0.5, 1.0, 0, 1, 0, False)
        decision = Decision(False, 0, 0.5, 1.0, 0, "denied", limits=(row,))
        limited = Limited(b"k", decision)
        unavailable = Unavailable("timeout", "no reply in time")
        for copied in (copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
            self.assertEqual(copied(decision), decision)
            self.assertEqual(copied(Mistake("ERR no")).args, ("ERR no",))
            other = copied(limited)
            self.assertEqual((other.key, other.retry_after, other.decision), (b"k", 0.5, decision))
            self.assertEqual(str(other), str(limited))
            other = copied(unavailable)
            self.assertEqual((other.cause, str(other)), ("timeout", str(unavailable)))


if __name__ == "__main__":
    unittest.main()
