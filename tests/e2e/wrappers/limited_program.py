"""Calls examples/python/limited.py as the lines of its standard input say (limited_test.py)."""

import sys
from concurrent.futures import ThreadPoolExecutor

import redis

from limited import Gate, Limited


def to_bytes(words):
    """Words may be bytes as well as strings: this program gives both."""
    return [word.encode() for word in words]


class Program:
    def __init__(self):
        self.gate_now = None
        self.slice_now = None
        self.now_ms = 0

    def gate(self, port, down, deadline_ms):
        if self.gate_now:
            self.gate_now.close()
        self.now_ms = 0
        seconds = {"deadline_seconds": int(deadline_ms) / 1000} if deadline_ms != "0" else {}
        self.gate_now = Gate(
            port=int(port), fail_open=down == "open", clock=lambda: self.now_ms / 1000, **seconds
        )
        return "ok"

    def clock(self, ms):
        self.now_ms += int(ms)
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
