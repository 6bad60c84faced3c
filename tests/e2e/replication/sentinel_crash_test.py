"""Failovers by Sentinel under load, one after the other, with what each one forgets counted.

Goal: in each strength a failover that real Sentinels decide forgets at most what the table of
docs/high-availability.md says. Method: three Sentinels watch a primary and its replica, with a
shorter down-after-milliseconds than on the page. The primary is killed, and started again at the
same address, at once or after the promotion; or stopped cleanly, or frozen until a replica is
promoted; or SENTINEL FAILOVER makes a replica take over. Sentinel promotes, not the test, and its
messages tell the old primary to follow. failover_cycles.py has what holds in each cycle. Each
strength has a test of its own: -k async, -k lease, -k ack.

A lease of two seconds is longer than Sentinel takes, so promotions wait for its end.

Sentinel connects to the primary of a group at most once a second, whichever server that is. So with
a down-after-milliseconds of a second it takes the new primary for dead if it has just reached the
old one again; the one here is longer. On a busy machine a process may stand still for longer than
that, and Sentinel fails over again. A cycle in which something fails after that is not judged, and
the next one has new servers; there must be few of them.

WEIR_TEST_SCALE 1 leaves the asynchronous strength to sentinel_network_test.py.

Environment, besides weir_e2e's: WEIR_CRASH_CYCLES, the number of failovers; WEIR_CRASH_SEED.
"""

import os
import sys
import time
import unittest

from failover_cycles import FailoverCycles, InEachStrength
from failover_load import SECOND
from replication_servers import await_true, fields, is_exact, role_of
from sentinels import GROUP, start_sentinels
from weir_e2e import SKIPPED, free_port, sanitized, scaled

POLL_SECONDS = 0.005
NOTED_SECONDS = 5  # from a second promotion to the line about it in Sentinel's log, at most
DEPOSED_WITHIN_NS = 8 * SECOND  # while an old primary that is back still admits, at most
DOWN_AFTER_MS = 1300
INFO_MS = 1000  # Sentinel's own default of 10 s is the age of what it knows of a replica
IS_SHORT = scaled(1) < 2 and "WEIR_CRASH_CYCLES" not in os.environ
FIRST = ("--sentinel", GROUP, "--sentinel-wait", "1ms")  # no Sentinel runs yet
# Longer than Sentinel takes, as the page says.
AGAIN = ("--sentinel", GROUP, "--sentinel-wait", "1m")


