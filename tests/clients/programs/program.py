"""Calls weir_client as the lines of its standard input say (case_programs.py): the Limiter of
threads, or with the argument `asyncio` the other one."""

import asyncio
import contextlib
import inspect
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import weir_client
import weir_client.aio
from weir_client.core.caller import caller_key


class Clock:
    """A clock that stands still, and the timers that are due when it is moved."""

    def __init__(self):
        self._ms = 0
        self._late_ms = 0
        self.timers = []  # [due, period, function]

    def now(self):
        """The time in seconds."""
        ms, self._ms, self._late_ms = self._ms, self._ms + self._late_ms, 0
        return ms / 1000

    def delay(self, ms):
        """The next reading moves the clock, as if what is done after it took a while."""
        self._late_ms = ms

    def every(self, seconds, function):
        period = round(seconds * 1000)
        timer = [self._ms + period, period, function]
        self.timers.append(timer)
        return lambda: self.timers.remove(timer)

    async def move(self, ms):
        end = self._ms + ms
        while self.timers and (timer := min(self.timers, key=lambda each: each[0]))[0] <= end:
            self._ms = max(self._ms, timer[0])
            timer[0] += timer[1]
            await done(timer[2]())
        self._ms = max(self._ms, end)


async def done(value):
    """The value; of the asynchronous Limiter, once it is there."""
    return await value if inspect.isawaitable(value) else value


@contextlib.asynccontextmanager
async def scope(either):
    """The scope of a `with` or of an `async with`."""
    if hasattr(either, "__aenter__"):
        async with either as entered:
            yield entered
    else:
        with either as entered:
            yield entered


def number(seconds):
    return "-" if seconds is None else str(round(seconds * 1000))


def shown(decision):
    if decision.reason == "unavailable":
        return f"unavailable {decision.cause} {'allowed' if decision.allowed else 'denied'}"
    times = number(decision.retry_after), number(decision.reset_after)
    line = " ".join(map(str, (decision.reason, decision.remaining, *times, decision.limit)))
    assert decision.allowed == bool(decision) == (decision.reason == "allowed")
    for row in decision.limits:
        times = number(row.retry_after), number(row.reset_after)
        values = row.name, int(row.allowed), row.count, row.remaining, *times, row.group
        line += " | " + " ".join(map(str, (*values, row.cost, row.keep)))
    return line


def native(value):
    """The value of a word that JSON has no form for."""
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    return {"hex": bytes.fromhex, "integer": int, "object": dict, "nan": float}[kind](text)


