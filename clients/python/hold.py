"""A reservation of what an action will use, as estimated, that is settled with what it did use.

    with reserved(gate, 1500, 120, "team:7", "5,held", "100k/m,cost={}") as hold:  # or Limited
        hold.settle(call_model())         # frees the slot, charges 812 tokens and not 1500

Each `cost={}` is the estimate's place; the other limits are charged as they stand. A scope that is
left without settle(), as by an exception, cancels: all of it is given back at once. So it is after
the time to live, here 120 s, if the program dies.

A request whose reply is lost is sent once more. It has the same id, a random one, so it is charged
once. A Gate that fails open runs the action while weir is away; then there is no hold, and settle()
does nothing. A denial is not kept, as a slot may be free at any time.

A Hold is for one thread at a time.
"""

import secrets

import redis

from limited import NoAnswer, join_with_and, split_at_and

TRIES = 2


def reserved(gate, estimate, seconds, *words):
    """Returns a Hold of these words of RL.RESERVE, or raises Limited."""
    hold = Hold(gate, estimate, seconds, words)
    hold.reserve()
    return hold


class Hold:
    def __init__(self, gate, estimate, seconds, words):
        self.is_open = False  # weir may have the hold, not settled
        self._gate = gate
        self._groups = split_at_and(words)
        self._words = join_with_and(with_cost(self._groups, estimate, rest=True))
        self._hold = "HOLD", secrets.token_hex(16)
        self._ttl = "TTL", max(1, round(seconds * 1000))
        self.seconds = self._ttl[1] / 1000
        self._is_settled = False
        self._has_settled = False  # has tried to

    def reserve(self):
        """Reserves, or raises Limited; without an answer, as the gate was told."""
        try:
            self.ask()
            self.is_open = True
        except NoAnswer as error:
            self._gate.no_answer(self._words, error)

    def ask(self):
        """Reserves, or renews the time to live of what is reserved; or raises Limited, NoAnswer."""
        self._gate.decide("RL.RESERVE", self._words, *self._hold, *self._ttl, tries=TRIES)

    def settle(self, used):
        """Charges what was used in place of the estimate. Returns whether that is so.

        It is not if there is no hold, if it has expired, or if weir does not answer; only then can
        it be repeated.
        """
        if self.is_open:
            self._has_settled = True
            self._is_settled = self._end("RL.COMMIT", with_cost(self._groups, used, rest=False))
        return self._is_settled

    def settle_or_charge(self, used):
        """Settles; if the hold has expired, charges what was used. Returns whether it is settled.

        A hold that expires gives back all that it reserved. So a budget that must not be
        undercounted wants this, and one that must not be overdrawn wants settle().
        """
        was_open = self.is_open
        if not self.settle(used) and was_open and not self.is_open:
            groups = with_cost(self._groups, used, rest=False)
            charge = join_with_and(group for group in groups if len(group) > 1)
            try:
                if charge:
                    self._gate.call("RL.CHARGE", *charge)
            except NoAnswer:
                pass  # it may have been charged, so it is not repeated
        return self._is_settled

    def cancel(self):
        """Gives all of it back, unless it has been settled."""
        try:
            if self.is_open and not self._has_settled:
                self._end("RL.CANCEL", [group[:1] for group in self._groups])
        except redis.RedisError:
            pass  # it expires

    def _end(self, command, groups):
        """Ends the hold. Returns whether weir had it."""
        try:
            reply = self._gate.call(command, *join_with_and(groups), *self._hold, tries=TRIES)
        except NoAnswer:
            return False
        self.is_open = False
        return reply[0] == 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cancel()


def with_cost(groups, cost, *, rest):
    """The groups with the cost in its place; without `rest`, only their keys and those limits."""
    return [
        [*group[:1], *(put(word, cost) for word in group[1:] if rest or put(word, cost) != word)]
        for group in groups
    ]


def put(word, cost):
    if isinstance(word, bytes):
        return word.replace(b"cost={}", b"cost=%d" % cost)
    return word.replace("cost={}", f"cost={cost}") if isinstance(word, str) else word
