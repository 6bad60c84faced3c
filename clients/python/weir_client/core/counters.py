"""The counts of a Limiter, and how it tells its service that weir is unavailable."""

from __future__ import annotations

import collections
import dataclasses
import logging
import threading
from typing import Dict

from .forks import begin_in_children

LOG_SECONDS = 60.0  # between two lines of the log

_log = logging.getLogger("weir_client")


@dataclasses.dataclass(frozen=True)
class Counts:
    """Since the Limiter was made.

    asked        decisions that weir was asked for: each is one of allowed, denied, unavailable or
                 a mistake
    kept         decisions that a kept denial answered
    unavailable  by cause
    mistakes     also words that were not sent, and errors of on_unavailable
    """

    asked: int = 0
    allowed: int = 0
    denied: int = 0
    kept: int = 0
    mistakes: int = 0
    unavailable: Dict[str, int] = dataclasses.field(default_factory=dict)


class Counters:
    """Thread-safe. `now` is that of the Limiter's clock, in seconds."""

    def __init__(self, on_unavailable, fails_open):
        self._on_unavailable = on_unavailable
        self._fails_open = fails_open
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(("asked", "allowed", "denied", "kept", "mistakes"), 0)
        self._causes = collections.Counter()
        self._log_next = None  # when the next line may be written
        self._log_since = 0  # unavailable answers since the last one
        begin_in_children(self)

    def begin_in_child(self):
        self._lock = threading.Lock()

    def add(self, *names):
        with self._lock:
            for name in names:
                self._counts[name] += 1

    def add_decision(self, decision):
        self.add("asked", "allowed" if decision.allowed else "denied")

    def add_unavailable(self, cause, now):
        """Counts it and tells it. What the callback raises is counted as a mistake."""
        with self._lock:
            self._counts["asked"] += 1
            self._causes[cause] += 1
        if self._on_unavailable is None:
            self._write_log(cause, now)
            return
        try:
            self._on_unavailable(cause)
        except Exception:  # pylint: disable=broad-except
            self.add("mistakes")

    def counts(self):
        with self._lock:
            return Counts(**self._counts, unavailable=dict(self._causes))

    def _write_log(self, cause, now):
        with self._lock:
            self._log_since += 1
            if self._log_next is not None and now < self._log_next:
                return
            since, self._log_since = self._log_since, 0
            self._log_next = now + LOG_SECONDS
        choice = "are allowed" if self._fails_open else "are not allowed"
        _log.warning("weir is unavailable (%s): calls %s; %d since the last line",
                     cause, choice, since)
