"""Asks weir before an action: runs it, or says when it would be allowed.

    gate = Gate(port=7379, fail_open=True)

    greet = gate.limited(say_hello, "greetings", "10/s", "1000/h")
    greet("ann")                          # says hello, or raises Limited

    mail = gate.limited(send_mail, lambda to: f"mail:{to}", "3/h")      # a key from the arguments

weir has 50 ms to answer: half for connecting, where there is no connection, half for the reply.
If it does not, or if it says that it cannot (AWAY below), the action is run (`fail_open=True`) or
Limited is raised (`fail_open=False`). The next call connects again. Nothing is sent twice: a
request whose reply was lost may have been charged, and a second one would be charged again.

A mistake in the limit's words is no outage: redis.ResponseError says what is wrong. Thread-safe.

Needs redis-py 4 or later (`apt-get install python3-redis`).
"""

import functools

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

DEADLINE_SECONDS = 0.050

# Errors of a server that is there and cannot limit. redis-py makes classes of some of them and cuts
# the first word off those; which ones depends on its version.
AWAY = ("LOADING ", "MISCONF ", "READONLY ", "NOREPLICAS ", "NOACK ", "MASTERDOWN ",
        "CLUSTERDOWN ", "BUSY ", "OOM ", "NOAUTH ", "max number of clients reached")
AWAY_CLASSES = tuple(
    getattr(redis.exceptions, name)
    for name in ("ConnectionError", "TimeoutError", "ReadOnlyError", "MasterDownError",
                 "ClusterDownError", "OutOfMemoryError")
    if hasattr(redis.exceptions, name)
)


class Limited(Exception):
    """Not now. `retry_after` is in seconds; None: never, or weir does not answer."""

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
            retry=Retry(NoBackoff(), 0),  # as a second request would be charged again
        )

    def check(self, key, *limits):
        """Takes a token of each limit, or raises Limited."""
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
        """`action`, asked for first. `key` is a string, or makes one of the action's arguments."""

        @functools.wraps(action)
        def asked(*arguments, **named):
            self.check(key(*arguments, **named) if callable(key) else key, *limits)
            return action(*arguments, **named)

        return asked

    def close(self):
        self._weir.close()
