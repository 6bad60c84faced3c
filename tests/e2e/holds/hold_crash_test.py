"""Holds of a server that is killed between reservations and their settlements, and started again.

Four clients reserve tokens of a few keys and commit them, cancel them or leave them, without pause;
the server is killed at a random moment and started again on the same directory. Nothing refills, so
once all holds have ended, a key has used the true costs that were committed:

    used  >=  the true costs that are surely on disk    else a settlement was lost
    used  <=  the true costs that were told             else an estimate was kept, or charged twice

and every slot is free again. The settlements that are surely on disk depend on the mode: with
`always`, those that were answered; with `snapshot`, those answered before the last save that is
known to be complete began.

Environment, besides weir_e2e's: WEIR_CRASH_CYCLES, cycles of each mode; WEIR_CRASH_SEED.
"""

import os
import random
import time
import unittest

from crash_test import Countdown, RestartedServerTest, Talker, Watch
from weir_e2e import NEVER, Client, scaled

CLIENTS = 4
KEYS = [f"key:{i}" for i in range(4)]
TOKENS = 1_000_000_000
LIMIT = f"{TOKENS}/{NEVER},fixed"  # no token comes back but by a settlement
SLOTS = 1000
HELD = f"{SLOTS},held"
ESTIMATE = 10
TTL_MS = 300
ANSWERS = 600  # of a life, at most; then it ends
CYCLES = int(os.environ.get("WEIR_CRASH_CYCLES", scaled(6)))


class Load(Talker):
    """The settlements of one client, each with its key, its true cost and when it was answered."""

    def __init__(self, port, seed, answered):
        self.told = []  # (key, true cost)
        self.settled = []  # (time, key, true cost)
        self._answered = answered
        self._random = random.Random(seed)
        super().__init__(port)

    def talk(self, client):
        key = self._random.choice(KEYS)
        name = f"{self._random.getrandbits(64):x}"
        hold = ("HOLD", name)
        words = (key, f"{LIMIT},cost={ESTIMATE}", HELD, *hold, "TTL", TTL_MS)
        if client.call("RL.RESERVE", *words)[0] != 1:
            raise AssertionError("denied")
        how = self._random.randint(0, 3)  # 0: it expires
        if how == 1:
            client.call("RL.CANCEL", key, *hold)
        elif how > 1:
            cost = self._random.randint(0, 2 * ESTIMATE)
            self.told.append((key, cost))
            if client.call("RL.COMMIT", key, f"{LIMIT},cost={cost}", *hold)[0] == 1:
                self.settled.append((time.monotonic(), key, cost))
            else:  # The client was too slow.
                self.told.pop()
        self._answered.step(1)


