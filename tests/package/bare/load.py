"""Clients that take tokens while the server is replaced, and connect again when it is back.

Nothing refills, so a key has used what was admitted for it:

    used  >=  the tokens of answered requests that cannot have been lost
    used  <=  the tokens that were asked for
"""

import threading
import time

from weir_e2e import NEVER, Client, encode

CLIENTS = 4
TOKENS = 1_000_000_000
LIMIT = f"{TOKENS}/{NEVER},fixed"
PIPELINE = 16


class Load:
    """Runs from its creation until `stop()`, on keys that begin with `name`."""

    def __init__(self, port, name):
        self._port = port
        self._name = name
        self._stopped = threading.Event()
        self.answers = {key: [] for key in range(CLIENTS)}  # by key, the times of answers
        self.asked = dict.fromkeys(range(CLIENTS), 0)
        self._threads = [threading.Thread(target=self._ask, args=(key,)) for key in self.asked]
        for thread in self._threads:
            thread.start()

    def stop(self):
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def answered(self):
        return sum(len(times) for times in self.answers.values())

    def await_answers(self, count, deadline):
        """Waits until each client has received `count` more answers."""
        wanted = {key: len(times) + count for key, times in self.answers.items()}
        end = time.monotonic() + deadline
        while any(len(times) < wanted[key] for key, times in self.answers.items()):
            if time.monotonic() > end:
                raise AssertionError("the server does not answer")
            self._stopped.wait(0.01)

    def longest_pause(self):
        """Seconds between two answers of one client."""
        return max(later - earlier for times in self.answers.values()
                   for earlier, later in zip(times, times[1:]))

    def check(self, lost_between=(0.0, 0.0)):
        """Compares the server's counts with ours; answers between two times may be lost."""
        begin, end = lost_between
        with Client(self._port) as client:
            for key, times in self.answers.items():
                used = TOKENS - client.call("RL.PEEK", self._words(key)[1], LIMIT, "COST", 0)[1]
                kept = sum(1 for at in times if not begin <= at <= end)
                if not kept <= used <= self.asked[key]:
                    counts = f"answered {kept}, used {used}, asked {self.asked[key]}"
                    raise AssertionError(f"client {key}: {counts}")

    def _words(self, key):
        return ("RL.ALLOW", f"{self._name}:{key}", LIMIT)

    def _ask(self, key):
        while not self._stopped.is_set():
            try:
                with Client(self._port) as client:
                    while not self._stopped.is_set():
                        self._ask_once(client, key)
            except (EOFError, OSError):
                self._stopped.wait(0.005)  # the server is being replaced

    def _ask_once(self, client, key):
        self.asked[key] += PIPELINE
        client.send(encode(*self._words(key)) * PIPELINE)
        for _ in range(PIPELINE):
            reply = client.reply()
            if reply[0] == 1:
                self.answers[key].append(time.monotonic())
            elif not str(reply).startswith("LOADING"):
                raise AssertionError(f"answered {reply!r}")
