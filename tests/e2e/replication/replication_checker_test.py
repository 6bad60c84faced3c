"""The judge of histories, replication_checker.py, against its definition and planted losses."""

import random
import unittest
from fractions import Fraction

from replication_checker import History, Limit, Request, excess
from weir_e2e import scaled

SECOND = 1_000_000_000
WEEK = 604_800 * SECOND
TOKENS = 20
DRAINED = Limit(TOKENS, TOKENS, 9 * WEEK)


def naive_excess(limit, requests):
    """The definition, over all pairs."""
    most = Fraction(0)
    for first in requests:
        for last in requests:
            within = [
                r.tokens
                for r in requests
                if r.invoked >= first.invoked and r.completed <= last.completed
            ]
            if last.completed < first.invoked or not within:
                continue
            allowed = limit.burst + Fraction(
                (last.completed - first.invoked) * limit.count, limit.period
            )
            most = max(most, sum(within) - allowed)
    return most


class CheckerTest(unittest.TestCase):
    def test_nothing_and_denials_are_no_excess(self):
        limit = Limit(1, 1, SECOND)
        self.assertEqual(excess(limit, []), 0)
        self.assertEqual(excess(limit, [Request(0, 1, 0)] * 9), 0)

    def test_a_burst_and_its_refill_are_allowed(self):
        limit = Limit(10, 10, SECOND)
        requests = [Request(i * SECOND // 10, i * SECOND // 10, 1) for i in range(100)]
        self.assertEqual(excess(limit, [Request(0, 0, 9), *requests]), 0)

    def test_one_token_too_many_is_found_wherever_it_is(self):
        limit = Limit(10, 10, SECOND)
        requests = [Request(0, 0, 10)]
        requests += [Request(i * SECOND // 10, i * SECOND // 10, 1) for i in range(1, 100)]
        self.assertEqual(excess(limit, requests), 0)
        for i in range(0, 100, 7):
            planted = Request(i * SECOND // 10, i * SECOND // 10, 1)
            self.assertEqual(excess(limit, [*requests, planted]), 1, i)

    # The answer of a slow request may have been decided at any time in it.
    def test_a_slow_request_may_be_of_another_time(self):
        limit = Limit(1, 1, SECOND)
        self.assertEqual(excess(limit, [Request(0, 0, 1), Request(0, SECOND, 1)]), 0)
        self.assertEqual(
            excess(limit, [Request(0, 0, 1), Request(0, SECOND - 1, 1)]), Fraction(1, SECOND)
        )

    # Goal: the one pass finds what the definition says. Method: small random histories, in which a
    # limiter that forgets at random has admitted.
    def test_it_is_the_definition(self):
        for seed in range(scaled(300)):
            chance = random.Random(seed)
            limit = Limit(chance.randint(1, 5), chance.randint(1, 3), chance.randint(1, 30))
            requests = []
            for _ in range(chance.randint(0, 14)):
                invoked = chance.randint(0, 60)
                completed = invoked + chance.randint(0, 20)
                requests.append(Request(invoked, completed, chance.randint(0, 3)))
            self.assertEqual(excess(limit, requests), naive_excess(limit, requests), f"seed {seed}")

    # Goal: it finds a server that forgets, and exactly what it forgets. Method: a model of a bucket
    # that loses the last tokens at one moment.
    def test_a_planted_loss_is_counted(self):
        for seed in range(scaled(30)):
            chance = random.Random(seed)
            lost = chance.randint(1, TOKENS)
            used, now, requests = 0, 0, []
            for i in range(3 * TOKENS):
                if i == TOKENS + 5:
                    used -= lost
                now += chance.randint(1, SECOND)
                requests.append(Request(now, now + 1, 1 if used < TOKENS else 0))
                used += requests[-1].tokens
            found = excess(DRAINED, requests)
            self.assertLessEqual(found, lost)
            self.assertGreater(found, lost - Fraction(1, 1000), f"seed {seed}")

    def test_keys_are_judged_one_by_one(self):
        history = History()
        for client in range(2):
            own = history.client()
            own.append(("shared", Request(client, client, TOKENS)))
            own.append((f"own{client}", Request(client, client, TOKENS)))
        found = history.excesses(DRAINED)
        self.assertEqual(set(found), {"shared"})
        self.assertGreater(found["shared"], TOKENS - 1)
        self.assertEqual(history.admitted(since=1), {"shared": TOKENS, "own0": 0, "own1": TOKENS})

    def test_servers_are_judged_one_by_one(self):
        history = History()
        own = history.client()
        for server in (1, 2):
            own.append(("key", Request(server, server, TOKENS, server)))
            self.assertEqual(history.excesses(DRAINED, server), {})
            self.assertEqual(history.admitted(server), {"key": TOKENS})
        self.assertGreater(history.excesses(DRAINED)["key"], TOKENS - 1)
        self.assertEqual(history.admitted(3)["key"], 0)


if __name__ == "__main__":
    unittest.main()
