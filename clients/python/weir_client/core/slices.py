"""The plans of a slice: tokens that are taken at once and spent one by one without asking.

For a key that is asked too often to ask weir each time. RL.SLICE says how many tokens there are and
how long they may be spent. What is left then comes back with the commit of what was spent. A slice
that is not committed counts as spent, so a process that dies admits nothing twice. Where weir gives
no slices of these limits, or a slice comes later than its life, each token is asked for.

Several keys (AND), and a weir that does not know RL.SLICE, have RL.TAKE with a hold instead. That
comes back at its end: so a process that dies again and again may admit a slice more each time.

A commit that is not answered is kept and repeated, as long as weir would know that it has made it
already.
"""

import secrets
from typing import NamedTuple

from .decision import read_decision
from .engine import HOLD_TRIES, limited
from .errors import Mistake, Unavailable
from .forks import begin_in_children
from .numbers import seconds as seconds_of
from .numbers import whole_number

# The hold of RL.TAKE outlives its time by two deadlines for the last request, and two for the
# commit.
DEADLINES_BEYOND = 4
COMMIT_SECONDS = 60.0  # weir remembers a commit so long, or until the hold would have ended
OTHERWISE_SECONDS = 10.0  # so long is asked otherwise where there are no slices
MARGIN_US = 1000  # and a thousandth: clocks drift


class _Spent(NamedTuple):
    """What is to be committed."""

    hold: bytes
    tokens: int
    end: float  # when weir may have forgotten a commit
    lapses: bool


class SlicePlans:
    """Its plans must not be played at the same time, but for settle_again, which may be played
    beside the others. The limits of several keys must not say cost=."""

    def __init__(self, engine, size, seconds, given):
        self._engine = engine
        self._request = engine.request(given)
        self._size = b"%d" % whole_number(size, "the size of a slice", least=1)
        self._time = seconds_of(seconds, "the time of a slice")
        self._otherwise = b"RL.TAKE" if self._request.has_several_keys else None
        self._otherwise_until = float("inf")
        self.number = 0  # of slices taken
        self.seconds = 0.0  # of the present one, from when it came
        self._life_us = None  # in the last reply to RL.SLICE
        self._hold = None  # the id of the present one
        self._lapses = False
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
            yield from self._ask()
        if self._hold is not None:
            self._left -= 1
            self._spent += 1
            if self.seconds <= 0:  # the reply came late: the token is weir's word, the others not
                yield from self.give_back()

    @property
    def is_open(self):
        """Whether there is a slice."""
        return self._hold is not None

    def give_back(self, number=None):
        """A plan: settles the present slice, or that of this number if it is still present."""
        if self._hold is None or number not in (None, self.number):
            return
        end = min(self._hold_end, self._engine.clock() + COMMIT_SECONDS)
        spent = _Spent(self._hold, self._spent, end, self._lapses)
        is_settled = self._lapses and self._left == 0  # it counts as spent anyway
        self._hold, self._left, self._spent = None, 0, 0
        if is_settled:
            return
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
        # Too late: of a slice nothing has come back, of a hold all.
        if reply[0] == 0 and spent.tokens > 0 and not spent.lapses:
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

    def _ask(self):
        """A plan: asks for a slice, or for a token. Raises Limited."""
        begin = self._engine.clock()
        if self._otherwise is not None and begin >= self._otherwise_until:
            self._otherwise = None
        hold = secrets.token_hex(16).encode()
        if self._otherwise is None:
            yield from self._slice(begin, hold)
        elif self._otherwise == b"RL.TAKE":
            yield from self._take(begin, hold)
        else:
            decision = yield from self._engine.decide_or_keep(self._otherwise, self._request)
            self._check(decision)

    def _slice(self, begin, hold):
        self._life_us = None
        try:
            decision = yield from self._engine.decide_or_keep(
                b"RL.SLICE", self._request, b"NEED", b"1", b"UNIT", b"1", b"UPTO", self._size,
                b"HOLD", hold, b"TTL", b"%d" % max(1, round(self._time * 1000)),
                read=self._read_slice,
            )
        except Mistake as mistake:
            if not mistake.is_unknown_command:
                raise
            self._ask_otherwise(b"RL.TAKE", begin)
            yield from self._take(begin, hold)
            return
        life_us = self._life_us
        if life_us == 0:
            self._ask_otherwise(b"RL.ALLOW", begin)
        self._check(decision)
        if life_us and decision.reason == "allowed":
            time = (life_us - life_us // 1000 - MARGIN_US) / 1e6
            self._begin(hold, decision.granted, begin + time, begin + life_us / 1e6, lapses=True)
            if self.seconds <= 0:  # it came late, and so would the next ones
                self._ask_otherwise(b"RL.ALLOW", begin)

    def _read_slice(self, reply, request):
        granted, remaining, retry_after_us, reset_after_us, limit, self._life_us, *_ = reply
        times = (us if us < 0 else -(-us // 1000) for us in (retry_after_us, reset_after_us))
        return read_decision((granted, remaining, *times, limit), request)

    def _ask_otherwise(self, command, begin):
        self._otherwise, self._otherwise_until = command, begin + OTHERWISE_SECONDS

    def _take(self, begin, hold):
        ttl_ms = round((self._time + DEADLINES_BEYOND * self._engine.deadline) * 1000)
        decision = yield from self._engine.decide_or_keep(
            b"RL.TAKE", self._request,
            b"UPTO", self._size, b"HOLD", hold, b"TTL", b"%d" % ttl_ms,
        )
        self._check(decision)
        if decision.reason == "allowed":
            self._begin(hold, decision.granted, begin + self._time, begin + ttl_ms / 1000)

    def _begin(self, hold, tokens, end, hold_end, lapses=False):
        self._hold, self._left, self._lapses = hold, tokens, lapses
        self._end, self._hold_end = end, hold_end
        self.seconds = end - self._engine.clock()
        self.number += 1

    def _check(self, decision):
        if not decision.allowed:
            raise limited(decision, self._request)
