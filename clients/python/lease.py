"""A slot that is held while a job runs, by a heartbeat, and is free soon after the worker dies.

    with lease(gate, 30, "printer", "1,held") as slot:  # or raises Limited
        for page in pages:
            if slot.lost:
                break             # another worker may have the slot
            print_page(page)

A thread renews the lease at a third of its time to live, here 30 s. If weir has forgotten it, or
does not answer for the whole of that time, the lease is lost, and is not taken again. `lost` goes
by the clock, so it is in time even if the heartbeat is late. The end of the scope frees the slot;
other limits, such as a rate, stay charged.

A Gate that fails open runs the job while weir is away; then there is no lease that could be lost.
"""

import threading

import redis

from hold import Hold
from limited import Limited, NoAnswer

HEARTBEATS = 3  # in a time to live


def every(seconds, function):
    """Calls a function again and again, in a thread. Returns a function that ends that."""
    ended = threading.Event()

    def run():
        while not ended.wait(seconds):
            function()

    threading.Thread(target=run, daemon=True).start()
    return ended.set


def lease(gate, seconds, *words):
    """Returns a Lease of these words of RL.RESERVE, or raises Limited."""
    return Lease(gate, seconds, words)


class Lease:
    def __init__(self, gate, seconds, words):
        self._clock = gate.clock
        self._hold = Hold(gate, 0, seconds, words)
        self._lock = threading.Lock()  # held during a request
        self._is_lost = False
        self._stop = None  # ends the heartbeat; None: there is no lease
        begin = self._clock()
        self._hold.reserve()
        self._end = begin + self._hold.seconds  # weir keeps the hold until then at least
        if self._hold.is_open:
            self._stop = (gate.every or every)(self._hold.seconds / HEARTBEATS, self._beat)

    @property
    def lost(self):
        """Whether weir may have given the slot to another worker."""
        return self._is_lost or (self._stop is not None and self._clock() >= self._end)

    def release(self):
        """Frees the slot. Returns whether it was held until now."""
        if self._stop is None:
            return False
        self._stop()
        with self._lock:
            lost, self._stop = self.lost, None
            try:
                return self._hold.settle(0) and not lost
            except redis.RedisError:
                return False  # it expires

    def _beat(self):
        with self._lock:
            now = self._clock()
            if self._stop is None or self._is_lost or not self._hold.is_open or now >= self._end:
                return  # released, or a renewal would be a new request
            try:
                self._hold.ask()
            except NoAnswer:
                return  # the next may be answered
            except (Limited, redis.RedisError):
                self._is_lost = True
                self._hold.is_open = False
                return
            if self._clock() >= self._end:  # it may have been a new request
                self._is_lost = True
                self._hold.cancel()
            else:
                self._end = now + self._hold.seconds

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()
