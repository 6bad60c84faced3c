"""Failovers one after the other, each judged by what it has forgotten, for the tests of them.

A primary and its replica, under the load of failover_load.py. An event makes the replica the
primary, and the old primary its replica; the next cycle begins with the roles swapped and the
tables as they are. A test has the events, and runs them in each strength of
docs/high-availability.md.

In each cycle, in each strength:

- law R4: keys that never refill have used at least what was answered, but for what the strength may
  forget; and at most what was asked for. A key with a rate gets no more than its burst and its rate
  in any span of time, but for those tokens. Each server alone keeps to the rate.
- a reservation or settlement that the promoted server cannot have forgotten is known to it, and all
  slots are free once all holds are settled;
- law R1: once all is quiet both tables are equal;
- no lock-out: then a greedy client gets its rate.

A clean stop and a planned switch forget nothing. Else what may be forgotten is

- asynchronous: what the old primary admitted in the lag. One that was frozen or cut off goes on to
  admit when it is back, until it follows: all that counts as forgotten, too;
- with a lease: what the old primary admitted in the lag, at most a burst of a key with a rate, also
  if it was frozen or cut off. Law R6: the times in which the two admit are disjoint;
- acknowledged: law R5: nothing, and no key gets a token too many.

With a lease or acknowledgements a promoted server has no replica and admits nothing. In half of the
cycles it is told to need none until the old primary is back, so that two servers could admit; in
the others the test sees that it admits nothing.
"""

import collections
import os
import random
import shutil
import statistics
import sys
import time
from typing import NamedTuple

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
from replication_servers import ReplicationTest, await_in_sync, await_true, fields
from weir_e2e import Client, Error

MARKS = 10
HOLD_KEYS = 8
CALM_NS = 2 * SECOND // 5
MARKED_NS = 50 * SECOND  # after which a server may have forgotten that a hold is settled


class Strength(NamedTuple):
    """How sure a primary is of its replica when it answers."""

    name: str
    options: tuple = ()
    need: str = ""  # the option that says how many replicas a server needs to admit
    refusals: tuple = ()  # the replies to clients without them
    forgets: bool = True  # what has been answered
    two_admit: bool = False  # a primary that was frozen or cut off admits beside its successor


ASYNCHRONOUS = Strength("asynchronous", two_admit=True)
# NOACK with a lease, too: it may end in the middle of a request.
TOO_FEW = ("NOREPLICAS ", "NOACK ")
LEASE = Strength("lease", ("--min-replicas-to-write", "1"), "min-replicas-to-write", TOO_FEW)
ACKNOWLEDGED = Strength(
    "acknowledged", ("--ack-replicas", "1"), "ack-replicas", TOO_FEW, forgets=False
)


class Loss(NamedTuple):
    """The cost of a failover."""

    tokens: int  # that were forgotten
    lag_ms: float  # in which they were admitted
    pause_ms: float  # in which nothing was admitted


class SteadyClient:
    """A connection that is made again for the next command when the server has closed it."""

    def __init__(self, port):
        self._port = port
        self._client = Client(port)

    def call(self, *words):
        try:
            return self._client.call(*words)
        except (EOFError, OSError):
            self.close()
            self._client = Client(self._port)
        return self._client.call(*words)

    def send(self, data):
        self._client.send(data)

    def reply(self):
        return self._client.reply()

    def close(self):
        self._client.close()


class Member:
    """One of the two servers, with its directory, if any, and a connection to it."""

    def __init__(self, server, data):
        self.server, self.data = server, data
        self.client = SteadyClient(server.port)

    @property
    def port(self):
        return self.server.port


