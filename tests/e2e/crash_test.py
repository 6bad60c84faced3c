"""The tokens that a server remembers after it was killed under load and started again.

Four clients take tokens of a few keys without pause; the server is killed at a random moment and
started again on the same directory. Nothing refills, so a key has used the tokens admitted for it:

    used after the restart  >=  the tokens surely on disk   else an admission was lost (law L17)
    used after the restart  <=  the tokens asked for        else a request was charged twice

The tokens surely on disk depend on the mode: with `always`, those of all answered requests; with
`snapshot`, those answered before the last save that is known to be complete began; after a clean
stop, all.

Environment, besides weir_e2e's: WEIR_CRASH_CYCLES, cycles of each mode; WEIR_CRASH_SEED.
"""

import os
import random
import signal
import threading
import time
import unittest

from weir_e2e import DEADLINE, NEVER, Client, ServerTest, encode, free_port, scaled

CLIENTS = 4
KEYS = [f"key:{i}" for i in range(8)]
TOKENS = 1_000_000_000
LIMIT = f"{TOKENS}/{NEVER},fixed"  # no token comes back at all
PIPELINE = 16
ANSWERS = 3000  # of a life, at most; then it ends
CYCLES = int(os.environ.get("WEIR_CRASH_CYCLES", scaled(20)))


class Countdown:
    """Counts events, so that one thread can wait until others have caused a number of them."""

    def __init__(self, count):
        self._left = count
        self._changed = threading.Condition()

    def step(self, done):
        with self._changed:
            self._left -= done
            self._changed.notify_all()

    def wait(self):
        with self._changed:
            if not self._changed.wait_for(lambda: self._left <= 0, DEADLINE):
                raise AssertionError("the server does not answer")


class Talker:
    """Talks to the server from a thread of its own, until the server ends."""

    def __init__(self, port):
        self._port = port
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self):
        self._thread.join()

    def _run(self):
        try:
            with Client(self._port) as client:
                while True:
                    self.talk(client)
        except (EOFError, ConnectionError):
            pass


class Load(Talker):
    """The requests and answers of one client, each with its key and its time."""

    def __init__(self, port, seed, answered):
        self.asked = dict.fromkeys(KEYS, 0)
        self.answers = []  # (time of the answer, key)
        self._answered = answered
        self._random = random.Random(seed)
        super().__init__(port)

    def talk(self, client):
        keys = self._random.choices(KEYS, k=self._random.randint(1, PIPELINE))
        for key in keys:
            self.asked[key] += 1
        client.send(b"".join(encode("RL.ALLOW", key, LIMIT) for key in keys))
        for key in keys:
            if client.reply()[0] != 1:
                raise AssertionError("denied")
            self.answers.append((time.monotonic(), key))
        self._answered.step(len(keys))


class Watch(Talker):
    """Polls INFO for the time up to which everything is surely on disk."""

    def __init__(self, test, port):
        self.saved_until = 0.0
        self._test = test
        super().__init__(port)

    def talk(self, client):
        asked = time.monotonic()
        age = self._test.info(client)["last_save_age_ms"]
        # The save began no later than its age, which is rounded up, says.
        self.saved_until = max(self.saved_until, asked - age / 1000)


class RestartedServerTest(ServerTest):
    """A server that is started again and again on one data directory, and a seeded random."""

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_CRASH_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)

    def start_loaded(self, *options):
        server = self.launch(
            "--port", str(free_port()), "--data-dir", f"{self.directory}/data", *options)
        server.wait_for_log(r"loaded \d+ buckets")
        return server


class CrashTest(RestartedServerTest):
    def used(self, server):
        with Client(server.port) as client:
            remaining = {key: client.call("RL.PEEK", key, LIMIT, "COST", 0)[1] for key in KEYS}
            return {key: TOKENS - tokens for key, tokens in remaining.items()}

    def live(self, server, kill):
        """Load until `kill()` ends the server: (asked, answers, when all was saved)."""
        watch = Watch(self, server.port)
        answered = Countdown(self.random.randint(1, ANSWERS))
        loads = [Load(server.port, self.random.random(), answered) for _ in range(CLIENTS)]
        answered.wait()
        kill()
        for thread in (watch, *loads):
            thread.join()
        asked = {key: sum(load.asked[key] for load in loads) for key in KEYS}
        return asked, [answer for load in loads for answer in load.answers], watch.saved_until

    def cycles(self, options, kill, is_saved):
        """is_saved(time of an answer, when all was saved): whether that answer cannot be lost."""
        server = self.start_loaded(*options)
        answered = 0
        for cycle in range(CYCLES):
            used_before = self.used(server)
            asked, answers, saved_until = self.live(server, lambda: kill(server))
            answered += len(answers)
            server = self.start_loaded(*options)
            used_after = self.used(server)
            for key in KEYS:
                saved = sum(1 for at, k in answers if k == key and is_saved(at, saved_until))
                where = f"{key}, cycle {cycle}, WEIR_CRASH_SEED={self.seed}"
                self.assertGreaterEqual(used_after[key], used_before[key] + saved, where)
                self.assertLessEqual(used_after[key], used_before[key] + asked[key], where)
        self.assertGreater(answered, CYCLES)
        self.assertEqual(server.stop(), 0)

    def test_snapshot_loses_only_changes_after_the_last_save(self):
        self.cycles(
            ("--snapshot-interval", "50ms"),
            kill=lambda server: server.kill(),
            is_saved=lambda at, saved_until: at < saved_until,
        )

    def test_always_forgets_nothing_that_was_answered(self):
        self.cycles(
            ("--durability", "always"),
            kill=lambda server: server.kill(),
            is_saved=lambda at, saved_until: True,
        )

    def test_a_clean_stop_forgets_nothing(self):
        def stop(server):
            self.assertEqual(server.stop(signal.SIGTERM), 0)

        self.cycles(
            ("--snapshot-interval", "1h"), kill=stop, is_saved=lambda at, saved_until: True
        )


if __name__ == "__main__":
    unittest.main()
