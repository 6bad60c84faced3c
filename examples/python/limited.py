"""A wrapper that asks weir before an action and runs it, or says when it would be allowed.

    gate = Gate(port=7379, fail_open=True)

    greet = gate.limited(say_hello, "greetings", "10/s", "1000/h")
    greet("ann")                          # says hello, or raises Limited

    mail = gate.limited(send_mail, lambda to: f"mail:{to}", "3/h")      # a key from the arguments

weir has 50 ms to answer: half to connect, if there is no connection, and half to reply. If it does
not answer, or answers that it cannot limit (AWAY below), the action is run (`fail_open=True`) or
Limited is raised (`fail_open=False`), and the next call connects again. Nothing is sent twice: a
request whose reply was lost may have been charged, and a second one would be charged again.

A mistake in a limit is not an outage: it raises redis.ResponseError, which names it. A Gate is
thread-safe.

Needs redis-py 4 or later (`apt-get install python3-redis`).
"""

import functools

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

DEADLINE_SECONDS = 0.050

# Errors of a server that runs but cannot limit. For some of them redis-py has a class, and then
# cuts off the first word of the text; which ones depends on its version.
AWAY = ("LOADING ", "MISCONF ", "READONLY ", "NOREPLICAS ", "NOACK ", "MASTERDOWN ",
        "CLUSTERDOWN ", "BUSY ", "OOM ", "NOAUTH ", "max number of clients reached")
AWAY_CLASSES = tuple(
    getattr(redis.exceptions, name)
    for name in ("ConnectionError", "TimeoutError", "ReadOnlyError", "MasterDownError",
                 "ClusterDownError", "OutOfMemoryError")
    if hasattr(redis.exceptions, name)
)


class Limited(Exception):
    """Raised instead of an action. `retry_after` is in seconds; None: never, or weir is away."""

    def __init__(self, key, retry_after):
        super().__init__(f"{key} is limited")
        self.key = key
        self.retry_after = retry_after


class Gate:
    def __init__(
        self, host="127.0.0.1", port=7379, *, fail_open=True, deadline_seconds=DEADLINE_SECONDS
    ):
        self.fail_open = fail_open
        self._weir = redis.Redis(
            host=host,
            port=port,
            socket_connect_timeout=deadline_seconds / 2,
            socket_timeout=deadline_seconds / 2,
            retry=Retry(NoBackoff(), 0),  # a second request would be charged again
        )

    def check(self, key, *limits):
        """Takes a token from each limit, or raises Limited."""
        try:
            reply = self._weir.execute_command("RL.ALLOW", key, *limits)
        except redis.RedisError as error:
            if not isinstance(error, AWAY_CLASSES) and not str(error).startswith(AWAY):
                raise
            if self.fail_open:
                return
            raise Limited(key, None) from error
        allowed, _, retry_after_ms, *_ = reply
        if not allowed:
            raise Limited(key, retry_after_ms / 1000 if retry_after_ms >= 0 else None)

    def limited(self, action, key, *limits):
        """Returns a function that asks weir, then calls `action` with its own arguments.

        `key` is a string, or a function that makes one from these arguments.
        """

        @functools.wraps(action)
        def asked(*arguments, **named):
            self.check(key(*arguments, **named) if callable(key) else key, *limits)
            return action(*arguments, **named)

        return asked

    def close(self):
        self._weir.close()