class Program:
    def __init__(self, limiters):
        self._make = limiters
        self._limiter = None
        self._clock = Clock()
        self._causes = []
        self._slice = None
        self._hold = None
        self._lease = None

    async def limiter(self, options):
        if self._limiter:
            await done(self._limiter.close())
        self._clock, self._causes = Clock(), []
        options = {**options, "clock": self._clock.now}
        if not options.pop("timer", False):
            options["every"] = self._clock.every
        if "deadline_ms" in options:
            options["deadline"] = options.pop("deadline_ms") / 1000
        if (callback := options.pop("callback", "records")) != "none":
            options["on_unavailable"] = self._tell if callback == "records" else self._fail
        self._limiter = self._make(**options)
        return "ok"

    def _tell(self, cause):
        self._causes.append(cause)

    def _fail(self, cause):
        raise RuntimeError(cause)

    def address(self):
        settings = self._limiter._settings
        return f"{settings.address} {settings.fail} {round(settings.deadline * 1000)}"

    def text(self):
        return repr(self._limiter)

    def causes(self):
        causes, self._causes = self._causes, []
        return " ".join(causes) or "none"

    def counts(self):
        counts = vars(self._limiter.counts())
        causes = counts.pop("unavailable")
        return " ".join(f"{name} {value}" for name, value in {**counts, **causes}.items() if value)

    async def clock(self, ms):
        await self._clock.move(ms)
        return "ok"

    def beats(self):
        return len(self._clock.timers)

    def delay(self, ms):
        self._clock.delay(ms)
        return "ok"

    async def allow(self, *words):
        return shown(await done(self._limiter.allow(*words)))

    async def details(self, *words):
        return shown(await done(self._limiter.allow(*words, details=True)))

    async def peek(self, *words):
        return shown(await done(self._limiter.peek(*words)))

    async def charge(self, *words):
        return shown(await done(self._limiter.charge(*words)))

    async def refund(self, *words):
        return shown(await done(self._limiter.refund(*words)))

    async def wait(self, ms, *words):
        return shown(await done(self._limiter.wait(ms / 1000, *words)))

    async def command(self, *words):
        reply = await done(self._limiter.command(*words))
        return json.dumps(reply, default=bytes.decode)

    async def verify(self, *words):
        await done(self._limiter.verify(*words))
        return "ok"

    async def fields(self, *words):
        return self._fields(await done(self._limiter.allow(*words, details=True)))

    async def plain_fields(self, *words):
        return self._fields(await done(self._limiter.allow(*words)))

    @staticmethod
    def _fields(decision):
        lines = [f"{name}: {value}" for name, value in weir_client.fields(decision, legacy=True)]
        if not decision.allowed:
            lines.append("{} {}".format(*weir_client.problem(decision)))
        return " | ".join(lines) or "none"

    def caller(self, peer, forwarded, trusted_hops):
        return caller_key(peer, forwarded, trusted_hops)

    async def check(self, *words):
        await done(self._limiter.check(*words))
        return "passes"

    async def mail(self, to, *limits):
        decorate = self._limiter.limited(lambda to: f"mail:{to}", *limits)
        if self._make is weir_client.Limiter:
            return decorate(lambda to: f"to {to}")(to)

        async def action(to):
            return f"to {to}"

        return await decorate(action)(to)

    def slice(self, size, ms, *words):
        self._slice = self._limiter.slice(size, ms / 1000, *words)
        return "ok"

    async def spend(self):
        await done(self._slice.spend())
        return "passes"

    async def give_back(self):
        await done(self._slice.give_back())
        return "ok"

    async def reserve(self, estimate, ms, *words):
        hold = self._limiter.reserve(ms / 1000, *words, estimate=estimate)
        self._hold = await done(hold.open())
        return "passes"

    async def settle(self, used):
        return "settled" if await done(self._hold.settle(used)) else "not settled"

    async def settle_or_charge(self, used):
        return "settled" if await done(self._hold.settle_or_charge(used)) else "not settled"

    async def cancel(self):
        await done(self._hold.cancel())
        return "ok"

    async def scope(self, how, estimate, ms, *words):
        try:
            async with scope(self._limiter.reserve(ms / 1000, *words, estimate=estimate)) as hold:
                if how == "fails":
                    raise RuntimeError
                if how == "settles":
                    await done(hold.settle(estimate))
        except RuntimeError:
            return "failed"
        return "left"

    async def lease(self, ms, *words):
        self._lease = await done(self._limiter.lease(ms / 1000, *words).open())
        return "passes"

    def lost(self):
        return "lost" if self._lease.lost else "held"

    async def release(self):
        return "freed" if await done(self._lease.release()) else "not held"

    async def lease_scope(self, ms, *words):
        async with scope(self._limiter.lease(ms / 1000, *words)):
            return "left"

    async def flood(self, keys):
        return sum([await self._passes("check", f"flood:{i}", "none") for i in range(keys)])

    async def crowd(self, callers, times, *words):
        call = ("check", *words) if words else ("spend",)

        async def ask():
            return sum([await self._passes(*call) for _ in range(times)])

        if self._make is not weir_client.Limiter:
            return sum(await asyncio.gather(*(ask() for _ in range(callers))))
        with ThreadPoolExecutor(callers) as pool:
            return sum(pool.map(lambda _: asyncio.run(ask()), range(callers)))

    async def _passes(self, name, *words):
        try:
            await getattr(self, name)(*words)
        except weir_client.Limited:
            return False
        return True

    async def close(self):
        await done(self._limiter.close())
        return "ok"


async def said(program, line):
    name, *words = json.loads(line)
    try:
        words = [native(word) if name != "limiter" else word for word in words]
        return await done(getattr(program, name)(*words))
    except weir_client.Limited as limited:
        key = limited.key.decode() if isinstance(limited.key, bytes) else limited.key
        return f"limited {key} {number(limited.retry_after)} {limited.decision.reason}"
    except weir_client.Mistake as mistake:
        return f"mistake {mistake}"
    except weir_client.Unavailable as unavailable:
        return f"raised {unavailable.cause}"
    except TypeError as error:
        return f"type {error}"


async def main():
    is_asyncio = sys.argv[1:] == ["asyncio"]
    program = Program(weir_client.aio.Limiter if is_asyncio else weir_client.Limiter)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(await said(program, line), flush=True)


asyncio.run(main())
