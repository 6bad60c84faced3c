"""The plans of a slice: tokens that are taken at once, as a hold, and spent one by one.

For a key that is asked too often to ask weir each time. What is left at the end comes back with
the commit of what was spent. A commit that is not answered is kept and repeated, as long as weir
would know that it has made it already. If the process dies, all of the slice comes back although
some of it may have been spent: so a process that dies again and again may admit a slice more each
time.
"""

import secrets
from typing import NamedTuple

from .engine import HOLD_TRIES, limited
from .errors import Mistake, Unavailable
from .forks import begin_in_children
from .numbers import seconds as seconds_of
from .numbers import whole_number

# The hold outlives its time by two deadlines for the last request, and two for the commit.
DEADLINES_BEYOND = 4
COMMIT_SECONDS = 60.0  # weir remembers a commit so long, or until the hold would have ended


class _Spent(NamedTuple):
    """What is to be committed."""

    hold: bytes
    tokens: int
    end: float  # when weir may have forgotten a commit


class SlicePlans:
    """Its plans must not be played at the same time, but for settle_again, which may be played
    beside the others. The limits must not say cost=."""

    def __init__(self, engine, size, seconds, given):
        self._engine = engine
        self._request = engine.request(given)
        self._size = b"%d" % whole_number(size, "the size of a slice", least=1)
        self.seconds = seconds_of(seconds, "the time of a slice")
        self._ttl_ms = round((seconds + DEADLINES_BEYOND * engine.deadline) * 1000)
        self.number = 0  # of slices taken
        self._hold = None  # the id of the present one
        self._end = 0.0
        self._hold_end = 0.0
        self._unsettled = []  # each a _Spent whose commit was not answered
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
        end = min(self._hold_end, self._engine.clock() + COMMIT_SECONDS)
        spent = _Spent(self._hold, self._spent, end)
        self._hold, self._left, self._spent = None, 0, 0
        is_settled = False
        try:
            yield from self._settle(spent)
            is_settled = True
        except Unavailable as error:
            self._engine.without_answer(error.cause)
        except Mistake:
            self._engine.counters.add("mistakes")
            is_settled = True
        finally:  # also if the caller is cancelled
            if not is_settled:
                self._unsettled.append(spent)

    @property
    def has_unsettled(self):
        """Whether a commit is to be repeated, by settle_again."""
        return bool(self._unsettled)

    def settle_again(self):
        """A plan: repeats commits that were not answered, until one is not again."""
        for spent in tuple(self._unsettled):
            try:
                if self._engine.clock() < spent.end:
                    yield from self._settle(spent)
            except Unavailable:
                return  # it was counted the first time
            except Mistake:
                self._engine.counters.add("mistakes")
            self._unsettled.remove(spent)

    def _settle(self, spent):
        """A plan: commits. Raises Unavailable if that may be repeated, or Mistake."""
        words = (b"RL.COMMIT", *self._request.settled(spent.tokens), b"HOLD", spent.hold)
        reply = yield from self._engine.call(words, tries=HOLD_TRIES)
        if reply[0] == 0 and spent.tokens > 0:  # too late: all of it has come back
            try:
                yield from self._engine.call((b"RL.CHARGE", *self._request.charged(spent.tokens)))
            except Unavailable as error:  # it may have been made
                self._engine.without_answer(error.cause)

    def begin_in_child(self):
        """There is no slice in a child process: it is the parent's."""
        self._hold, self._left, self._spent = None, 0, 0
        self._unsettled = []

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
            self._hold_end = begin + self._ttl_ms / 1000
            self.number += 1

    def _check(self, decision):
        if not decision.allowed:
            raise limited(decision, self._request)
