"""Failovers under load, one after the other, with what each one forgets counted.

A primary and a replica; clients take tokens and reserve some without pause. Then the primary is
killed, cut off from its replica and killed, stopped cleanly, or frozen for a while, and the replica
is promoted by REPLICAOF NO ONE; or FAILOVER switches the roles. The clients go on there. The old
primary comes back as a replica of the new one, empty or with what is on its disk, and the next
cycle begins with the roles swapped and the tables as they are. In each cycle:

- law R4: keys that never refill have used at least what was answered, but for the tokens that the
  old primary admitted and the replica lacked; and at most what was asked for. A key with a rate
  gets no more than its burst and its rate in any span of time, but for those tokens. Each server
  alone keeps to the rate.
- a reservation or settlement that was answered before the lag is known to the promoted server, and
  all slots are free once all holds are settled;
- law R1: once all is quiet both tables are equal;
- no lock-out: then a greedy client gets its rate.

A clean stop and FAILOVER forget nothing. A frozen primary goes on to admit when it is back, until
it is told to follow: all that counts as forgotten, too. replication_checker.py judges the
histories, and failover_load.py has the lag.

Environment, besides weir_e2e's: WEIR_CRASH_CYCLES, the number of failovers; WEIR_CRASH_SEED.
"""

import collections
import os
import random
import shutil
import sys
import time
import unittest
from typing import NamedTuple

from cutting_proxy import CuttingProxy
from failover_load import (
    HELD,
    LASTING,
    LASTING_KEYS,
    RATE,
    RATED,
    RATED_KEYS,
    SECOND,
    SLOTS,
    TOKENS,
    FailoverLoad,
)
from replication_checker import Request
from replication_servers import (
    ReplicationTest,
    await_in_sync,
    await_true,
    fields,
    is_exact,
    role_of,
)
from weir_e2e import Client, scaled

CYCLES = int(os.environ.get("WEIR_CRASH_CYCLES", scaled(10)))
MARKS = 10
HOLD_KEYS = 8
CALM_NS = 2 * SECOND // 5


class Loss(NamedTuple):
    """The tokens that a failover has forgotten, and the time in which they were admitted."""

    tokens: int
    lag_ms: float


class Member:
    """One of the two servers, with its directory, if any, and a connection to it."""

    def __init__(self, server, data):
        self.server, self.data = server, data
        self.client = Client(server.port)

    @property
    def port(self):
        return self.server.port


class FailoverCrashTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_CRASH_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        self.losses = collections.defaultdict(list)  # event -> Loss of each cycle
        print(f"WEIR_CRASH_SEED={self.seed}", file=sys.stderr, flush=True)
        self.proxy = CuttingProxy(0, self.seed)
        self.proxy.calm()
        self.addCleanup(self.proxy.close)

    # --- The servers ---

    def launch_member(self, data, *options):
        if data:
            options = (*options, "--data-dir", data, "--snapshot-interval", "20ms")
        server = self.launch("--port", "0", "--threads", "2", *options)
        member = Member(server, data)
        self.addCleanup(member.client.close)
        return member

    def choose_data(self, data=None):
        """A directory for a server that starts: mostly the one that it had, a new one, or none."""
        if data and self.random.random() < 0.7:
            return data
        if data:
            shutil.rmtree(data)
        if self.random.random() < 0.5:
            return os.path.join(self.directory, f"{self.random.getrandbits(64):x}")
        return None

    def await_replica(self, replica, primary):
        """Waits until a server follows another, which it is told if its disk says otherwise."""
        role = replica.client.call("ROLE")
        if role[0] != b"slave" or role[2] != primary.port:
            self.follow(replica.client, primary)
        await_true(
            lambda: is_exact(replica.client),
            lambda: (self.seed, fields(replica.client), replica.server.log()[-2000:]),
        )

    def launch_replica(self, primary, data):
        replica = self.launch_member(data, "--replicaof", f"127.0.0.1 {primary.port}")
        self.await_replica(replica, primary)
        return replica

    def restarted(self, old, primary):
        old.client.close()
        return self.launch_replica(primary, self.choose_data(old.data))

    # --- The events: each ends in a new primary, and an old one that admits no more ---

    def promote_for(self, load, replica):
        self.promote(replica.client)
        load.move()
        load.await_admitted(replica.port)

    def killed(self, load, primary, replica):
        primary.server.kill()
        self.promote_for(load, replica)

    def cut_and_killed(self, load, primary, replica):
        self.proxy.cut()
        # It connects again after 100 ms.
        load.go_on(self.random.random() * 0.2)
        self.killed(load, primary, replica)

    def stopped(self, load, primary, replica):
        load.lose_nothing()
        self.assertEqual(primary.server.stop(), 0, primary.server.log())
        self.promote_for(load, replica)

    def switched(self, load, primary, replica):
        load.lose_nothing()
        self.assertEqual(primary.client.call("FAILOVER"), "OK")
        await_true(lambda: role_of(replica.client) == b"master", primary.server.log)
        load.move()
        load.await_admitted(replica.port)

    def frozen(self, load, primary, replica):
        primary.server.pause()
        try:
            self.promote_for(load, replica)
            load.go_on(self.random.random() * 0.2)
        finally:
            primary.server.resume()
        load.await_admitted(primary.port)
        load.go_on(self.random.random() * 0.1)
        self.follow(primary.client, replica)

    EVENTS = (killed, cut_and_killed, stopped, switched, frozen)
    LEAVES_A_REPLICA = (switched, frozen)

    # --- What holds after each of them ---

    def used(self, member):
        return {key: TOKENS - self.remaining(member.client, key, LASTING) for key in LASTING_KEYS}

    def judge_lasting(self, load, used_before, used_after):
        """Returns the tokens that were forgotten."""
        admitted, asked = load.lasting.admitted(), load.asked()
        forgettable = load.forgettable(load.lasting)
        forgotten = 0
        for key in LASTING_KEYS:
            used = used_after[key] - used_before[key]
            self.assertLessEqual(used, asked[key], f"{self.where} {key} was charged twice")
            self.assertGreaterEqual(used, admitted[key] - forgettable[key], f"{self.where} {key}")
            forgotten += max(0, admitted[key] - used)
        return forgotten

    def judge_rated(self, load, burst_bounds):
        """`burst_bounds`: the old primary admitted nothing after the promotion."""
        forgettable = load.forgettable(load.rated)
        for key, tokens in load.rated.excesses(RATE).items():
            bound = min(forgettable[key], RATE.burst) if burst_bounds else forgettable[key]
            self.assertLessEqual(tokens, bound, f"{self.where} {key}")
        for server in (load.old, load.new):
            self.assertEqual(load.rated.excesses(RATE, server), {}, self.where)

    def judge_holds(self, load, member):
        """The holds that are surely known are there; then settles all."""
        keys = sorted({hold.key for hold in load.holds})
        seen = {}  # name -> whether it is settled
        for key in keys:
            for name, _, settled, *_ in member.client.call("RL.INSPECT", key, "HOLDS"):
                seen[name.decode()] = settled
        for hold in load.holds:
            where = f"{self.where} {hold} {load.known_until}"
            if load.is_kept(hold.reserved):
                self.assertIn(hold.name, seen, where)
                if not hold.settling:
                    self.assertEqual(seen[hold.name], 0, where)
            if load.is_kept(hold.settled):
                self.assertEqual(seen[hold.name], 1, where)
            member.client.call("RL.CANCEL", hold.key, "HOLD", hold.name)
        for key in keys:
            self.assertEqual(self.remaining(member.client, key, HELD), SLOTS, self.where)

    def judge_calm(self, member, own_history):
        """A greedy client gets 99 % of its rate, but for the last token, which may not be whole."""
        takes = []
        words = ("RL.TAKE", RATED_KEYS[0], RATED, "UPTO", RATE.burst)
        begin = time.monotonic_ns()
        while (invoked := time.monotonic_ns()) < begin + CALM_NS:
            tokens = member.client.call(*words)[0]
            takes.append(Request(invoked, time.monotonic_ns(), tokens, member.port))
        own_history.extend((RATED_KEYS[0], take) for take in takes)
        span = takes[-1].invoked - takes[0].completed  # the first one takes what there is
        got = sum(take.tokens for take in takes[1:])
        self.assertGreaterEqual(got + 1, 0.99 * span * RATE.count / RATE.period, self.where)

    # --- The cycles ---

    def fail_over(self, event, primary, replica, hold_keys):
        """Load until the event is over and the clients have gone on for a while."""
        load = FailoverLoad(primary.port, replica.port, hold_keys, self.random.random())
        try:
            load.await_marks(MARKS)
            load.go_on(self.random.random() * 0.1)
            event(self, load, primary, replica)
            load.go_on(self.random.random() * 0.1)
        finally:
            load.end()
        self.assertEqual(load.errors, [], self.where)
        self.assertGreater(load.known_until, 0)
        return load

    def cycle(self, number, event, primary, replica):
        """Returns the old primary, which is a replica now."""
        self.where = f"WEIR_CRASH_SEED={self.seed} cycle {number}, {event.__name__}"
        if event is FailoverCrashTest.cut_and_killed:
            self.proxy.target = primary.port
            self.follow(replica.client, self.proxy)
        hold_keys = [f"hold:{number}:{i}" for i in range(self.random.choice((0, HOLD_KEYS)))]
        used_before, term = self.used(primary), int(fields(primary.client)["term"])
        load = self.fail_over(event, primary, replica, hold_keys)
        self.assertEqual(int(fields(replica.client)["term"]), term + 1, self.where)
        forgotten = self.judge_lasting(load, used_before, self.used(replica))
        self.losses[event.__name__].append(Loss(forgotten, load.lag_ms))
        self.judge_holds(load, replica)
        old = primary
        if event not in FailoverCrashTest.LEAVES_A_REPLICA:
            old = self.restarted(primary, replica)
        await_in_sync(replica.client, old.client)
        keys = (*LASTING_KEYS, *RATED_KEYS, *hold_keys)
        self.assert_same_buckets(replica.client, old.client, keys, (LASTING, HELD), (RATED,))
        self.judge_calm(replica, load.rated.client())
        self.judge_rated(load, burst_bounds=event is not FailoverCrashTest.frozen)
        return old

    def summary(self):
        rows = sorted(self.losses.items())
        count = sum(len(losses) for _, losses in rows)
        lines = [f"WEIR_CRASH_SEED={self.seed}: {count} failovers; forgotten at most"]
        for event, losses in rows:
            most = max(losses)
            lines.append(
                f"  {event:15}{len(losses):5} times {most.tokens:6} tokens,"
                f" with a lag of {most.lag_ms:.1f} ms"
            )
        return "\n".join(lines)

    def test_each_failover_forgets_at_most_the_lag(self):
        primary = self.launch_member(self.choose_data())
        replica = self.launch_replica(primary, self.choose_data())
        events = []
        try:
            for number in range(CYCLES):
                events = events or self.random.sample(self.EVENTS, len(self.EVENTS))
                old = self.cycle(number, events.pop(), primary, replica)
                primary, replica = replica, old
        finally:
            print(self.summary(), file=sys.stderr, flush=True)


if __name__ == "__main__":
    unittest.main()