class SentinelCrashTest(InEachStrength, FailoverCycles):
    CYCLES = int(os.environ.get("WEIR_CRASH_CYCLES", scaled(1)))
    LEASE_MS = 2000
    PACE = 0.002

    def setUp(self):
        super().setUp()
        self.members, self.sentinels = [], []
        self.deposed = []  # the seconds in which primaries that woke up went on to admit
        self.switches_before = 0  # this cycle
        self.checked = 0.0  # when Sentinel was asked for them
        self.unjudged = 0  # cycles

    # --- What Sentinel does ---

    def poll(self, load):
        """Waits a little; fails once Sentinel has failed over again."""
        load.go_on(POLL_SECONDS)
        if time.monotonic() - self.checked > 1:
            self.checked = time.monotonic()
            self.assertFalse(self.has_failed_over_again(), self.where)

    def switches(self):
        """How often Sentinel has failed over."""
        return max(sentinel.text().count("+switch-master") for sentinel in self.sentinels)

    def has_failed_over_again(self):
        return self.switches() > self.switches_before + 1

    def await_promoted(self, load, replica):
        def is_promoted():
            self.poll(load)
            return role_of(replica.client) == b"master"

        await_true(is_promoted, self.story)

    def await_following(self, load, old, new):
        """Waits until Sentinel has made the old primary a replica of the new one."""

        def follows():
            self.poll(load)
            role = old.client.call("ROLE")
            return role[0] == b"slave" and role[2] == new.port and is_exact(old.client)

        await_true(follows, self.story)
        self.rejoined(load, new)

    def settle(self, primary, replica):
        """Waits until all Sentinels see both servers and one another, and could fail over."""
        named = set()

        def is_settled():
            named.clear()
            named.update(sentinel.primary() for sentinel in self.sentinels)
            expected = named == {primary.port} or self.has_failed_over_again()
            return expected and len(named) == 1 and all(map(self.is_ready, self.sentinels))

        await_true(is_settled, self.story)
        pair = primary, replica
        return pair if named == {primary.port} else pair[::-1]

    def is_ready(self, sentinel):
        rows = {
            what: sentinel.call("SENTINEL", what, GROUP) for what in ("REPLICAS", "SENTINELS")
        }
        flags = {what: [row[row.index(b"flags") + 1] for row in rows[what]] for what in rows}
        if flags != {"REPLICAS": [b"slave"], "SENTINELS": [b"sentinel"] * 2}:
            return False
        (replica,) = rows["REPLICAS"]
        names = b"master-link-status", b"slave-priority"
        good = [replica[replica.index(name) + 1] for name in names] == [b"ok", b"100"]
        return good and sentinel.state()["flags"] == "master"

    def story(self):
        """All that is known when something has not come to be."""
        parts = [str(self.where)]
        for sentinel in self.sentinels:
            parts.append(f"Sentinel {sentinel.port}:\n{sentinel.text()[-4000:]}")
        return "\n".join([*parts, *(m.server.log()[-4000:] for m in self.members)])

    # --- The events ---

    def started(self, old):
        """The server runs again at its address."""
        old.client.close()
        return self.watched(old.data, *AGAIN, port=old.port)

    def gone(self, load, primary, replica, at_once=False):
        """The primary has ended, and runs again at once or after the promotion."""
        if at_once:
            load.go_on(self.random.random() * 0.5)
            old = self.started(primary)
        self.await_promoted(load, replica)
        self.go_to(load, replica)
        if not at_once:
            primary.data = self.choose_data(primary.data)
            old = self.started(primary)
        self.await_following(load, old, replica)
        return old

    def killed(self, load, primary, replica):
        primary.server.kill()
        # Without a disk it would not know that it had a replica, and Sentinel might confirm it.
        return self.gone(load, primary, replica, primary.data and self.random.random() < 0.5)

    def stopped(self, load, primary, replica):
        load.lose_nothing()
        self.assertEqual(primary.server.stop(), 0, primary.server.log())
        return self.gone(load, primary, replica)

    def frozen(self, load, primary, replica):
        primary.server.pause()
        self.silent_since = time.monotonic_ns()
        try:
            self.await_promoted(load, replica)
            self.go_to(load, replica)
            load.go_on(self.random.random() * 0.5)
        finally:
            primary.server.resume()
        resumed = time.monotonic_ns()
        self.await_following(load, primary, replica)
        self.assertEqual(load.of_old_since(resumed + DEPOSED_WITHIN_NS), 0, self.where)
        self.deposed.append(max(0, load.last_of_old - resumed) / SECOND)
        return primary

    def switched(self, load, primary, replica):
        load.lose_nothing()
        sentinel = self.random.choice(self.sentinels)
        await_true(lambda: sentinel.call("SENTINEL", "FAILOVER", GROUP) == "OK", self.story)
        self.await_promoted(load, replica)
        self.silent_since = time.monotonic_ns()
        load.move()
        self.await_following(load, primary, replica)
        return primary

    EVENTS = (killed, stopped, frozen, switched)
    BESIDE = (frozen,)

    def summary(self):
        lines = [super().summary(), f"  {self.unjudged} cycles with a second failover not judged"]
        if self.strength.two_admit and self.deposed:
            lines.append(f"  one that woke up admitted for {max(self.deposed):.2f} s at most")
        return "\n".join(lines)

    # --- The strengths ---

    def watched(self, data, *options, port):
        member = self.launch_member(data, *options, port=port)
        self.members = [*(m for m in self.members if m.port != port), member]
        return member

    def cycle(self, number, event, primary, replica):
        self.switches_before = self.switches()
        try:
            return super().cycle(number, event, primary, replica)
        except AssertionError as error:
            try:
                await_true(self.has_failed_over_again, "a second failover", NOTED_SECONDS)
            except AssertionError:
                raise error from None
            reason = str(error).split("\n", 1)[0][:200]
            print(f"{self.where} is not judged: {reason}", file=sys.stderr, flush=True)
        self.unjudged += 1
        self.assertLessEqual(self.unjudged, 2 + number // 4, self.where)
        return self.start_group()

    def start_group(self):
        """Returns a new primary and its replica, of which new Sentinels know."""
        for sentinel in self.sentinels:
            sentinel.stop()
        for member in self.members:
            member.server.kill()
        self.members = []
        primary = self.watched(self.choose_data(), *FIRST, port=free_port())
        await_true(lambda: primary.client.call("PING") == "PONG", primary.server.log)
        of_primary = ("--replicaof", f"127.0.0.1 {primary.port}")
        replica = self.watched(self.choose_data(), *FIRST, *of_primary, port=free_port())
        await_true(lambda: is_exact(replica.client), lambda: fields(replica.client))
        self.sentinels = start_sentinels(self, primary.port, down_after=DOWN_AFTER_MS)
        for sentinel in self.sentinels:
            self.assertEqual(sentinel.call("SENTINEL", "DEBUG", "INFO-PERIOD", INFO_MS), "OK")
        return primary, replica

    @unittest.skipIf(IS_SHORT, "sentinel_network_test has it")
    def test_async_forgets_at_most_the_lag(self):
        super().test_async_forgets_at_most_the_lag()


if __name__ == "__main__":
    if sanitized():
        print("a sanitizer makes it slow")
        sys.exit(SKIPPED)
    unittest.main()
