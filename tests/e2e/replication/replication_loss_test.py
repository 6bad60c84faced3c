"""The admissions that a failover forgets, counted token by token from the history of the clients.

Goal: law R4: what a key gets beyond its limit is at most what was admitted in the lag of the
replica that took over. Method: clients take tokens of keys that never refill; the primary is
killed, the replica promoted, and the clients go on there until each key is drained.
replication_checker.py judges the history. Each turn begins with a new replica of the server that
was promoted.

The lag is measured by marks: one client changes a key on the primary, and waits until the replica
shows it, again and again. Changes are taken in batches, and a batch need not be a cut: a change may
be in the batch after that of a mark which was made later. So when the replica shows a mark, it
surely has what was answered before the second mark before it was asked for.

Environment, besides weir_e2e's: WEIR_LOSS_SEED.
"""

import contextlib
import os
import random
import sys
import threading
import time
import unittest
from fractions import Fraction

from replication_checker import History, Limit, Request, excess
from replication_servers import ReplicationTest, ask_all, await_true, fields, role_of
from restless_client import RestlessClient
from weir_e2e import Client, encode, scaled

SECOND = 1_000_000_000
WEEK = 604_800 * SECOND
TOKENS = 20
DRAINED = Limit(TOKENS, TOKENS, 9 * WEEK)
DRAINED_WORDS = f"{TOKENS}/9w"
KEYS = 4000  # more tokens than are asked for before the kill
CLIENTS = 3
RATE = Limit(100, 100, SECOND)


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
        self.assertEqual(history.admitted_since(1, 1)["shared"], TOKENS)


class World:
    """The server that decides, as clients believe; and whether they go on."""

    def __init__(self, port):
        self.port = port
        self.ended = threading.Event()


class Taker(RestlessClient):
    """A client that takes single tokens of random keys and writes its history."""

    def __init__(self, world, own_history, keys, seed):
        self._history = own_history
        self._keys = keys
        self._random = random.Random(seed)
        super().__init__(world)

    def ask(self, client):
        keys = self._random.choices(self._keys, k=self._random.randint(1, 16))
        invoked = time.monotonic_ns()
        client.send(b"".join(encode("RL.ALLOW", key, DRAINED_WORDS) for key in keys))
        for key in keys:
            reply = client.reply()
            if isinstance(reply, list):  # else READONLY: the next one may be promoted by then
                self._history.append((key, Request(invoked, time.monotonic_ns(), reply[0])))


class Marker:
    """Makes marks on the primary and waits for each on the replica, until the primary ends."""

    def __init__(self, primary, replica):
        self.asked = []  # the times of the marks that the replica has shown
        self.bound_ms = 0  # the last that the primary said of the replica
        self._primary, self._replica = primary, replica
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self):
        self._thread.join()

    def _run(self):
        with contextlib.suppress(EOFError, OSError):
            with Client(self._primary) as primary, Client(self._replica) as replica:
                turn = time.monotonic_ns()
                while True:
                    words = (f"mark:{turn}:{len(self.asked)}", "1/9w")
                    asked = time.monotonic_ns()
                    if primary.call("RL.ALLOW", *words)[0] != 1:
                        raise AssertionError("a mark was made before")
                    while replica.call("RL.PEEK", *words)[0] == 1:
                        self.bound_ms = int(fields(primary)["failover_loss_bound_ms"])
                    self.asked.append(asked)

    def surely_there(self):
        """The replica has what was answered before this time."""
        return self.asked[-3] if len(self.asked) >= 3 else 0


class FailoverTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_LOSS_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        print(f"WEIR_LOSS_SEED={self.seed} {self.id()}", file=sys.stderr, flush=True)

    def fail_over(self, primary, replica, keys):
        """Kills the primary under load and promotes the replica.

        Returns the history, the marks, and a time between the end and the promotion.
        """
        history, world = History(), World(primary.port)
        takers = [
            Taker(world, history.client(), keys, self.random.randrange(1 << 32))
            for _ in range(CLIENTS)
        ]
        marker = Marker(primary.port, replica.port)
        try:
            await_true(lambda: len(marker.asked) > 20, "twenty marks on the replica")
            world.ended.wait(self.random.random() * 0.1)
            primary.kill()
            marker.join()
            killed = time.monotonic_ns()
            world.port = replica.port
            self.promote(self.connect(replica))
            self.drain(replica.port, keys, history.client())
        finally:
            world.ended.set()
            for taker in takers:
                taker.join()
        return history, marker, killed

    def drain(self, port, keys, own_history):
        """Takes what is left of each key: with it the tokens that were forgotten."""
        with Client(port) as client:
            invoked = time.monotonic_ns()
            takes = [("RL.TAKE", key, DRAINED_WORDS, "UPTO", TOKENS) for key in keys]
            for key, reply in zip(keys, ask_all(client, takes)):
                own_history.append((key, Request(invoked, time.monotonic_ns(), reply[0])))

    def test_a_killed_primary_forgets_at_most_the_lag(self):
        primary = self.launch("--port", "0", "--threads", "2")
        for turn in range(scaled(4)):
            replica = self.launch("--port", "0", "--replicaof", f"127.0.0.1 {primary.port}")
            with Client(replica.port) as client:
                await_true(lambda one=client: fields(one)["complete"] == "1", replica.log)
            keys = [f"key:{turn}:{i}" for i in range(KEYS)]
            history, marker, killed = self.fail_over(primary, replica, keys)
            found = history.excesses(DRAINED)
            lag = history.admitted_since(marker.surely_there(), killed)
            where = f"WEIR_LOSS_SEED={self.seed} turn {turn}"
            for key, tokens in found.items():
                self.assertLessEqual(tokens, min(TOKENS, lag[key]), f"{where} {key}")
            forgotten = float(sum(found.values()))
            print(
                f"{where}: {forgotten:.0f} tokens forgotten of {sum(lag.values())} in a lag of"
                f" {(killed - marker.surely_there()) / 1e6:.1f} ms; the primary's last bound:"
                f" {marker.bound_ms} ms",
                file=sys.stderr,
                flush=True,
            )
            primary = replica

    # Goal: a failover locks no client out. Method: a greedy client of the promoted replica.
    def test_after_a_calm_a_greedy_client_gets_its_rate(self):
        primary = self.launch("--port", "0")
        replica = self.start_replica(primary)
        words = ("RL.ALLOW", "greedy", f"{RATE.count}/s")
        with Client(primary.port) as client:
            while client.call(*words)[0] == 1:
                pass
        primary.kill()
        client = self.connect(replica)
        self.promote(client)
        self.assertEqual(role_of(client), b"master")
        history = History()
        own = history.client()
        begin = time.monotonic_ns()
        while (now := time.monotonic_ns()) < begin + 8 * SECOND:
            tokens = client.call(*words)[0]
            own.append(("greedy", Request(now, time.monotonic_ns(), tokens)))
        self.assertEqual(history.excesses(RATE), {})
        got = sum(r.tokens for _, r in own if r.invoked >= begin + 5 * SECOND)
        self.assertGreaterEqual(got, 0.99 * 3 * RATE.count)


if __name__ == "__main__":
    unittest.main()
