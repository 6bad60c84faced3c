"""Calls clients/python/limited.py as the lines of its standard input say (limited_test.py)."""

import sys
from concurrent.futures import ThreadPoolExecutor

import redis

from hold import reserved
from lease import lease
from limited import Gate, Limited


class Clock:
    """A clock that stands still, and the heartbeats that are due when it is moved."""

    def __init__(self):
        self._ms = 0
        self._late_ms = 0
        self.beats = []  # [due, period, function]

    def now(self):
        """The time in seconds."""
        ms, self._ms, self._late_ms = self._ms, self._ms + self._late_ms, 0
        return ms / 1000

    def delay(self, ms):
        """The next reading moves the clock, as if what is done after it took a while."""
        self._late_ms = ms

    def every(self, seconds, function):
        period = round(seconds * 1000)
        beat = [self._ms + period, period, function]
        self.beats.append(beat)
        return lambda: self.beats.remove(beat)

    def move(self, ms):
        end = self._ms + ms
        while self.beats and (beat := min(self.beats, key=lambda each: each[0]))[0] <= end:
            self._ms = max(self._ms, beat[0])
            beat[0] += beat[1]
            beat[2]()
        self._ms = max(self._ms, end)


def to_bytes(words):
    """Words may be bytes as well as strings: this program gives both."""
    return [word.encode() for word in words]


class Program:
    def __init__(self):
        self.gate_now = None
        self.slice_now = None
        self.hold_now = None
        self.lease_now = None
        self.clock_now = Clock()

    def gate(self, port, down, deadline_ms, *timer):
        if self.gate_now:
            self.gate_now.close()
        clock = self.clock_now = Clock()
        settings = {} if timer else {"every": clock.every}
        if deadline_ms != "0":
            settings["deadline_seconds"] = int(deadline_ms) / 1000
        self.gate_now = Gate(port=int(port), fail_open=down == "open", clock=clock.now, **settings)
        return "ok"

    def clock(self, ms):
        self.clock_now.move(int(ms))
        return "ok"

    def beats(self):
        return len(self.clock_now.beats)

    def delay(self, ms):
        self.clock_now.delay(int(ms))
        return "ok"

    def check(self, *words):
        self.gate_now.check(*to_bytes(words))
        return "passes"

    def mail(self, to, *limits):
        return self.gate_now.limited(lambda to: f"to {to}", lambda to: f"mail:{to}", *limits)(to)

    def slice(self, size, ms, *words):
        self.slice_now = self.gate_now.slice(int(size), int(ms) / 1000, *to_bytes(words))
        return "ok"

    def spend(self):
        self.slice_now.spend()
        return "passes"

    def give_back(self):
        self.slice_now.give_back()
        return "ok"

    def reserve(self, estimate, ms, *words):
        self.hold_now = reserved(self.gate_now, int(estimate), int(ms) / 1000, *to_bytes(words))
        return "passes"

    def settle(self, used):
        return "settled" if self.hold_now.settle(int(used)) else "not settled"

    def settle_or_charge(self, used):
        return "settled" if self.hold_now.settle_or_charge(int(used)) else "not settled"

    def cancel(self):
        self.hold_now.cancel()
        return "ok"

    def scope(self, how, estimate, ms, *words):
        try:
            with reserved(self.gate_now, int(estimate), int(ms) / 1000, *words) as hold:
                if how == "fails":
                    raise RuntimeError
                if how == "settles":
                    hold.settle(int(estimate))
        except RuntimeError:
            return "failed"
        return "left"

    def lease(self, ms, *words):
        self.lease_now = lease(self.gate_now, int(ms) / 1000, *to_bytes(words))
        return "passes"

    def lost(self):
        return "lost" if self.lease_now.lost else "held"

    def release(self):
        return "freed" if self.lease_now.release() else "not held"

    def lease_scope(self, ms, *words):
        with lease(self.gate_now, int(ms) / 1000, *words):
            return "left"

    def flood(self, keys):
        return sum(self._passes(self.check, f"flood:{i}", "none") for i in range(int(keys)))

    def crowd(self, threads, times, *words):
        def ask(_):
            one = (self.check, *words) if words else (self.spend,)
            return sum(self._passes(*one) for _ in range(int(times)))

        with ThreadPoolExecutor(int(threads)) as pool:
            return sum(pool.map(ask, range(int(threads))))

    @staticmethod
    def _passes(call, *words):
        try:
            call(*words)
        except Limited:
            return False
        return True


def main():
    program = Program()
    for line in sys.stdin:
        name, *words = line.split()
        try:
            said = getattr(program, name)(*words)
        except Limited as limited:
            wait = limited.retry_after
            key = limited.key.decode() if isinstance(limited.key, bytes) else limited.key
            said = f"limited {key} {'-' if wait is None else round(wait * 1000)}"
        except redis.ResponseError as error:
            said = f"mistake {error}"
        print(said, flush=True)


main()
