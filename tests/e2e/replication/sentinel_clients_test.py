"""Client libraries that find the primary through Sentinel, whatever happens to it.

Goal: with the settings of docs/high-availability.md each library goes on at the promoted server,
and no token is admitted twice but those of a crash's lag. Method: the programs of tests/clients
take single tokens of a key that never refills and print what they got. After a planned failover the
promoted server must know of all of them, and of no others but those whose reply was lost.

A program prints `version V`, then reads keys, one a line, and takes tokens of the last one until
the end of its input. For each request it prints one of

    took KEY TOKENS INVOKED COMPLETED    the times are nanoseconds of the monotonic clock
    refused KEY ERROR                    the reply was an error
    failed KEY ERROR                     there was no reply

Debian's clients always run; `./dev clients` runs those of npm as well, and its names are arguments
here. WEIR_TEST_SCALE 1 leaves a switch by hand and a frozen primary to `./dev clients`.

Environment:
    WEIR_NPM_FOLDER     the folder in which npm installs clients; without it they are skipped
    WEIR_SENTINELS, WEIR_GROUP, WEIR_LIMIT    for the programs: ports, the group's name, the limit
"""

import os
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import matrix
from clients import SENTINEL_CLIENTS, Unavailable
from replication_checker import Request
from replication_servers import SLACK_MS, ReplicationTest, await_true
from sentinel_test import AT_ONCE, Visitor
from sentinels import GROUP, await_named, start_sentinels
from weir_e2e import DEADLINE, NEVER, scaled

TOKENS = 1_000_000_000
LIMIT = f"{TOKENS}/{NEVER},fixed"  # no token comes back at all
REFUSALS = {"READONLY", "LOADING"}
NPM_FOLDER = os.environ.get("WEIR_NPM_FOLDER")


class Program:
    """A running client program. Its lines are read all the time."""

    def __init__(self, client, directory, sentinels):
        place = Path(directory, client.name.replace(" ", "-"))
        place.mkdir()
        command = matrix.command_of(client, place, NPM_FOLDER and Path(NPM_FOLDER))
        ports = " ".join(str(sentinel.port) for sentinel in sentinels)
        where = {"WEIR_SENTINELS": ports, "WEIR_GROUP": GROUP, "WEIR_LIMIT": LIMIT}
        self.name = client.name
        self._process = subprocess.Popen(
            command, cwd=place, env={**matrix.environment_in(str(place)), **where}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=1,
        )  # fmt: skip
        self._requests = {}  # key -> that were answered
        self._lines = []  # all others
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def key(self, phase):
        return f"{self.name}:{phase}".replace(" ", "-")

    def take(self, phase):
        """Makes it take tokens of the key of a phase, from its next request on."""
        self._process.stdin.write(self.key(phase) + "\n")

    def end(self):
        self._process.stdin.close()
        try:
            return self._process.wait(DEADLINE)
        finally:
            self.kill()

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self):
        with self._process.stdout as lines:
            for line in lines:
                kind, *words = line.split()
                if kind == "took":
                    key, tokens, invoked, completed = words
                    request = Request(int(invoked), int(completed), int(tokens))
                    self._requests.setdefault(key, []).append(request)
                else:
                    self._lines.append(line.split())

    def admitted(self, phase, since=0, until=sys.maxsize):
        """The requests of a phase that were admitted, those completed between two times."""
        answered = list(self._requests.get(self.key(phase), ()))
        return [r for r in answered if r.tokens and since <= r.completed <= until]

    def was_admitted(self, phase, since=0):
        """Whether a request was that it has sent at a time or later."""
        return any(request.invoked >= since for request in self.admitted(phase))

    def unanswered(self, phase):
        """How many requests of a phase got no reply."""
        return len([line for line in self._lines if line[:2] == ["failed", self.key(phase)]])

    def pause_ms(self, phase):
        """The longest time between two admissions of a phase."""
        times = [request.completed for request in self.admitted(phase)]
        return max((b - a for a, b in zip(times, times[1:])), default=0) / 1e6

    def errors(self):
        """What went wrong, without keys, each once."""
        return {" ".join(line[:1] + line[2:]) for line in self._lines if line[0] != "version"}

    def tell(self, phase, lost, lag_ms):
        print(
            f"{self.name}, {phase}: {len(self.admitted(phase))} tokens; not admitted for"
            f" {self.pause_ms(phase):.0f} ms; forgotten: {max(0, lost)}, of {lag_ms:.1f} ms;"
            f" charged, not answered: {max(0, -lost)}; without a reply: {self.unanswered(phase)}",
            file=sys.stderr,
        )

    def refusals(self):
        """The first words of error replies."""
        return {line[2] for line in self._lines if line[0] == "refused"}


class SentinelClientsTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.primary = self.start_mortal(*AT_ONCE)
        await_true(lambda: Visitor(self.primary).call("PING") == "PONG", self.primary.log)
        self.replica = self.start_replica(self.primary, *AT_ONCE, mortal=True)
        self.sentinels = start_sentinels(self, self.primary.port)

    def start_programs(self):
        programs = []
        for client in chosen():
            try:
                programs.append(Program(client, self.directory, self.sentinels))
                self.addCleanup(programs[-1].kill)
            except Unavailable as why:
                print(f"skipped: {client.name}: {why}", file=sys.stderr)
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
        programs = self.start_programs()
        self.take(programs, "planned")
        await_true(lambda: self.sentinels[0].call("SENTINEL", "FAILOVER", GROUP) == "OK", "OK")
        self.await_replaced(programs, "planned")
        self.await_calm()
        self.take(programs, "killed")  # so no request of the first phase is under way
        self.judge_planned(programs, "planned")
        killed = time.monotonic_ns()
        self.replica.kill()
        self.await_all(programs, "killed", time.monotonic_ns())
        self.judge_unplanned(programs, "killed", self.primary, killed)

    @unittest.skipIf(NPM_FOLDER is None and scaled(1) < 2, "it runs with WEIR_TEST_SCALE=2")
    def test_a_switch_without_sentinel_and_a_frozen_primary(self):
        programs = self.start_programs()
        self.take(programs, "switched")
        self.assertEqual(Visitor(self.primary).call("FAILOVER"), "OK")
        self.await_replaced(programs, "switched")
        self.await_calm()
        self.take(programs, "frozen")
        self.judge_planned(programs, "switched")
        frozen = time.monotonic_ns()
        self.replica.pause()
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

    def too_many(self, server, program, phase):
        """The tokens that a client was told to have, less those that a server knows of."""
        left = Visitor(server).call("RL.PEEK", program.key(phase), LIMIT, "COST", 0)[1]
        return len(program.admitted(phase)) - (TOKENS - left)

    def judge_planned(self, programs, phase):
        for program in programs:
            with self.subTest(program.name, phase=phase):
                lost = self.too_many(self.replica, program, phase)
                program.tell(phase, lost, 0)
                self.assertLessEqual(lost, 0)
                self.assertLessEqual(-lost, program.unanswered(phase))

    def judge_unplanned(self, programs, phase, server, struck):
        for program in programs:
            with self.subTest(program.name, phase=phase):
                self.assertEqual(program.end(), 0, program.errors())
                lost = self.too_many(server, program, phase)
                late = program.admitted(phase, struck - SLACK_MS * 1_000_000, struck)
                first = late[-lost].completed if 0 < lost <= len(late) else struck
                program.tell(phase, lost, (struck - first) / 1e6)
                self.assertLessEqual(lost, len(late))
                self.assertLessEqual(program.refusals(), REFUSALS)


def chosen():
    """The clients to run."""
    names = tuple(sys.argv[1:]) or ("",)
    return [client for client in SENTINEL_CLIENTS if client.name.startswith(names)]


if __name__ == "__main__" and chosen():
    unittest.main(argv=sys.argv[:1])
