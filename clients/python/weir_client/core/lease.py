"""The plans of a lease: a hold that is renewed by heartbeats, and lost if they are not answered."""

from .errors import Mistake
from .forks import begin_in_children
from .hold import HoldPlans

HEARTBEATS = 3  # in a time to live


class LeasePlans:
    """One lease. Its plans must not be played at the same time."""

    def __init__(self, engine, ttl, given):
        self._clock = engine.clock
        self._hold = HoldPlans(engine, ttl, given)
        self._is_lost = False
        self._end = None  # weir keeps the hold until then at least; None: there is no lease
        self.interval = self._hold.seconds / HEARTBEATS
        begin_in_children(self)

    @property
    def has_slot(self):
        """Whether there is a lease to renew: not before open(), nor without an answer to it."""
        return self._end is not None

    @property
    def lost(self):
        """Whether weir may have given the slot to another worker. It goes by the clock, so it is
        in time even if the heartbeat is late."""
        return self._is_lost or (self._end is not None and self._clock() >= self._end)

    def begin_in_child(self):
        """There is no lease in a child process: it is the parent's."""
        self._hold.is_open, self._end = False, None

    def open(self):
        """A plan: takes the slot, or raises Limited."""
        begin = self._clock()
        yield from self._hold.reserve()
        if self._hold.is_open:
            self._end = begin + self._hold.seconds

    def beat(self):
        """A plan: renews the lease. It is lost if weir has forgotten it."""
        now = self._clock()
        if not self._hold.is_open or self._is_lost or self._end is None or now >= self._end:
            return  # released, or a renewal would be a new request
        try:
            decision = yield from self._hold.ask()
        except Mistake:
            decision = None
        if decision is None or decision.reason in ("denied", "never"):
            self._is_lost = True
            self._hold.is_open = False
        elif decision.reason == "unavailable":
            pass  # the next may be answered
        elif self._clock() >= self._end:  # it may have been a new request
            self._is_lost = True
            yield from self._hold.cancel()
        else:
            self._end = now + self._hold.seconds

    def release(self):
        """A plan: frees the slot. Returns whether it was held until now. Raises nothing."""
        if self._end is None:
            return False
        self._is_lost, self._end = self.lost, None
        try:
            settled = yield from self._hold.settle(0)
        except Mistake:
            return False  # it expires
        return settled and not self._is_lost
