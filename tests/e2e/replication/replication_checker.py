"""The judge of a history of requests: tokens that a key got beyond what its limit allows.

A limit of `burst` tokens that refills `count` tokens in `period` ns admits in any span of time t at
most burst + t * count / period tokens, however often servers die in it and others take over. The
requests that surely lie within a span are those that were invoked at or after its begin and
completed at or before its end; so a key's excess is the greatest, over all requests i and j, of

    admitted(i..j) - burst - (completed_j - invoked_i) * count / period

where admitted(i..j) counts the tokens of the requests that were invoked at or after i and completed
at or before j. A request without an answer counts as not admitted: the server may have charged it,
but the client got nothing. Times are nanoseconds of one clock that all clients share.
"""

import collections
from fractions import Fraction
from typing import NamedTuple


class Limit(NamedTuple):
    burst: int  # tokens
    count: int  # tokens in a period
    period: int  # ns


class Request(NamedTuple):
    """A request that was answered; `tokens` is 0 if it was denied."""

    invoked: int
    completed: int
    tokens: int
    server: int = 0  # that answered: its port, or any other number


class Starts:
    """For each start of a span, a value; adds to the first ones, and finds the greatest."""

    ABSENT = -(1 << 200)

    def __init__(self, count):
        self._size = 1
        while self._size < max(1, count):
            self._size *= 2
        self._most = [self.ABSENT] * (2 * self._size)
        self._added = [0] * (2 * self._size)  # to all below a node, and not yet in its children

    def add_to_first(self, end, value):
        """Adds to the starts before index `end`."""
        self._add(1, 0, self._size, end, value)

    def greatest(self):
        return self._most[1]

    def _add(self, node, begin, stop, end, value):
        if begin >= end:
            return
        if stop <= end:
            self._most[node] += value
            self._added[node] += value
            return
        middle = (begin + stop) // 2
        self._add(2 * node, begin, middle, end, value)
        self._add(2 * node + 1, middle, stop, end, value)
        children = self._most[2 * node], self._most[2 * node + 1]
        self._most[node] = max(children) + self._added[node]

    def enable(self, index, value):
        """Gives the start of an index, absent so far, a value on top of what was added to it."""
        self._add_at(1, 0, self._size, index, value - self.ABSENT)

    def _add_at(self, node, begin, stop, index, value):
        if stop - begin == 1:
            self._most[node] += value
            self._added[node] += value
            return
        middle = (begin + stop) // 2
        if index < middle:
            self._add_at(2 * node, begin, middle, index, value)
        else:
            self._add_at(2 * node + 1, middle, stop, index, value)
        children = self._most[2 * node], self._most[2 * node + 1]
        self._most[node] = max(children) + self._added[node]


def excess(limit, requests):
    """The tokens that one key got too many, as a Fraction; 0 if there are none.

    Cost: n * log(n) for n admitted requests.
    """
    admitted = sorted((r for r in requests if r.tokens > 0), key=lambda r: r.invoked)
    starts = Starts(len(admitted))
    greatest = 0  # in tokens times the period, so that all is exact
    # The ends of spans in their order. A span that ends with j may begin with each request that has
    # been completed by then.
    for index in sorted(range(len(admitted)), key=lambda i: admitted[i].completed):
        request = admitted[index]
        starts.enable(index, request.invoked * limit.count)
        starts.add_to_first(index + 1, request.tokens * limit.period)
        most = starts.greatest() - request.completed * limit.count - limit.burst * limit.period
        greatest = max(greatest, most)
    return Fraction(greatest, limit.period)


class History:
    """The requests of all keys, of several clients. Each client appends to a list of its own."""

    def __init__(self):
        self._clients = []

    def client(self):
        """A new client's list of (key, Request)."""
        self._clients.append([])
        return self._clients[-1]

    def of_keys(self, server=None):
        """key -> its requests, of all servers or of one."""
        keys = {}
        for client in self._clients:
            for key, request in client:
                if server in (None, request.server):
                    keys.setdefault(key, []).append(request)
        return keys

    def excesses(self, limit, server=None):
        """key -> the tokens that it got too many, without the keys that got none."""
        found = {key: excess(limit, requests) for key, requests in self.of_keys(server).items()}
        return {key: tokens for key, tokens in found.items() if tokens > 0}

    def admitted(self, server=None, since=0):
        """key -> the tokens of its requests that were completed at a time or later; or 0."""
        keys = collections.Counter()
        for key, requests in self.of_keys(server).items():
            keys[key] = sum(r.tokens for r in requests if r.completed >= since)
        return keys
