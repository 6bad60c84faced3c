"""The Limiter of asyncio, and its scopes; the shape is that of weir_client.Limiter.

    limiter = Limiter("redis://app:secret@weir.internal:7379")
    decision = await limiter.allow("user:42", "10/s", "1000/h")

A call that is cancelled closes its connection.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import Any, Callable, Optional, Union

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
from .limiter import LINKS_MAX, WAITS_MAX, Action
from .wires.loop import Wire


def every(seconds, function):
    """Awaits a function again and again, in a task. Returns a function that ends that."""

    async def run():
        while True:
            await asyncio.sleep(seconds)
            await asyncio.shield(asyncio.ensure_future(function()))

    return asyncio.get_running_loop().create_task(run()).cancel


class Limiter:
    """Asks weir, on one event loop at a time. The options are those of weir_client.Limiter; `every`
    is called with a coroutine function."""

    def __init__(self, url: Optional[str] = None, **options: Any) -> None:
        self._settings = Settings.of(url, **options)
        self._engine = Engine(self._settings)
        self._every = self._settings.every or every
        self._wire = Wire(self._settings, LINKS_MAX)
        self._waits = Wire(self._settings, WAITS_MAX, is_busy_when_full=True)

    async def allow(self, *words: Word, details: bool = False) -> Decision:
        """One Decision. With `details`, decision.limits has a row for each limit."""
        return await self._run(self._engine.allow(words, details))

    async def peek(self, *words: Word, details: bool = False) -> Decision:
        """What `allow` would say; takes nothing."""
        return await self._run(self._engine.look(b"RL.PEEK", words, details))

    async def charge(self, *words: Word, details: bool = False) -> Decision:
        """Charges what has been used already, whether it is there or not."""
        return await self._run(self._engine.look(b"RL.CHARGE", words, details))

    async def refund(self, *words: Word, details: bool = False) -> Decision:
        """Gives tokens back."""
        return await self._run(self._engine.look(b"RL.REFUND", words, details))

    async def wait(self, timeout: float, *words: Word, details: bool = False) -> Decision:
        """Waits for the tokens, `timeout` seconds at most. At most 16 calls wait at a time."""
        return await self._run(self._engine.wait(timeout, words, details))

    async def command(self, *words: Word) -> Any:
        """The reply to any command; see weir_client.Limiter.command."""
        return await self._run(self._engine.command(words))

    async def verify(self, *words: Word) -> None:
        """Connects, logs in and asks RL.PEEK, of your own words if given. Raises whatever is wrong,
        an outage too."""
        await self._run(self._engine.verify(words))

    def limited(
        self, *words: Union[Word, Callable[..., Word]]
    ) -> Callable[[Action], Action]:
        """A decorator of a coroutine function; see weir_client.Limiter.limited."""

        def decorate(action):
            if not inspect.iscoroutinefunction(action):
                raise TypeError("a function that is no coroutine needs weir_client.Limiter")

            @functools.wraps(action)
            async def asked(*arguments, **named):
                await self.check(*words_for(words, arguments, named))
                return await action(*arguments, **named)

            return asked

        return decorate

    async def check(self, *words: Word) -> Decision:
        """Returns the Decision if it is allowed, else raises Limited."""
        request = self._engine.request(words)
        decision = await self.allow(*words)
        if not decision.allowed:
            raise limited(decision, request)
        return decision

    def reserve(self, ttl: float, *words: Word, estimate: Optional[int] = None) -> Hold:
        """A Hold: `async with limiter.reserve(...) as held`."""
        return Hold(self._run, HoldPlans(self._engine, ttl, words, estimate))

    def lease(self, ttl: float, *words: Word) -> Lease:
        """A Lease: `async with limiter.lease(...) as slot`."""
        return Lease(self._run, LeasePlans(self._engine, ttl, words), self._every)

    def slice(self, size: int, seconds: float, *words: Word) -> Slice:
        """A Slice: up to `size` tokens taken at once, as many as weir can spare, to be spent within
        `seconds`, or less."""
        plans = SlicePlans(self._engine, size, seconds, words)
        return Slice(self._run, plans, self._every, self._engine.deadline)

    def counts(self) -> Counts:
        """The Counts since the Limiter was made."""
        return self._engine.counters.counts()

    async def close(self) -> None:
        """Closes the connections. Later calls raise Mistake."""
        await self._wire.close()
        await self._waits.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()

    def __repr__(self):
        return f"<aio.Limiter {self._settings.address}, fails {self._settings.fail}>"

    async def _run(self, plan):
        """Plays a plan."""
        sent, thrown = None, None
        try:
            while True:
                ask = plan.send(sent) if thrown is None else plan.throw(thrown)
                sent, thrown = None, None
                try:
                    wire = self._waits if ask.apart else self._wire
                    sent = await wire.ask(ask)
                except (Lost, Refused, Mistake) as error:
                    thrown = error
        except StopIteration as end:
            return end.value
        finally:
            plan.close()  # now, also if this call is cancelled


class Hold:
    """As weir_client.limiter.Hold, with coroutines."""

    def __init__(self, run, plans):
        self._run = run
        self._plans = plans

    async def open(self):
        """Reserves, or raises Limited. `async with` does it."""
        await self._run(self._plans.reserve())
        return self

    @property
    def is_open(self) -> bool:
        """Whether there is a hold to settle: not without an answer of weir."""
        return self._plans.is_open

    async def settle(self, used: int) -> bool:
        """Charges what was used in place of the estimate. Returns whether that is so."""
        return await self._run(self._plans.settle(used))

    async def settle_or_charge(self, used: int) -> bool:
        """Settles; if the hold has expired, charges what was used. Returns whether it settled."""
        return await self._run(self._plans.settle_or_charge(used))

    async def cancel(self) -> None:
        """Gives all of it back, unless it has been settled."""
        await self._run(self._plans.cancel())

    async def __aenter__(self):
        return await self.open()

    async def __aexit__(self, *_):
        await asyncio.shield(self.cancel())


class Lease:
    """As weir_client.limiter.Lease, renewed by a task."""

    def __init__(self, run, plans, start_timer):
        self._run = run
        self._plans = plans
        self._start_timer = start_timer
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self):
        self._lock = asyncio.Lock()  # held while a plan is played
        self._stop = None

    async def open(self):
        """Takes the slot, or raises Limited. `async with` does it."""
        async with self._lock:
            await self._run(self._plans.open())
        if self._plans.has_slot:
            self._stop = self._start_timer(self._plans.interval, self._beat)
        return self

    @property
    def lost(self) -> bool:
        """Whether weir may have given the slot to another worker."""
        return self._plans.lost

    async def release(self) -> bool:
        """Frees the slot. Returns whether it was held until now."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()
        async with self._lock:
            return await self._run(self._plans.release())

    async def _beat(self):
        async with self._lock:
            await self._run(self._plans.beat())

    async def __aenter__(self):
        return await self.open()

    async def __aexit__(self, *_):
        await asyncio.shield(self.release())


