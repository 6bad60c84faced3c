"""A wrapper that asks weir before an action and runs it, or says when it would be allowed.

    gate = Gate(port=7379, fail_open=True)

    greet = gate.limited(say_hello, "greetings", "10/s", "1000/h")      # the words of RL.ALLOW
    greet("ann")                          # says hello, or raises Limited

    mail = gate.limited(send_mail, lambda to: f"mail:{to}", "3/h", "AND", "mailer", "100/m")

    api = gate.slice(50, 1.0, "api", "1000/s")    # asks weir once for 50 tokens, kept for 1 s
    api.spend()                           # or raises Limited

weir has 50 ms to answer: half to connect, if there is no connection, and half to reply. If it does
not answer, or answers that it cannot limit (AWAY below), the action is run (`fail_open=True`) or
Limited is raised (`fail_open=False`), and the next call connects again. Nothing is sent twice: a
request whose reply was lost may have been charged, and a second one would be charged again. Only
holds, which have an id, are sent twice: hold.py and lease.py.

A denial holds for the time that it names, so the same words are not asked again during that time,
for a second at most: a key under attack costs one request per second.

A mistake in a limit is not an outage: it raises redis.ResponseError, which names it. A Gate and
its slices are thread-safe.

Needs redis-py 4 or later (`apt-get install python3-redis`).
"""

import functools
import threading
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

DEADLINE_SECONDS = 0.050
DENIAL_SECONDS = 1.0  # the longest that a denial is kept
DENIALS_MAX = 10_000

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
# Of no reply at all. Their subclasses are of errors that the server has sent.
LOST = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)


class Limited(Exception):
    """Raised instead of an action. `retry_after` is in seconds; None: never, or weir is away."""

    def __init__(self, key, retry_after):
        super().__init__(f"{key} is limited")
        self.key = key
        self.retry_after = retry_after


class NoAnswer(Exception):
    """weir does not answer, or answers that it cannot limit. Callers of a Gate never see it."""


def split_at_and(words):
    """The groups of a request: a key, its limits and its cost."""
    groups = [[]]
    for word in words:
        if groups[-1] and isinstance(word, (str, bytes)) and word.upper() in ("AND", b"AND"):
            groups.append([])
        else:
            groups[-1].append(word)
    return groups


def join_with_and(groups):
    """The words of a request."""
    return tuple(word for group in groups for word in ("AND", *group))[1:]


