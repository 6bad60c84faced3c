"""The Limiter of threads, and its scopes: a hold, a lease, a slice.

    limiter = Limiter("redis://app:secret@weir.internal:7379", fail="open", on_unavailable=count)
    decision = limiter.allow("user:42", "10/s", "1000/h")

weir_client.aio has the same for asyncio.
"""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any, Callable, Optional, TypeVar, Union

from .core.counters import Counts
from .core.decision import Decision
from .core.engine import Engine, limited, words_for
from .core.errors import Mistake
from .core.exchange import Lost, Refused
from .core.forks import begin_in_children
from .core.hold import HoldPlans
from .core.lease import LeasePlans
from .core.settings import Settings
from .core.slices import SlicePlans
from .core.words import Word
from .wires.blocking import Wire

Action = TypeVar("Action", bound=Callable[..., Any])

LINKS_MAX = 16
WAITS_MAX = 16


def every(seconds, function):
    """Calls a function again and again, in a thread. Returns a function that ends that."""
    ended = threading.Event()

    def run():
        while not ended.wait(seconds):
            function()

    threading.Thread(target=run, daemon=True).start()
    return ended.set


class Limiter:
    """Asks weir. Thread-safe; it connects with the first call.

    url             redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://; README has
                    their forms. In its place: host and port, or unix_socket, or sentinels (a list
                    of "host:port") and master
    username, password
    tls             True, or an ssl.SSLContext
    deadline        seconds that a call may take; by default 0.05
    fail            "open": without an answer calls are allowed (by default); "closed": they are not
    on_unavailable  called with the cause (a str) at each answer that is missing. Without it the
                    logger weir_client gets a line, at most one a minute
    clock, every    for tests: the time in seconds, and what begins a heartbeat

    `words` are those of RL.ALLOW: a key and its limits, then perhaps AND, another key, its limits;
    COST too. An outage never raises from a call that returns a Decision. A Mistake always does.
    """

    def __init__(self, url: Optional[str] = None, **options: Any) -> None:
        self._settings = Settings.of(url, **options)
        self._engine = Engine(self._settings)
        self._every = self._settings.every or every
        self._wire = Wire(self._settings, LINKS_MAX)
        self._waits = Wire(self._settings, WAITS_MAX, is_busy_when_full=True)

    def allow(self, *words: Word, details: bool = False) -> Decision:
        """One Decision. With `details`, decision.limits has a row for each limit."""
        return self._run(self._engine.allow(words, details))

    def peek(self, *words: Word, details: bool = False) -> Decision:
        """What `allow` would say; takes nothing."""
        return self._run(self._engine.look(b"RL.PEEK", words, details))

    def charge(self, *words: Word, details: bool = False) -> Decision:
        """Charges what has been used already, whether it is there or not."""
        return self._run(self._engine.look(b"RL.CHARGE", words, details))

    def refund(self, *words: Word, details: bool = False) -> Decision:
        """Gives tokens back."""
        return self._run(self._engine.look(b"RL.REFUND", words, details))

    def wait(self, timeout: float, *words: Word, details: bool = False) -> Decision:
        """Waits for the tokens, `timeout` seconds at most. At most 16 calls wait at a time."""
        return self._run(self._engine.wait(timeout, words, details))

    def command(self, *words: Word) -> Any:
        """The reply to any command. Never fails open: raises Mistake or Unavailable.

        A command besides RL.* has a connection of its own, which is closed after it. So MULTI,
        SUBSCRIBE or AUTH change nothing for other calls.
        """
        return self._run(self._engine.command(words))

    def verify(self, *words: Word) -> None:
        """Connects, logs in and asks RL.PEEK, of your own words if given. Raises whatever is wrong,
        an outage too. Called when a service starts, it makes a wrong address loud."""
        self._run(self._engine.verify(words))

    def limited(
        self, *words: Union[Word, Callable[..., Word]]
    ) -> Callable[[Action], Action]:
        """A decorator: the function runs if it is allowed, else Limited is raised.

        A word may be a function that makes one from the arguments of the call.
        """

        def decorate(action):
            if inspect.iscoroutinefunction(action):
                raise TypeError("a coroutine function needs the Limiter of weir_client.aio")

            @functools.wraps(action)
            def asked(*arguments, **named):
                self.check(*words_for(words, arguments, named))
                return action(*arguments, **named)

            return asked

        return decorate

    def check(self, *words: Word) -> Decision:
        """Returns the Decision if it is allowed, else raises Limited."""
        request = self._engine.request(words)
        decision = self.allow(*words)
        if not decision.allowed:
            raise limited(decision, request)
        return decision

    def reserve(self, ttl: float, *words: Word, estimate: Optional[int] = None) -> Hold:
        """A Hold for `ttl` seconds: `with limiter.reserve(...) as held`. The estimate is put into
        the words' places `cost={}`."""
        return Hold(self._run, HoldPlans(self._engine, ttl, words, estimate))

    def lease(self, ttl: float, *words: Word) -> Lease:
        """A Lease of a slot, renewed while its scope lasts."""
        return Lease(self._run, LeasePlans(self._engine, ttl, words), self._every)

    def slice(self, size: int, seconds: float, *words: Word) -> Slice:
        """A Slice: up to `size` tokens taken at once, as many as weir can spare, to be spent within
        `seconds`, or less."""
        plans = SlicePlans(self._engine, size, seconds, words)
        return Slice(self._run, plans, self._every, self._engine.deadline)

    def counts(self) -> Counts:
        """The Counts since the Limiter was made."""
        return self._engine.counters.counts()

    def close(self) -> None:
        """Closes the connections. Later calls raise Mistake."""
        self._wire.close()
        self._waits.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<Limiter {self._settings.address}, fails {self._settings.fail}>"

    def _run(self, plan):
        """Plays a plan."""
        sent, thrown = None, None
        try:
            while True:
                ask = plan.send(sent) if thrown is None else plan.throw(thrown)
                sent, thrown = None, None
                try:
                    wire = self._waits if ask.apart else self._wire
                    sent = wire.ask(ask)
                except (Lost, Refused, Mistake) as error:
                    thrown = error
        except StopIteration as end:
            return end.value
        finally:
            plan.close()  # now, also if this call is cancelled


