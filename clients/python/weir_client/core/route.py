"""The way to a server: which Sentinel to ask, where the primary is, and the login.

Both wires play the plan that connects, `connecting`, as the Limiters play those of calls.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple

from .address import Place
from .exchange import Lost, Refused


class Dial(NamedTuple):
    """Yielded by `connecting`: connect there, within so many seconds. Is sent the link."""

    place: Place
    seconds: float


class Say(NamedTuple):
    """Yielded by `connecting`: ask this on the link. Is sent the reply."""

    link: object
    words: Tuple[bytes, ...]


class Hang(NamedTuple):
    """Yielded by `connecting`: close the link."""

    link: object


class Route:
    """Knows the primary that Sentinels have named, and asks the Sentinel first that did."""

    def __init__(self, settings):
        self._address = settings.address
        self._sentinels = self._address.places
        # For one Sentinel: if some are silent, there is time left for the others and the primary.
        share = settings.connect_seconds / (len(self._sentinels) + 1)
        self._seconds = min(settings.deadline, share)
        self._primary = None if self._address.master else self._address.places[0]

    def forget(self):
        """The primary is to be asked for again, if Sentinels know it."""
        if self._address.master:
            self._primary = None

    def connecting(self, seconds):
        """A plan: a link to the server, logged in. Raises Lost or Refused."""
        primary = self._primary or (yield from self._ask_sentinels())
        link = yield Dial(primary, seconds)
        if self._address.has_login:
            user = (self._address.username.encode(),) if self._address.username else ()
            password = (self._address.password or "").encode()
            try:
                yield Say(link, (b"AUTH", *user, password))
            except Refused as refused:
                yield Hang(link)
                raise Refused(refused.text, is_login=True) from None
        return link

    def _ask_sentinels(self):
        """A plan: the primary's place."""
        name = self._address.master.encode()
        for sentinel in self._sentinels:
            try:
                link = yield Dial(sentinel, self._seconds)
            except Lost:
                continue
            try:
                reply = yield Say(link, (b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", name))
            except (Lost, Refused):
                reply = None
            yield Hang(link)
            if reply:
                others = (each for each in self._sentinels if each != sentinel)
                self._sentinels = (sentinel, *others)  # threads may do so at the same time
                self._primary = Place(reply[0].decode(), int(reply[1]))
                return self._primary
        raise Lost("noprimary", "no Sentinel names a primary")