class Gate:
    def __init__(
        self,
        host="127.0.0.1",
        port=7379,
        *,
        fail_open=True,
        deadline_seconds=DEADLINE_SECONDS,
        clock=time.monotonic,
        every=None,
    ):
        """`clock` and `every`, the heartbeat of leases (lease.py), are replaced in tests."""
        self.fail_open = fail_open
        self.deadline_seconds = deadline_seconds
        self.clock = clock
        self.every = every
        self._lock = threading.Lock()
        self._denials = {}  # words -> (kept until, key, time to retry or None)
        self._weir = redis.Redis(
            host=host,
            port=port,
            socket_connect_timeout=deadline_seconds / 2,
            socket_timeout=deadline_seconds / 2,
            retry=Retry(NoBackoff(), 0),  # a second request would be charged again
        )

    def check(self, *words):
        """Takes a token from each limit, or raises Limited.

        The words are those of RL.ALLOW: a key and its limits, then perhaps AND, a key, its limits.
        """
        self.ask("RL.ALLOW", words)

    def limited(self, action, *words):
        """Returns a function that asks weir, then calls `action` with its own arguments.

        A word is a string, or a function that makes one from these arguments.
        """

        @functools.wraps(action)
        def asked(*arguments, **named):
            self.check(*(word(*arguments, **named) if callable(word) else word for word in words))
            return action(*arguments, **named)

        return asked

    def slice(self, size, seconds, *words):
        """Returns a Slice of these limits, which must not have costs."""
        return Slice(self, size, seconds, words)

    def close(self):
        self._weir.close()

    def ask(self, command, words, *options):
        """Returns the tokens that weir grants, or None if it does not answer; or raises Limited."""
        now = self.clock()
        with self._lock:
            kept_until, key, retry_at = self._denials.get(words, (now, None, None))
        if now < kept_until:
            raise Limited(key, None if retry_at is None else retry_at - now)
        try:
            return self.decide(command, words, *options)
        except Limited as denial:
            self._keep(words, now, denial)
            raise
        except NoAnswer as error:
            return self.no_answer(words, error)

    def decide(self, command, words, *options, tries=1):
        """Returns the tokens that weir grants, or raises Limited or NoAnswer. Keeps no denial."""
        groups = split_at_and(words)
        if len(groups) > 1:
            options += ("WITHLIMITS",)  # says which key was denied
        granted, _, retry_after_ms, _, decisive, *rows = self.call(
            command, *words, *options, tries=tries
        )
        if granted:
            return granted
        key = words[0]
        if rows:
            row = rows[0][decisive]
            if len(row) < 7:
                raise redis.ResponseError("AND needs weir 0.2 or later")
            key = groups[row[6]][0]
        raise Limited(key, retry_after_ms / 1000 if retry_after_ms >= 0 else None)

    def call(self, *words, tries=1):
        """Returns weir's reply, or raises NoAnswer; `tries` > 1: if it is lost, asks again."""
        try:
            return self._weir.execute_command(*words)
        except redis.RedisError as error:
            if not isinstance(error, AWAY_CLASSES) and not str(error).startswith(AWAY):
                raise
            if tries == 1 or type(error) not in LOST or str(error).startswith(AWAY):
                raise NoAnswer from error
        return self.call(*words, tries=tries - 1)

    def no_answer(self, words, cause=None):
        if not self.fail_open:
            raise Limited(words[0], None) from cause

    def refund(self, words, tokens):
        """Gives tokens back. A refund that fails is not repeated: it may have been made."""
        refund = join_with_and([*group, "COST", tokens] for group in split_at_and(words))
        try:
            self.call("RL.REFUND", *refund)
        except (redis.RedisError, NoAnswer):
            pass  # the tokens come back in time

    def _keep(self, words, now, denial):
        retry_after = denial.retry_after
        seconds = DENIAL_SECONDS if retry_after is None else min(retry_after, DENIAL_SECONDS)
        with self._lock:
            if len(self._denials) >= DENIALS_MAX:
                self._denials.clear()
            retry_at = None if retry_after is None else now + retry_after
            self._denials[words] = now + seconds, denial.key, retry_at


class Slice:
    """Tokens that are taken at once, spent one by one, and given back when their time is over.

    For a key that is asked too often to ask weir each time. The time should be short: until its end
    other processes lack the tokens that are left, and time refills a bucket from which they were
    taken. A slice whose reply is lost is not given back, as it may not have been taken.
    """

    def __init__(self, gate, size, seconds, words):
        self._gate = gate
        self._size = size
        self._seconds = seconds
        self._words = words
        self._lock = threading.Lock()  # held during a request: other threads await its tokens
        self._left = 0
        self._end = 0
        self._timer = None

    def spend(self):
        """Spends a token, or raises Limited."""
        if not self._lock.acquire(timeout=self._gate.deadline_seconds):
            self._gate.no_answer(self._words)
            return
        try:
            now = self._gate.clock()
            if now >= self._end:
                self._give_back()
            if self._left == 0:
                granted = self._gate.ask("RL.TAKE", self._words, "UPTO", self._size)
                if granted is None:
                    return
                self._left = granted
                self._end = now + self._seconds
                self._start_timer()
            self._left -= 1
        finally:
            self._lock.release()

    def give_back(self):
        """Gives back what is left; call it before the program ends."""
        with self._lock:
            self._give_back()

    def _give_back(self):
        tokens, self._left = self._left, 0
        if tokens > 0:
            self._gate.refund(self._words, tokens)

    def _start_timer(self):
        if self._timer:
            self._timer.cancel()
        self._timer = threading.Timer(self._seconds, self._give_back_at, [self._end])
        self._timer.daemon = True
        self._timer.start()

    def _give_back_at(self, end):
        with self._lock:
            if self._end == end:  # else the tokens are newer ones
                self._give_back()
