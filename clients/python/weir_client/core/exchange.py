"""The request that a plan yields, and the two ways in which it gets no reply."""

from typing import NamedTuple, Tuple


class Ask(NamedTuple):
    """A request: send it once, and wait for the reply so many seconds at most."""

    words: Tuple[bytes, ...]
    seconds: float
    apart: bool = False  # not on the connections of other calls, as the reply takes long
    closes: bool = False  # on a connection that is closed after it


class Lost(Exception):
    """Thrown into a plan: no reply. `cause` is one of causes.CAUSES."""

    def __init__(self, cause, text="", is_final=False):
        super().__init__(text)
        self.cause = cause
        self.is_final = is_final  # the Limiter is closed: asking again is of no use


class Refused(Exception):
    """Thrown into a plan: an error of the server, with its whole text."""

    def __init__(self, text, is_login=False):
        super().__init__(text)
        self.text = text
        self.is_login = is_login  # it was the answer to AUTH