class Hold:
    """A reservation. A scope that is left without settle(), as by an exception, cancels it; so does
    the end of the time to live. For one thread at a time."""

    def __init__(self, run, plans):
        self._run = run
        self._plans = plans

    def open(self):
        """Reserves, or raises Limited. `with` does it."""
        self._run(self._plans.reserve())
        return self

    @property
    def is_open(self) -> bool:
        """Whether there is a hold to settle: not without an answer of weir."""
        return self._plans.is_open

    def settle(self, used: int) -> bool:
        """Charges what was used in place of the estimate. Returns whether that is so.

        It is not if there is no hold, if it has expired, or if weir does not answer; only then can
        it be repeated.
        """
        return self._run(self._plans.settle(used))

    def settle_or_charge(self, used: int) -> bool:
        """Settles; if the hold has expired, charges what was used. Returns whether it is settled.

        A hold that expires gives back all that it reserved. So a budget that must not be
        undercounted wants this, and one that must not be overdrawn wants settle().
        """
        return self._run(self._plans.settle_or_charge(used))

    def cancel(self) -> None:
        """Gives all of it back, unless it has been settled."""
        self._run(self._plans.cancel())

    def __enter__(self):
        return self.open()

    def __exit__(self, *_):
        self.cancel()


class Lease:
    """A slot that is held while a job runs: a thread renews it at a third of its time to live."""

    def __init__(self, run, plans, start_timer):
        self._run = run
        self._plans = plans
        self._start_timer = start_timer
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self):
        self._lock = threading.Lock()  # held while a plan is played
        self._stop = None

    def open(self):
        """Takes the slot, or raises Limited. `with` does it."""
        with self._lock:
            self._run(self._plans.open())
        if self._plans.has_slot:
            self._stop = self._start_timer(self._plans.interval, self._beat)
        return self

    @property
    def lost(self) -> bool:
        """Whether weir may have given the slot to another worker."""
        return self._plans.lost

    def release(self) -> bool:
        """Frees the slot. Returns whether it was held until now."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()
        with self._lock:
            return self._run(self._plans.release())

    def _beat(self):
        with self._lock:
            self._run(self._plans.beat())

    def __enter__(self):
        return self.open()

    def __exit__(self, *_):
        self.release()


class Slice:
    """Tokens that threads share: see core/slices.py. One thread asks weir for more while the others
    wait, for a deadline at most."""

    def __init__(self, run, plans, start_timer, deadline):
        self._run = run
        self._plans = plans
        self._start_timer = start_timer
        self._deadline = deadline
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self):
        self._lock = threading.Lock()  # held while a plan is played
        self._stop = None
        self._stop_settling = None

    def spend(self) -> None:
        """Spends a token, or raises Limited. It may take two deadlines: to settle the last slice,
        and to take the next one."""
        if not self._lock.acquire(timeout=self._deadline):
            self._plans.give_up()
            return
        try:
            before = self._plans.number
            self._run(self._plans.spend())
            if self._plans.number != before and self._plans.is_open:
                self._restart_timer()
        finally:
            self._start_settling()
            self._lock.release()

    def give_back(self) -> None:
        """Settles the slice, so that what is left comes back. The end of a scope does it."""
        with self._lock:
            self._stop_timer()
            self._settle()

    def _restart_timer(self):
        self._stop_timer()
        number = self._plans.number
        self._stop = self._start_timer(self._plans.seconds, lambda: self._end(number))

    def _stop_timer(self):
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def _end(self, number):
        with self._lock:
            if number == self._plans.number:
                self._stop_timer()
                self._settle(number)

    def _settle(self, number=None):
        try:
            self._run(self._plans.give_back(number))
        finally:
            self._start_settling()

    def _start_settling(self):
        """Begins to repeat commits that were not answered, each deadline, until all are."""
        if self._plans.has_unsettled and self._stop_settling is None:
            self._stop_settling = self._start_timer(self._deadline, self._settle_again)

    def _settle_again(self):
        self._run(self._plans.settle_again())
        with self._lock:
            if not self._plans.has_unsettled and self._stop_settling is not None:
                stop, self._stop_settling = self._stop_settling, None
                stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.give_back()
