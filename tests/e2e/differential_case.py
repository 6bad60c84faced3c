"""The form of a case of the differential test: requests on a fresh connection.

A request is a text, whose words are split at blanks; a tuple of words, for those that have blanks
or are not text; or bytes, which are sent unchanged. All requests of a case are sent in one piece,
then the test closes its side of the connection, and all replies are compared byte for byte, except
for a request in Like(), whose reply is compared by its shape.

A case with By() has more connections than one. In it each request waits for its reply, {b.id} in a
text is what CLIENT ID says on connection b, and {b.addr} is its address. Next() is one more thing
that a connection receives: a reply, or its end. Large replies are for such a case, or for one whose
last request is QUIT: Redis forgets what it could not write yet when it sees our side closed.
"""

from typing import Callable, NamedTuple


class Like(NamedTuple):
    """A request whose reply is compared by a shape."""

    request: object
    shape: Callable


class By(NamedTuple):
    """A request on another connection than "a"; None: what that connection receives next."""

    who: str
    request: object


class Own(NamedTuple):
    """A request that each server spells differently; the replies are not compared."""

    redis: str
    weir: str


def Next(who):
    return By(who, None)


class Case(NamedTuple):
    name: str
    requests: tuple


class Group(NamedTuple):
    title: str
    cases: list
    password: bool = False  # of servers that have one: "secret"
    users: bool = False  # of servers that have the users of differential_test.py
    protocols: tuple = (2, 3)
    options: tuple = ()  # more of them, which both servers have


class Difference(NamedTuple):
    why: str
    requests: tuple
    replies: list  # weir's: bytes, or the shape of what is in Like()
    replies3: list = None  # in RESP3, where they are others
    password: bool = False


def case(name, *requests):
    return Case(name, requests)


def each(*requests):
    """A case for each request, named after it."""
    return [Case(repr(r.request if isinstance(r, Like) else r)[:60], (r,)) for r in requests]


def then_ping(*requests):
    """A case for each request and a PING behind it, whose reply shows if the connection is open."""
    return [Case(repr(r)[:60], (r, b"PING\r\n")) for r in requests]
