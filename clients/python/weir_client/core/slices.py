"""The plans of a slice: tokens that are taken at once, as a hold, and spent one by one.

For a key that is asked too often to ask weir each time. What is left at the end comes back with the
commit of what was spent. If the process dies, all of the slice comes back although some of it may
have been spent: so a process that dies again and again may admit a slice more each time.
"""

import secrets

from .engine import HOLD_TRIES, limited
from .errors import Mistake, Unavailable
from .forks import begin_in_children

# The hold outlives its time by two deadlines for the last request, and two for the commit.
DEADLINES_BEYOND = 4


class SlicePlans:
    """Its plans must not be played at the same time. The limits must not say cost=."""

    def __init__(self, engine, size, seconds, given):
        self._engine = engine
        self._request = engine.request(given)
        self._size = b"%d" % size
        self.seconds = seconds
        self._ttl_ms = round((seconds + DEADLINES_BEYOND * engine.deadline) * 1000)
        self.number = 0  # of slices taken
        self._hold = None  # the id of the present one
        self._end = 0.0
        self._left = 0
        self._spent = 0
        begin_in_children(self)

    def spend(self):
        """A plan: spends a token, or raises Limited."""
        if self._left == 0 or self._engine.clock() >= self._end:
            yield from self.give_back()
            yield from self._take()
        if self._hold is not None:
            self._left -= 1
            self._spent += 1

    def give_back(self, number=None):
        """A plan: settles the present slice, or that of this number if it is still present."""
        if self._hold is None or number not in (None, self.number):
            return
        hold, spent = self._hold, self._spent
        self._hold, self._left, self._spent = None, 0, 0
        words = (b"RL.COMMIT", *self._request.settled(spent), b"HOLD", hold)
        try:
            reply = yield from self._engine.call(words, tries=HOLD_TRIES)
            if reply[0] == 0 and spent > 0:  # too late: all of it has come back
                yield from self._engine.call((b"RL.CHARGE", *self._request.charged(spent)))
        except Unavailable as error:
            self._engine.without_answer(error.cause)
        except Mistake:
            self._engine.counters.add("mistakes")

    def begin_in_child(self):
        """There is no slice in a child process: it is the parent's."""
        self._hold, self._left, self._spent = None, 0, 0

    def give_up(self):
        """Decides without an answer, as when the tokens were waited for too long."""
        self._check(self._engine.without_answer("timeout"))

    def _take(self):
        begin = self._engine.clock()
        hold = secrets.token_hex(16).encode()
        decision = yield from self._engine.decide_or_keep(
            b"RL.TAKE", self._request,
            b"UPTO", self._size, b"HOLD", hold, b"TTL", b"%d" % self._ttl_ms,
        )
        self._check(decision)
        if decision.reason == "allowed":
            self._hold, self._left = hold, decision.granted
            self._end = begin + self.seconds
            self.number += 1

    def _check(self, decision):
        if not decision.allowed:
            raise limited(decision, self._request)
