"""Denials that are kept: the same words are denied again without a request.

A denial holds for the time that it names, and is kept for a second of it at most. So a key under
attack costs one request per second and process, and what loosens a limit takes effect after a
second. A denial without a time is kept for a second, too.
"""

import dataclasses
import threading

from .forks import begin_in_children

KEPT_SECONDS_MAX = 1.0
KEPT_DENIALS_MAX = 10_000


class Denials:
    def __init__(self):
        self._lock = threading.Lock()
        self._kept = {}  # words -> (end, when it was asked, Decision)
        begin_in_children(self)

    def begin_in_child(self):
        self._lock = threading.Lock()

    def find(self, words, now):
        """The Decision as it is now, or None."""
        with self._lock:
            end, asked, decision = self._kept.get(words, (now, now, None))
            if now >= end:
                self._kept.pop(words, None)
                return None
        age = now - asked
        return dataclasses.replace(
            decision,
            retry_after=_later(decision.retry_after, age),
            reset_after=_later(decision.reset_after, age),
        )

    def keep(self, words, now, decision):
        """Keeps a denial that was asked for at `now`. Forgets all if there are too many."""
        wait = decision.retry_after
        seconds = KEPT_SECONDS_MAX if wait is None else min(wait, KEPT_SECONDS_MAX)
        with self._lock:
            if len(self._kept) >= KEPT_DENIALS_MAX:
                self._kept.clear()
            self._kept[words] = now + seconds, now, decision


def _later(seconds, age):
    return None if seconds is None else max(0.0, seconds - age)
