"""The windows of a calendar, computed with Python's zoneinfo, and compared with a server's.

A window's begin is looked for as the words say: the first instant at which the local time has
reached the anchor. Python's datetime does the dates and zoneinfo the offsets, from the same system
database. The server is asked, at each begin, how long the window lasts: RL.PEEK's reset_after_ms.
"""

import re
import socket
from datetime import date, datetime, time, timedelta, timezone
from itertools import groupby
from random import Random
from zoneinfo import ZoneInfo

DATABASE = "/usr/share/zoneinfo/tzdata.zi"
FIRST_YEAR, LAST_YEAR = 1970, 2100
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
BATCH = 500  # requests under way: they and their replies fit the sockets' buffers
_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)


def zone_names():
    """All names of the system's database, sorted."""
    with open(DATABASE, encoding="ascii") as lines:
        words = [line.split() for line in lines]
    return sorted({line[1] if line[0] == "Z" else line[2] for line in words if line[0] in "ZL"})


def instant(zone, local):
    """The first instant, in seconds since 1970, at which the clocks have reached a local time."""
    before, after = zone.utcoffset(local), zone.utcoffset(local.replace(fold=1))
    first = (local - _EPOCH - before) // _SECOND
    if before >= after:
        return first
    # The time is skipped: the clocks change after `too_early`, and no later than `first`.
    too_early = (local - _EPOCH - after) // _SECOND
    while first - too_early > 1:
        middle = (first + too_early) // 2
        if _offset(zone, middle) == before:
            too_early = middle
        else:
            first = middle
    return first


def _offset(zone, seconds):
    return datetime.fromtimestamp(seconds, zone).utcoffset()


def changes(zone):
    """The dates around which the clocks of a zone change."""
    step = 12 * 3600
    first = (datetime(FIRST_YEAR, 1, 2) - _EPOCH) // _SECOND
    last = (datetime(LAST_YEAR, 12, 30) - _EPOCH) // _SECOND
    found, before = [], _offset(zone, first)
    for seconds in range(first + step, last, step):
        after = _offset(zone, seconds)
        if after != before:
            found.append(datetime.fromtimestamp(seconds, timezone.utc).date())
        before = after
    return found


# --- Local times at which windows begin: a list for each stretch of consecutive windows ---


def _day_of(year, month, day):
    """The date, or the last one of a month that has no such day."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    last = (date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day
    return datetime(year, month, min(day, last))


def months(day):
    return [_day_of(FIRST_YEAR, month, day) for month in range(1, 12 * (LAST_YEAR - 1969) + 2)]


def years(month, day):
    return [_day_of(year, month, day) for year in range(FIRST_YEAR, LAST_YEAR + 2)]


def days_around(middle, minutes, reach=3):
    begin = datetime.combine(middle, time(minutes // 60, minutes % 60))
    return [begin + timedelta(days=i) for i in range(-reach, reach + 1)]


def weeks_around(middle, weekday):
    begin = datetime.combine(middle, time()) - timedelta(days=(middle.weekday() - weekday) % 7)
    return [begin + timedelta(weeks=i) for i in range(-1, 3)]


def all_days(minutes=0):
    begin = datetime(FIRST_YEAR, 1, 1, minutes // 60, minutes % 60)
    count = (datetime(LAST_YEAR + 1, 1, 1) - datetime(FIRST_YEAR, 1, 1)).days
    return [begin + timedelta(days=i) for i in range(count + 1)]


def stretches(zone, random):
    """Pairs of a limit and a list of local times: those that the law L23 names."""
    for day in (1, 28, 29, 30, 31, *random.sample(range(2, 28), 5)):
        yield f"1/month,from={day}", months(day)
    dates = [date(2001, 1, 1) + timedelta(days=i) for i in random.sample(range(1, 364), 7)]
    for month, day in ((1, 1), (2, 29), (12, 31), *((d.month, d.day) for d in dates)):
        yield f"1/year,from={month:02}-{day:02}", years(month, day)
    first = date(FIRST_YEAR, 1, 10).toordinal()
    last = date(LAST_YEAR, 12, 20).toordinal()
    drawn = [date.fromordinal(random.randint(first, last)) for _ in range(200)]
    middles = changes(zone) + drawn
    for minutes in (0, 1, 30, 90, 120, 150, 180, 1439, *random.sample(range(181, 1439), 2)):
        for middle in middles:
            yield f"1/day,from={minutes // 60:02}:{minutes % 60:02}", days_around(middle, minutes)
    for weekday, name in enumerate(WEEKDAYS):
        for middle in middles:
            yield f"1/week,from={name}", weeks_around(middle, weekday)


class Comparison:
    """Compares the windows of a server that takes AT, and counts them."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._waiting = []  # (limit, begin, milliseconds) of the requests of a batch
        self.windows = 0
        self.differences = []  # the first ones, in words

    def close(self):
        self._flush()
        self._socket.close()

    def compare(self, name, limit, locals_):
        """Compares the consecutive windows of a zone that begin at these local times."""
        zone = ZoneInfo(name)
        begins = [begin for begin, _ in groupby(instant(zone, local) for local in locals_)]
        text = f"{limit},tz={name}"
        for begin, end in zip(begins, begins[1:]):
            if begin < 0:
                continue
            self._waiting.append((text, begin, (end - begin) * 1000))
            if len(self._waiting) == BATCH:
                self._flush()

    def _flush(self):
        requests = [
            f"RL.PEEK k {limit} AT {begin * 1_000_000_000}\r\n" for limit, begin, _ in self._waiting
        ]
        self._socket.sendall("".join(requests).encode())
        replies, lines = b"", 0
        while lines < 6 * len(requests):
            received = self._socket.recv(1 << 20)
            if not received or b"-" in received:
                raise AssertionError((replies + received)[-200:].decode())
            replies += received
            lines += received.count(b"\n")
        told = [int(reset) for reset in re.findall(rb":1\r\n:0\r\n:0\r\n:(\d+)\r\n:0\r\n", replies)]
        for (limit, begin, want), got in zip(self._waiting, told, strict=True):
            if got != want and len(self.differences) < 10:
                self.differences.append(f"{limit} at {begin}: {got} ms, not {want}")
        self.windows += len(told)
        self._waiting.clear()


def compare_law(comparison, name, seed):
    """Compares the windows of one zone that L23 names."""
    for limit, locals_ in stretches(ZoneInfo(name), Random(f"{seed} {name}")):
        comparison.compare(name, limit, locals_)
