"""The plans of a reservation, which is settled with what was really used, or cancelled."""

import secrets

from .engine import HOLD_TRIES, limited
from .errors import Mistake, Unavailable
from .numbers import seconds, whole_number


class HoldPlans:
    """One hold, with a random id. Not for several callers at once."""

    def __init__(self, engine, ttl, given, estimate=None):
        self.is_open = False  # weir may have the hold, not settled
        self._engine = engine
        self._request = engine.request(given)
        if estimate is not None:
            whole_number(estimate, "the estimate")
        if estimate is None and any(b"cost={}" in word for word in self._request.words):
            raise Mistake("cost={} needs an estimate")
        self._words = self._request.with_cost(estimate or 0)
        self._ttl_ms = max(1, round(seconds(ttl, "the time to live") * 1000))
        self.seconds = self._ttl_ms / 1000
        self._hold = b"HOLD", secrets.token_hex(16).encode()
        self._is_settled = False
        self._has_settled = False  # has tried to

    def reserve(self):
        """A plan: reserves, or begins the time to live again. Returns the Decision, or raises
        Limited. Without an answer there is no hold, and a Limiter that fails open goes on."""
        decision = yield from self.ask()
        if not decision.allowed:
            raise limited(decision, self._request)
        self.is_open = decision.reason == "allowed"
        return decision

    def ask(self):
        """A plan: the Decision of RL.RESERVE."""
        return self._engine.decide(
            b"RL.RESERVE", self._request, self._words,
            *self._hold, b"TTL", b"%d" % self._ttl_ms, tries=HOLD_TRIES,
        )

    def settle(self, used):
        """A plan: charges what was used in place of the estimate. Returns whether that is so.

        It is not if there is no hold, if it has expired, or if weir does not answer; only then
        can it be repeated.
        """
        whole_number(used, "what was used")  # else the hold stays as it is
        if self.is_open:
            self._has_settled = True
            self._is_settled = yield from self._end(b"RL.COMMIT", self._request.costs(used))
        return self._is_settled

    def settle_or_charge(self, used):
        """A plan: settles; if the hold has expired, charges what was used. Returns whether it is
        settled. A charge is not repeated: it may have been made."""
        was_open = self.is_open
        settled = yield from self.settle(used)
        if not settled and was_open and not self.is_open:
            words = self._request.costs(used, keys_without=False)
            if words:
                yield from self._try(b"RL.CHARGE", *words)
        return settled

    def cancel(self):
        """A plan: gives all of it back, unless it has been settled. Raises nothing: it expires."""
        if self.is_open and not self._has_settled:
            try:
                yield from self._end(b"RL.CANCEL", self._request.keys())
            except Mistake:
                self._engine.counters.add("mistakes")

    def _end(self, command, words):
        """A plan: ends the hold. Returns whether weir had it."""
        reply = yield from self._try(command, *words, *self._hold, tries=HOLD_TRIES)
        if reply is None:
            return False
        self.is_open = False
        return reply[0] == 1

    def _try(self, *words, tries=1):
        """A plan: the reply, or None without an answer."""
        try:
            return (yield from self._engine.call(words, tries=tries))
        except Unavailable as error:
            self._engine.without_answer(error.cause)
            return None
