"""The options of a Limiter, checked, of threads and asyncio alike."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from typing import Callable, Optional

from .address import Address, address_of, parse_deadline, parse_fail
from .errors import Mistake

DEADLINE_SECONDS = 0.050
CONNECT_SECONDS = 1.0  # the least time for connecting, also if its call has ended


@dataclass(frozen=True)
class Settings:
    address: Address
    tls: Optional[ssl.SSLContext]
    deadline: float
    fail: str
    on_unavailable: Optional[Callable[[str], None]]
    clock: Callable[[], float]
    every: Optional[Callable]

    @property
    def connect_seconds(self):
        """How long connecting may take: of a patient call as long as that."""
        return max(CONNECT_SECONDS, self.deadline)

    @classmethod
    def of(cls, url=None, *, host=None, port=None, unix_socket=None, username=None, password=None,
           tls=None, sentinels=None, master=None, deadline=None, fail=None, on_unavailable=None,
           clock=time.monotonic, every=None):
        """The settings; see Limiter. Raises Mistake or TypeError."""
        address = address_of(
            url, host, port, unix_socket, sentinels, master, username=username,
            password=password, uses_tls=bool(tls) or None,
            deadline=None if deadline is None else parse_deadline(deadline),
            fail=None if fail is None else parse_fail(fail),
        )
        if on_unavailable is not None and not callable(on_unavailable):
            raise TypeError("on_unavailable is no function")
        return cls(
            address, _context(tls, address), address.deadline or DEADLINE_SECONDS,
            address.fail or "open", on_unavailable, clock, every,
        )


def _context(tls, address):
    if isinstance(tls, ssl.SSLContext):
        if address.ca:
            raise Mistake("both the URL and the object `tls` say the authorities")
        return tls
    if tls not in (None, True, False):
        raise TypeError(f"tls is of type {type(tls).__name__}, not bool or ssl.SSLContext")
    if not address.uses_tls:
        return None
    return ssl.create_default_context(cafile=address.ca or None)
