"""The exceptions that callers see."""


class Mistake(Exception):
    """The program, its configuration or its user is wrong: a bad limit, a bad URL, NOPERM.

    It is raised also by a Limiter that fails open, since it does not pass with time.
    """

    @property
    def is_unknown_command(self):
        """Whether the server is too old for the command."""
        return str(self).startswith("ERR unknown command ")


class Unavailable(Exception):
    """weir gave no answer, or cannot limit now. Raised by `command` and `verify` only: the other
    calls return a Decision. `cause` is one of causes.CAUSES."""

    def __init__(self, cause, text=""):
        super().__init__(f"weir is unavailable ({cause})" + (f": {text}" if text else ""))
        self.cause = cause
        self._text = text

    def __reduce__(self):
        return type(self), (self.cause, self._text)


class Limited(Exception):
    """Raised in place of an action that may not run.

    key          the key whose limit decided, as the caller wrote it
    retry_after  seconds until the same call would pass; None for never and for not known
    decision     the whole Decision; its `reason` is "unavailable" if weir is away
    """

    def __init__(self, key, decision):
        super().__init__(f"{key!r} is limited ({decision.reason})")
        self.key = key
        self.retry_after = decision.retry_after
        self.decision = decision

    def __reduce__(self):
        return type(self), (self.key, self.decision)
