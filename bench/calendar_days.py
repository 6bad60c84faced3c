"""Compares the windows of the calendar with Python's, for every zone of the system's database.

    calendar_days.py [SEED]       or: ./dev bench calendar [SEED]

All days from 1970 to 2100, and the windows that the law L23 names (tests/e2e/calendar_ends.py), of
a release server that takes AT. It takes some minutes and prints the number of windows. Its name is
not calendar.py, which would hide Python's module of that name from the other benchmarks.
"""

import os
import random
import sys
import time

import subject

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../tests/e2e"))
import calendar_ends  # noqa: E402  pylint: disable=wrong-import-position


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 32)
    names = calendar_ends.zone_names()
    days = calendar_ends.all_days()
    begin = time.monotonic()
    with subject.Subject(subject.weir("--allow-explicit-time")) as server:
        comparison = calendar_ends.Comparison(server.port)
        for i, name in enumerate(names):
            comparison.compare(name, "1/day", days)
            calendar_ends.compare_law(comparison, name, seed)
            print(f"\r{i + 1}/{len(names)} {name:40}", end="", file=sys.stderr, flush=True)
        comparison.close()
    print(
        f"\n{len(names)} zones, {comparison.windows:,} windows, "
        f"{len(comparison.differences)} differences (seed {seed}, "
        f"{time.monotonic() - begin:.0f} s)"
    )
    sys.exit("\n".join(comparison.differences) or 0)


if __name__ == "__main__":
    main()
