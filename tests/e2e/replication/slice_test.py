"""Slices that are out while their primary is lost and its replica is killed.

Law E4: of a slice, what was spent and what was given back are at most what was granted. A client
holds slices of one key, in which nothing refills. Of each it says what it spent at one of four
moments, or never: at the primary; at its replica, which was promoted after the primary was killed;
at that server after a kill and a restart; or by then for the second time, with a lie. At the end
the key has used

    the tokens that were said to be spent, of each slice that was settled in its life,
    and all tokens of each other slice,

not a token more or less: a settlement counts once, and a slice that lapses changes no bucket. With
`--durability always` and `ack-replicas` no moment may forget what was answered.
"""

import os
import random
import signal
import sys
import time
import unittest

from replication_servers import ReplicationTest, await_true, fields
from weir_e2e import NEVER, scaled

TOKENS = 1_000_000
LIMIT = f"{TOKENS}/{NEVER},fixed"  # no token comes back but by a settlement
MOMENTS = ("primary", "promoted", "restarted", "never")
SLICES = max(scaled(200), 2 * len(MOMENTS))
LONG, SHORT = 60_000, 300  # the longest life, in ms; and one that ends within the test


class SliceTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_CRASH_SEED", random.randrange(1 << 32)))
        print(f"WEIR_CRASH_SEED={self.seed}", file=sys.stderr, flush=True)
        self.random = random.Random(self.seed)
        self.told = 0  # the last `changes`

    def take(self, client, slices, moment):
        """Takes a slice of any size that is settled at a moment."""
        name, units = f"s{len(slices)}", self.random.randint(1, 20)
        slices.append((name, moment, units, self.random.randint(0, units)))
        ttl = SHORT if moment == "never" else LONG
        wish = ("NEED", units, "UNIT", units, "UPTO", units)
        granted, *_, life_us, changes, _ = client.call(
            "RL.SLICE", "k", LIMIT, *wish, "HOLD", name, "TTL", ttl
        )
        self.assertEqual((granted, life_us), (units, ttl * 1000))
        self.assertGreaterEqual(changes, self.told, "an operator's change is forgotten")
        self.told = changes

    def skip_if_late(self):
        """On a machine that is so slow the slices may have lapsed before what was answered."""
        if time.monotonic() - self.begun >= LONG / 1000:
            self.skipTest("the machine is too slow: slices have lapsed")

    def settle(self, client, name, used, settled):
        reply = client.call("RL.COMMIT", "k", "COST", used, "HOLD", name)
        self.skip_if_late()
        self.assertEqual(reply[0], settled, name)

    def holds(self, client):
        holds = client.call("RL.INSPECT", "k", "HOLDS")
        self.skip_if_late()
        return len(holds)

    def used(self, client):
        return TOKENS - self.remaining(client, "k", LIMIT)

    def test_each_slice_is_settled_once_or_lapses(self):
        def options(name):
            data = os.path.join(self.directory, name)
            return ("--data-dir", data, "--durability", "always", "--slice-life", "60s")

        acks = ("--ack-replicas", "1", "--ack-timeout", "20s")
        primary = self.start_mortal(*options("primary"), *acks)
        replica = self.start_replica(primary, *options("replica"), mortal=True)
        client = self.connect(primary)
        await_true(lambda: client.call("RL.ALLOW", "first", "1/s")[0] == 1, lambda: fields(client))
        self.begun = time.monotonic()
        slices = []  # (name, when it is settled, units, spent)
        for i in range(SLICES):
            self.take(client, slices, MOMENTS[i % len(MOMENTS)])

        def settle_at(client, moment):
            due = [(name, spent) for name, when, _, spent in slices if when == moment]
            self.random.shuffle(due)
            for name, spent in due:
                self.settle(client, name, spent, 1)

        settle_at(client, "primary")
        client.call("RL.RESET", "other")
        self.take(client, slices, "never")
        os.kill(primary.pid, signal.SIGKILL)
        primary.wait()
        client = self.connect(replica)
        self.promote(client)
        self.take(client, slices, "restarted")
        settle_at(client, "promoted")
        os.kill(replica.pid, signal.SIGKILL)
        replica.wait()
        replica = self.start_mortal(*options("replica"))
        replica.wait_for_log(r"loaded \d+ buckets")
        client = self.connect(replica)
        for name, moment, _, _ in slices:
            if moment in ("primary", "promoted"):
                self.settle(client, name, 0, 1)  # It answers again and changes nothing.
        settle_at(client, "restarted")
        settled = sum(moment != "never" for _, moment, *_ in slices)
        self.await_equal(lambda: self.holds(client), settled)
        for name, moment, units, _ in slices:
            if moment == "never":
                self.settle(client, name, 0, 0)
        expected = sum(
            units if moment == "never" else spent for _, moment, units, spent in slices
        )
        self.assertEqual(self.used(client), expected)
        self.take(client, slices, "never")
        self.assertEqual(self.info(client)["bad_records"], 0)
        self.assertEqual(replica.stop(), 0)


if __name__ == "__main__":
    unittest.main()