class HoldCrashTest(RestartedServerTest):
    def used_at_last(self, client, key):
        """The tokens that are used once all holds of the key have ended."""
        self.await_equal(lambda: client.call("RL.PEEK", key, HELD, "COST", 0)[1], SLOTS)
        return TOKENS - client.call("RL.PEEK", key, LIMIT, "COST", 0)[1]

    def live(self, server, is_over=lambda loads, saved_until: True):
        """Load until a random number of answers and `is_over`: (loads, when all was saved)."""
        watch = Watch(self, server.port)
        answered = Countdown(self.random.randint(1, ANSWERS))
        loads = [Load(server.port, self.random.random(), answered) for _ in range(CLIENTS)]
        answered.wait()
        self.await_equal(lambda: is_over(loads, watch.saved_until), True)
        server.kill()
        for thread in (watch, *loads):
            thread.join()
        return loads, watch.saved_until

    def cycles(self, options, is_saved):
        """is_saved(time of an answer, when all was saved): whether that answer cannot be lost."""

        def has_saved(loads, saved_until):
            return any(is_saved(at, saved_until) for load in loads for at, *_ in load.settled)

        server = self.start_loaded(*options)
        used_before = dict.fromkeys(KEYS, 0)
        for cycle in range(CYCLES):
            # In the first life, at least one settlement reaches the disk; the others end at random.
            loads, saved_until = self.live(server, *(() if cycle else (has_saved,)))
            server = self.start_loaded(*options)
            with Client(server.port) as client:
                for key in KEYS:
                    told = sum(cost for load in loads for k, cost in load.told if k == key)
                    saved = [
                        cost
                        for load in loads
                        for at, k, cost in load.settled
                        if k == key and is_saved(at, saved_until)
                    ]
                    where = f"{key}, cycle {cycle}, WEIR_CRASH_SEED={self.seed}"
                    used = self.used_at_last(client, key) - used_before[key]
                    self.assertGreaterEqual(used, sum(saved), where)
                    self.assertLessEqual(used, told, where)
                    used_before[key] += used
                self.assertEqual(self.info(client)["bad_records"], 0)
        self.assertEqual(server.stop(), 0)

    def test_snapshot_loses_no_token_for_longer_than_its_hold_lasts(self):
        self.cycles(
            ("--snapshot-interval", "50ms"), is_saved=lambda at, saved_until: at < saved_until
        )

    def test_always_forgets_no_settlement_that_was_answered(self):
        self.cycles(("--durability", "always"), is_saved=lambda at, saved_until: True)

    def test_a_settlement_may_be_repeated_after_a_crash(self):
        options = ("--durability", "always")
        server = self.start_loaded(*options)
        hold = ("HOLD", "id")
        with Client(server.port) as client:
            words = ("k", f"{LIMIT},cost=40", HELD, *hold, "TTL", 60_000)
            self.assertEqual(client.call("RL.RESERVE", *words)[0], 1)
        server.kill()
        server = self.start_loaded(*options)
        with Client(server.port) as client:
            self.assertEqual(client.call("RL.RESERVE", *words)[0], 1)  # It is the same request.
            self.assertEqual(client.call("RL.PEEK", "k", HELD, "COST", 0)[1], SLOTS - 1)
            self.assertEqual(client.call("RL.COMMIT", "k", f"{LIMIT},cost=7", *hold)[0], 1)
        server.kill()
        server = self.start_loaded(*options)
        with Client(server.port) as client:
            self.assertEqual(client.call("RL.COMMIT", "k", f"{LIMIT},cost=7", *hold)[0], 1)
            self.assertEqual(self.used_at_last(client, "k"), 7)
            self.assertIn("hold 'id' is settled", client.call("RL.RESERVE", *words))

    def test_slices_of_a_killed_server_lapse(self):
        """E4: what may have been spent does not come back, and what is given back does so once."""
        options = ("--durability", "always", "--slice-life", "60s")

        def slice_of(client, name, need, ttl):
            wish = ("NEED", need, "UNIT", need, "UPTO", need)
            granted = client.call("RL.SLICE", "k", LIMIT, *wish, "HOLD", name, "TTL", ttl)[0]
            self.assertEqual(granted, need)

        server = self.start_loaded(*options)
        with Client(server.port) as client:
            slice_of(client, "long", 10, 60_000)
            slice_of(client, "short", 5, 300)
        server.kill()
        server = self.start_loaded(*options)
        with Client(server.port) as client:
            self.assertEqual(client.call("RL.COMMIT", "k", "COST", 3, "HOLD", "long")[0], 1)
            self.await_equal(lambda: len(client.call("RL.INSPECT", "k", "HOLDS")), 1)
            self.assertEqual(self.used_at_last(client, "k"), 8)
        server.kill()
        server = self.start_loaded(*options)
        with Client(server.port) as client:
            self.assertEqual(client.call("RL.COMMIT", "k", "COST", 0, "HOLD", "long")[0], 1)
            self.assertEqual(client.call("RL.COMMIT", "k", "COST", 0, "HOLD", "short")[0], 0)
            self.assertEqual(self.used_at_last(client, "k"), 8)


if __name__ == "__main__":
    unittest.main()
