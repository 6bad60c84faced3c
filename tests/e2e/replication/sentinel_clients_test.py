"""Client libraries that find the primary through Sentinel, whatever happens to it.

Goal: with the settings of docs/high-availability.md each library goes on at the promoted server,
and no token is admitted twice but those of a crash's lag. Method: the programs of tests/clients
take single tokens of a key that never refills and print what they got. After a planned failover the
promoted server must know of all of them, and of no others but those whose reply was lost.

Debian's clients always run; `./dev clients` runs those of npm as well, and its names are arguments
here. WEIR_TEST_SCALE 1 leaves a switch by hand and a frozen primary to `./dev clients`.
"""

import sys
import time
import unittest

from client_programs import NPM_FOLDER, start_programs
from clients import SENTINEL_CLIENTS
from replication_servers import SLACK_MS, ReplicationTest, await_true
from sentinel_test import AT_ONCE, Visitor
from sentinels import GROUP, await_named, start_sentinels
from weir_e2e import scaled

REFUSALS = {"READONLY", "LOADING"}


class SentinelClientsTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.primary = self.start_mortal(*AT_ONCE)
        await_true(lambda: Visitor(self.primary).call("PING") == "PONG", self.primary.log)
        self.replica = self.start_replica(self.primary, *AT_ONCE, mortal=True)
        self.sentinels = start_sentinels(self, self.primary.port)

    def start_all(self):
        addresses = [f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels]
        programs = start_programs(self, addresses, chosen())
        if not programs:
            self.skipTest("no client is there")
        return programs

    def await_all(self, programs, phase, since=0):
        for program in programs:
            await_true(
                lambda one=program: one.was_admitted(phase, since),
                lambda one=program: (one.name, one.errors(), self.replica.log()),
            )

    def test_a_planned_failover_and_a_crash(self):
        programs = self.start_all()
        self.take(programs, "planned")
        await_true(lambda: self.sentinels[0].call("SENTINEL", "FAILOVER", GROUP) == "OK", "OK")
        self.await_replaced(programs, "planned")
        self.await_calm()
        self.take(programs, "killed")  # so no request of the first phase is under way
        self.judge_planned(programs, "planned")
        self.replica.kill()
        killed = time.monotonic_ns()
        self.await_all(programs, "killed", time.monotonic_ns())
        self.judge_unplanned(programs, "killed", self.primary, killed)

    @unittest.skipIf(NPM_FOLDER is None and scaled(1) < 2, "it runs with WEIR_TEST_SCALE=2")
    def test_a_switch_without_sentinel_and_a_frozen_primary(self):
        programs = self.start_all()
        self.take(programs, "switched")
        self.assertEqual(Visitor(self.primary).call("FAILOVER"), "OK")
        self.await_replaced(programs, "switched")
        self.await_calm()
        self.take(programs, "frozen")
        self.judge_planned(programs, "switched")
        self.replica.pause()
        frozen = time.monotonic_ns()
        self.await_all(programs, "frozen", time.monotonic_ns())
        self.judge_unplanned(programs, "frozen", self.primary, frozen)

    def take(self, programs, phase):
        for program in programs:
            program.take(phase)
        self.await_all(programs, phase)

    def await_replaced(self, programs, phase):
        """Waits until the replica is the primary, and all clients are there."""
        await_true(lambda: Visitor(self.primary).follows(self.replica), self.primary.log)
        # From now on the old primary admits nothing.
        self.await_all(programs, phase, time.monotonic_ns())

    def await_calm(self):
        """Waits until the Sentinels could fail over again."""
        await_named(self.sentinels, self.replica.port)

        # A server that has handed over is no replica to promote before it answers PING.
        await_true(lambda: Visitor(self.primary).call("PING") == "PONG", self.primary.log)
        answering = time.monotonic()

        def is_ready(sentinel):
            (flat,) = sentinel.call("SENTINEL", "REPLICAS", GROUP) or [[]]
            replica = dict(zip(flat[::2], flat[1::2]))
            seen = [replica.get(name) for name in (b"flags", b"master-link-status")]
            if sentinel.state()["flags"] != "master" or seen != [b"slave", b"ok"]:
                return False
            return int(replica[b"last-ok-ping-reply"]) / 1000 < time.monotonic() - answering

        await_true(lambda: all(map(is_ready, self.sentinels)), "Sentinels that know the replica")

    def judge_planned(self, programs, phase):
        for program in programs:
            with self.subTest(program.name, phase=phase):
                lost = program.forgotten(Visitor(self.replica), phase)
                program.tell(phase, lost)
                self.assertLessEqual(lost, 0)
                self.assertLessEqual(-lost, program.unanswered(phase))

    def judge_unplanned(self, programs, phase, server, struck):
        for program in programs:
            with self.subTest(program.name, phase=phase):
                self.assertEqual(program.end(), 0, program.errors())
                lost = program.forgotten(Visitor(server), phase)
                late = program.admitted(phase, struck - SLACK_MS * 1_000_000, struck)
                first = min(struck, late[-lost].completed) if 0 < lost <= len(late) else struck
                program.tell(phase, lost, (struck - first) / 1e6)
                self.assertLessEqual(lost, len(late))
                self.assertLessEqual(program.refusals(), REFUSALS)


def chosen():
    """The clients to run."""
    names = tuple(sys.argv[1:]) or ("",)
    return [client for client in SENTINEL_CLIENTS if client.name.startswith(names)]


if __name__ == "__main__" and chosen():
    unittest.main(argv=sys.argv[:1])
