"""Backups under load, and servers that are killed while they make one.

Clients take tokens that never come back (crash_test.py), while another one makes backups. Each
backup that has its name is restored, and has for each key

    used  >=  the tokens answered before RL.BACKUP was sent     else the backup misses admissions
    used  <=  the tokens asked for before its reply arrived     else it has them twice

Environment, besides weir_e2e's: WEIR_CRASH_SEED.
"""

import os
import random
import shutil
import unittest

from crash_test import ANSWERS, CLIENTS, KEYS, LIMIT, TOKENS, Countdown, Load, Talker
from weir_e2e import Client, ServerTest, free_port, scaled

CYCLES = scaled(20)
BACKUPS = scaled(10)
KEPT = 2  # backups of a killed server, which are all restored


class Backups(Talker):
    """Makes backups without pause and keeps the last ones, each with what is known of its state."""

    def __init__(self, port, first, answered, asked):
        self.made = {}  # by name: (tokens answered before, tokens asked for after), by key
        self.pending = None  # (name, tokens answered before) of a request without a reply
        self._next = first
        self._answered, self._asked = answered, asked
        super().__init__(port)

    def talk(self, client):
        name = f"b{self._next}"
        self._next += 1
        before = self._answered()
        self.pending = name, before
        reply = client.call("RL.BACKUP", name)
        if len(reply) != 2:
            raise AssertionError(reply)
        self.made[name] = before, self._asked()
        self.pending = None
        oldest = f"b{self._next - 1 - KEPT}"
        if oldest in self.made:
            del self.made[oldest]
            if client.call("RL.BACKUP", "DEL", oldest) != "OK":
                raise AssertionError(oldest)


class BackupCrashTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_CRASH_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        self.backups = f"{self.directory}/backups"

    def start_loaded(self, data, *options):
        server = self.launch("--port", str(free_port()), "--data-dir", data, *options)
        server.wait_for_log(r"loaded \d+ buckets.* and 0 bad records")
        return server

    def start_with_backups(self, *options):
        return self.start_loaded(f"{self.directory}/data", "--backup-dir", self.backups, *options)

    def used(self, server):
        with Client(server.port) as client:
            left = {key: client.call("RL.PEEK", key, LIMIT, "COST", 0)[1] for key in KEYS}
        return {key: TOKENS - tokens for key, tokens in left.items()}

    def is_unfinished(self):
        return any("." in name for name in os.listdir(self.backups))

    def begin_load(self, server, answers):
        answered = Countdown(answers)
        return answered, [Load(server.port, self.random.random(), answered) for _ in range(CLIENTS)]

    def answered(self, loads):
        counts = dict.fromkeys(KEYS, 0)
        for load in loads:
            for _, key in load.answers[:]:
                counts[key] += 1
        return counts

    def asked(self, loads):
        return {key: sum(load.asked[key] for load in loads) for key in KEYS}

    def assert_restored(self, name, used_before, at_least, at_most):
        """A server on a copy of the backup has this use, beyond that at its server's start."""
        restored = f"{self.directory}/restored"
        shutil.copytree(f"{self.backups}/{name}", restored)
        server = self.start_loaded(restored)
        used = self.used(server)
        self.assertEqual(server.stop(), 0)
        shutil.rmtree(restored)
        for key in KEYS:
            where = f"{key} in {name}, WEIR_CRASH_SEED={self.seed}"
            self.assertGreaterEqual(used[key], used_before[key] + at_least[key], where)
            self.assertLessEqual(used[key], used_before[key] + at_most[key], where)

    # Goal: a kill at any moment leaves complete backups and nothing else that looks like one.
    # Method: backups without pause; the server is killed after a random number of answers and one
    # backup, or as soon as a backup is seen that is not finished.
    def test_killed_while_it_makes_backups(self):
        restored = 0
        for cycle in range(CYCLES):
            server = self.start_with_backups("--snapshot-interval", "50ms")
            self.assertFalse(self.is_unfinished(), "a start removes the rest of a backup")
            used_before = self.used(server)
            done, loads = self.begin_load(server, self.random.randint(1, ANSWERS))
            maker = Backups(server.port, cycle * 1000, lambda: self.answered(loads),
                            lambda: self.asked(loads))
            done.wait()
            if cycle % 2:
                self.await_equal(self.is_unfinished, True)
            else:
                self.await_equal(lambda maker=maker: bool(maker.made), True)
            server.kill()
            for thread in (maker, *loads):
                thread.join()
            names = [name for name in os.listdir(self.backups) if "." not in name]
            known = dict(maker.made)
            if maker.pending:
                known[maker.pending[0]] = maker.pending[1], self.asked(loads)
            for name in maker.made:
                self.assertIn(name, names, "it was answered")
            for name in names:
                # A name that is not known is one whose removal was not done.
                if name in known:
                    self.assert_restored(name, used_before, *known[name])
                    restored += 1
                shutil.rmtree(f"{self.backups}/{name}")
        self.assertGreater(restored, 0)

    def make_under_load(self, *options):
        server = self.start_with_backups(*options)
        _, loads = self.begin_load(server, 0)
        nothing = dict.fromkeys(KEYS, 0)
        made = {}
        with Client(server.port) as client:
            for i in range(BACKUPS):
                before = self.answered(loads)
                self.assertEqual(len(client.call("RL.BACKUP", f"b{i}")), 2)
                made[f"b{i}"] = before, self.asked(loads)
        server.kill()
        for load in loads:
            load.join()
        for name, (at_least, at_most) in made.items():
            self.assert_restored(name, nothing, at_least, at_most)
        # A restore in place of the lost directory, by a move.
        shutil.rmtree(f"{self.directory}/data")
        os.rename(f"{self.backups}/b{BACKUPS - 1}", f"{self.directory}/data")
        server = self.start_with_backups(*options)
        used = self.used(server)
        for key in KEYS:
            self.assertGreaterEqual(used[key], made[f"b{BACKUPS - 1}"][0][key])
        self.assertEqual(server.stop(), 0)

    def test_under_load_with_snapshot(self):
        self.make_under_load("--snapshot-interval", "50ms")

    def test_under_load_with_always(self):
        self.make_under_load("--durability", "always")


if __name__ == "__main__":
    unittest.main()