class Slice:
    """As weir_client.limiter.Slice, shared by tasks."""

    def __init__(self, run, plans, start_timer, deadline):
        self._run = run
        self._plans = plans
        self._start_timer = start_timer
        self._deadline = deadline
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self):
        self._lock = asyncio.Lock()  # held while a plan is played
        self._stop = None
        self._stop_settling = None

    async def spend(self) -> None:
        """Spends a token, or raises Limited. It may take two deadlines."""
        try:
            await asyncio.wait_for(self._lock.acquire(), self._deadline)
        except asyncio.TimeoutError:
            self._plans.give_up()
            return
        try:
            before = self._plans.number
            await self._run(self._plans.spend())
            if self._plans.number != before and self._plans.is_open:
                self._restart_timer()
        finally:
            self._start_settling()
            self._lock.release()

    async def give_back(self) -> None:
        """Settles the slice, so that what is left comes back. The end of a scope does it."""
        async with self._lock:
            self._stop_timer()
            await self._settle()

    def _restart_timer(self):
        self._stop_timer()
        number = self._plans.number
        self._stop = self._start_timer(self._plans.seconds, lambda: self._end(number))

    def _stop_timer(self):
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    async def _end(self, number):
        async with self._lock:
            if number == self._plans.number:
                self._stop_timer()
                await self._settle(number)

    async def _settle(self, number=None):
        try:
            await self._run(self._plans.give_back(number))
        finally:
            self._start_settling()

    def _start_settling(self):
        """Begins to repeat commits that were not answered, each deadline, until all are."""
        if self._plans.has_unsettled and self._stop_settling is None:
            self._stop_settling = self._start_timer(self._deadline, self._settle_again)

    async def _settle_again(self):
        await self._run(self._plans.settle_again())
        async with self._lock:
            if not self._plans.has_unsettled and self._stop_settling is not None:
                stop, self._stop_settling = self._stop_settling, None
                stop()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await asyncio.shield(self.give_back())
