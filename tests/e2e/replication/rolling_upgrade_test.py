"""The steps of an upgrade under Sentinel, as docs/high-availability.md has them.

Goal: in each step clients are admitted again within seconds, nothing is forgotten, and nothing is
admitted twice. Method: three servers and three Sentinels; client programs, which take tokens of a
key of their own in each step (client_programs.py). All servers are of one version.

WEIR_TEST_SCALE 1 runs it without data directories only.
"""

import os
import re
import subprocess
import sys
import time
import unittest

from client_programs import start_programs
from clients import SENTINEL_CLIENTS
from replication_servers import ReplicationTest, await_true
from sentinel_test import WATCHED, Visitor
from sentinels import PAGE, start_sentinels
from weir_e2e import DEADLINE, Server, client_environment, scaled

AGAIN_WITHIN = 5  # seconds without an admission, at most
# What the test does; the steps of the page in other words would be other steps.
STEPS = [
    "Upgrade and restart each replica, one after the other. Wait until `ROLE` says `connected`.",
    "`redis-cli -p 26379 SENTINEL FAILOVER weir` on one of the Sentinels. It promotes a replica."
    " While it answers `NOGOODSLAVE`, try again: it asks a replica every ten seconds what it has.",
    "Upgrade the old primary, which is a replica now, and restart it.",
]
PHASES = ("first replica", "second replica", "failover", "old primary")


def steps_of_page():
    section = PAGE.read_text("utf-8").split("\n### Upgrade under Sentinel\n")[1].split("\n#")[0]
    steps = re.findall(r"^\d\. (.*?)(?=^\d\. |^\n|\Z)", section, re.M | re.S)
    return [" ".join(step.split()) for step in steps]


class RollingUpgradeTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.has_disks = False
        self.servers = {}  # by number; the first is the primary at the start
        self.sentinels, self.programs = [], []

    def start_one(self, number, *options):
        port = str(self.servers[number].port) if number in self.servers else "0"
        server = Server(
            self.directory, ["--port", port, *WATCHED, *self.options_of(number), *options]
        )
        self.addCleanup(server.kill)
        server.port  # waits until it listens
        self.servers[number] = server

    def options_of(self, number):
        """The options that stay the same."""
        options = ["--log-level", "info"]
        if self.has_disks:
            options += ["--data-dir", os.path.join(self.directory, str(number))]
        if number != 0:
            options += ["--replicaof", f"127.0.0.1 {self.servers[0].port}"]
        return options

    def start_all(self):
        self.start_one(0, "--sentinel-wait", "1ms")  # no Sentinel runs yet
        await_true(lambda: Visitor(self.servers[0]).call("PING") == "PONG", self.servers[0].log)
        for number in (1, 2):
            self.start_one(number)
            self.await_connected(number)
        self.sentinels = start_sentinels(self, self.servers[0].port, replicas=2)
        addresses = [f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels]
        of_debian = [client for client in SENTINEL_CLIENTS if not client.npm]
        self.programs = start_programs(self, addresses, of_debian)
        if not self.programs:
            self.skipTest("no client is there")

    def restart(self, number):
        self.assertEqual(self.servers[number].stop(), 0)
        self.start_one(number)
        self.await_connected(number)

    def await_connected(self, number):
        def is_connected():
            role = Visitor(self.servers[number]).call("ROLE")
            return isinstance(role, list) and role[0] == b"slave" and role[3] == b"connected"

        await_true(is_connected, self.story)

    def fail_over(self):
        """Types the command of the page; returns the number of the new primary."""
        (command,) = re.findall("`(redis-cli .*?)`", steps_of_page()[1])
        words = command.replace("26379", str(self.sentinels[0].port)).split()

        def is_begun():
            done = subprocess.run(words, env=client_environment(self.directory), text=True,
                                  capture_output=True, timeout=DEADLINE, check=False)  # fmt: skip
            self.assertRegex(done.stdout, "^(OK|NOGOODSLAVE) ?")
            return done.stdout == "OK\n"

        begun = time.monotonic()
        await_true(is_begun, self.story)
        print(f"Sentinel agrees after {time.monotonic() - begun:.1f} s", file=sys.stderr)

        def primaries():
            return [i for i in (1, 2) if Visitor(self.servers[i]).role() == "master"]

        await_true(primaries, self.story)
        return primaries()[0]

    def step(self, name, act):
        """Does something while clients take tokens of keys of this step, and returns the same."""
        for program in self.programs:
            program.take(name)
        self.await_all(name)
        done = act()
        self.await_all(name, time.monotonic_ns())
        return done

    def await_all(self, phase, since=0):
        for program in self.programs:
            await_true(lambda one=program: one.was_admitted(phase, since), self.story)

    def judge(self, step, primary):
        """The present primary knows of all tokens that clients got; others lack their replies."""
        for program in self.programs:
            with self.subTest(program.name, step=step):
                lost = program.forgotten(Visitor(self.servers[primary]), step)
                program.tell(step, lost)
                self.assertLessEqual(lost, 0)
                self.assertLessEqual(-lost, program.unanswered(step))
                self.assertLess(program.pause_ms(step), AGAIN_WITHIN * 1000)

    def story(self):
        errors = [(program.name, program.errors()) for program in self.programs]
        return errors, [server.log() for server in self.servers.values()]

    def upgrade(self):
        self.assertEqual(steps_of_page(), STEPS)
        self.start_all()
        acts = (lambda: self.restart(1), lambda: self.restart(2), self.fail_over,
                lambda: self.restart(0))  # fmt: skip
        _, _, primary, _ = [self.step(phase, act) for phase, act in zip(PHASES, acts)]
        for number in {0, 1, 2} - {primary}:
            await_true(
                lambda i=number: Visitor(self.servers[i]).follows(self.servers[primary]), self.story
            )
        for program in self.programs:
            self.assertEqual(program.end(), 0)
        for phase in PHASES:
            self.judge(phase, primary)
        for server in self.servers.values():
            self.assertEqual(server.stop(), 0)

    def test_without_disks(self):
        self.upgrade()

    @unittest.skipIf(scaled(1) < 2, "it runs with WEIR_TEST_SCALE=2")
    def test_with_disks(self):
        self.has_disks = True
        self.upgrade()


if __name__ == "__main__":
    unittest.main()