class FailoverCycles(ReplicationTest):
    """The cycles of a test, which has the events.

    An event is a function (test, load, primary, replica). It returns the old primary as a Member,
    once that follows the new one, and the new one admits.
    """

    EVENTS = ()
    BESIDE = ()  # the events after which an old primary could admit beside the new one
    LEASE_MS = 500
    PACE = 0  # of the load

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_CRASH_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        self.losses = collections.defaultdict(list)  # event -> Loss of each cycle
        self.strength = ASYNCHRONOUS
        self.alone = self.silent_since = self.where = None
        print(f"WEIR_CRASH_SEED={self.seed} {self.id()}", file=sys.stderr, flush=True)

    # --- The servers ---

    def launch_member(self, data, *options, port=0):
        options = ("--port", str(port), "--threads", "2", *self.strength.options, *options)
        if self.strength is LEASE:
            options = (*options, "--min-replicas-max-lag", f"{self.LEASE_MS}ms")
        if data:
            options = (*options, "--data-dir", data, "--snapshot-interval", "20ms")
        member = Member(self.launch(*options), data)
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

    def carry_out(self, member, *words):
        """The reply to a command, again and again until no replica is missing."""
        replies = []

        def is_done():
            replies[:] = [member.client.call(*words)]
            return not self.is_refused(replies[0])

        await_true(is_done, lambda: (self.where, replies, fields(member.client)))
        if isinstance(replies[0], Error):
            self.assertNotRegex(replies[0], "^(READONLY|LOADING) ", self.where)
        return replies[0]

    def is_refused(self, reply):
        return isinstance(reply, Error) and reply.startswith(self.strength.refusals)

    # --- Parts of events ---

    def need_replicas(self, member, count):
        if self.strength.need:
            words = ("CONFIG", "SET", self.strength.need, count)
            self.assertEqual(member.client.call(*words), "OK")

    def go_to(self, load, promoted):
        """The clients go to the promoted server, which has no replica yet."""
        if self.silent_since is None:
            self.silent_since = time.monotonic_ns()
        load.move()
        self.alone = not self.strength.need or self.random.random() < 0.5
        if self.alone:
            self.need_replicas(promoted, 0)
            load.await_admitted(promoted.port)
            return
        load.go_on(self.random.random() * 0.1)
        self.assertEqual(load.lasting.admitted(promoted.port).total(), 0, self.where)

    def rejoined(self, load, promoted):
        """The promoted server has a replica again."""
        self.need_replicas(promoted, 1)
        load.await_admitted(promoted.port)

    # --- What holds after each of them ---

    def used(self, member):
        return {key: TOKENS - self.remaining(member.client, key, LASTING) for key in LASTING_KEYS}

    def judge_exclusion(self, load):
        """The old primary admitted nothing that it was asked once it was gone or frozen."""
        self.assertEqual(load.of_old_since(self.silent_since), 0, self.where)
        self.assertEqual(load.overlap_ms, 0, f"{self.where} two servers admit")

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
        recent = time.monotonic_ns() - MARKED_NS
        for hold in load.holds:
            # Its mark may be gone; but if the failover has forgotten the settlement, it is open.
            if hold.settled and hold.settled.completed < recent and seen.get(hold.name) != 0:
                continue
            where = f"{self.where} {hold} {load.known_until}"
            if load.is_kept(hold.reserved):
                self.assertIn(hold.name, seen, where)
                if not hold.settling:
                    self.assertEqual(seen[hold.name], 0, where)
            if load.is_kept(hold.settled):
                self.assertEqual(seen[hold.name], 1, where)
            self.carry_out(member, "RL.CANCEL", hold.key, "HOLD", hold.name)
        for key in keys:
            self.assertEqual(self.remaining(member.client, key, HELD), SLOTS, self.where)

    def judge_calm(self, member, own_history):
        """A greedy client gets 99 % of its rate, but for the last token, which may not be whole.

        It begins again if the replica was not heard in time, as on a busy machine.
        """
        takes = []
        words = ("RL.TAKE", RATED_KEYS[0], RATED, "UPTO", RATE.burst)
        begin = time.monotonic_ns()
        while (invoked := time.monotonic_ns()) < begin + CALM_NS:
            reply = member.client.call(*words)
            if self.is_refused(reply):
                self.carry_out(member, *words)
                takes, begin = [], time.monotonic_ns()
                continue
            takes.append(Request(invoked, time.monotonic_ns(), reply[0], member.port))
            own_history.append((RATED_KEYS[0], takes[-1]))
        span = takes[-1].invoked - takes[0].completed  # the first one takes what there is
        got = sum(take.tokens for take in takes[1:])
        self.assertGreaterEqual(got + 1, 0.99 * span * RATE.count / RATE.period, self.where)

    # --- The cycles ---

    def await_quiet(self, *members):
        """Waits until the servers have ended the connections of the load, with all that they asked.

        The test's own connections and Sentinel's stay.
        """

        def others(member):
            rows = member.client.call("CLIENT", "LIST", "TYPE", "normal").decode().splitlines()
            return [row for row in rows if " name=sentinel-" not in row]

        for member in members:
            await_true(lambda one=member: len(others(one)) == 1, lambda one=member: others(one))

    def prepare(self, event, primary, replica):
        """Before the load of a cycle."""

    def settle(self, primary, replica):
        """After a cycle; returns the primary and the replica of the next one."""
        return primary, replica

    def fail_over(self, event, primary, replica, hold_keys):
        """Load until the event is over and the clients have gone on for a while.

        Returns it, and the old primary.
        """
        load = FailoverLoad(
            primary.port, replica.port, hold_keys, self.random.random(), self.strength.refusals,
            self.PACE,
        )  # fmt: skip
        load.loses_nothing = not self.strength.forgets
        self.silent_since = None
        try:
            load.await_marks(MARKS)
            load.go_on(self.random.random() * 0.1)
            old = event(self, load, primary, replica)
            load.go_on(self.random.random() * 0.1)
        finally:
            load.end()
        self.assertEqual(load.errors, [], self.where)
        self.assertGreater(load.known_until, 0)
        return load, old

    def cycle(self, number, event, primary, replica):
        """Returns the primary and the replica of the next cycle."""
        self.where = (
            f"WEIR_CRASH_SEED={self.seed} {self.strength.name} cycle {number}, {event.__name__}"
        )
        self.prepare(event, primary, replica)
        hold_keys = [f"hold:{number}:{i}" for i in range(self.random.choice((0, HOLD_KEYS)))]
        used_before, term = self.used(primary), int(fields(primary.client)["term"])
        load, old = self.fail_over(event, primary, replica, hold_keys)
        self.await_quiet(replica, old)
        self.assertEqual(int(fields(replica.client)["term"]), term + 1, self.where)
        exclusive = not self.strength.two_admit or event not in self.BESIDE
        if exclusive:
            self.judge_exclusion(load)
        forgotten = self.judge_lasting(load, used_before, self.used(replica))
        self.losses[event.__name__].append(Loss(forgotten, load.lag_ms, load.pause_ms))
        self.judge_holds(load, replica)
        await_in_sync(replica.client, old.client)
        keys = (*LASTING_KEYS, *RATED_KEYS, *hold_keys)
        self.assert_same_buckets(replica.client, old.client, keys, (LASTING, HELD), (RATED,))
        self.judge_calm(replica, load.rated.client())
        self.judge_rated(load, burst_bounds=exclusive)
        return self.settle(replica, old)

    def summary(self):
        rows = sorted(self.losses.items())
        count = sum(len(losses) for _, losses in rows)
        lines = [f"WEIR_CRASH_SEED={self.seed} {self.strength.name}: {count} failovers"]
        for event, losses in rows:
            most = max(losses)
            pauses = [loss.pause_ms / 1000 for loss in losses]
            lines.append(
                f"  {event:15}{len(losses):5} times; forgotten at most {most.tokens:6} tokens, with"
                f" a lag of {most.lag_ms:.1f} ms; nothing admitted for"
                f" {statistics.median(pauses):.2f} s, at most {max(pauses):.2f} s"
            )
        return "\n".join(lines)

    def run_cycles(self, count, primary, replica):
        events = []
        try:
            for number in range(count):
                events = events or self.random.sample(self.EVENTS, len(self.EVENTS))
                primary, replica = self.cycle(number, events.pop(), primary, replica)
        finally:
            print(self.summary(), file=sys.stderr, flush=True)


class InEachStrength:
    """The tests of a subclass of FailoverCycles, which has CYCLES and start_group()."""

    def fail_over_again_and_again(self, strength):
        self.strength = strength
        self.run_cycles(self.CYCLES, *self.start_group())

    def test_async_forgets_at_most_the_lag(self):
        self.fail_over_again_and_again(ASYNCHRONOUS)

    def test_lease_forbids_two_that_admit(self):
        self.fail_over_again_and_again(LEASE)

    def test_ack_forgets_nothing(self):
        self.fail_over_again_and_again(ACKNOWLEDGED)
