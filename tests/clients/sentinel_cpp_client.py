"""Takes tokens with the C++ library weir_client at the primary that Sentinel names, by the program
of programs/program.cc.

client_programs.py says how.
"""

import json
import os
import select
import subprocess
import sys
import time

GROUP, LIMIT = os.environ["WEIR_GROUP"], os.environ["WEIR_LIMIT"]
SENTINELS = os.environ["WEIR_SENTINELS"].split()
OPTIONS = {
    "sentinels": SENTINELS, "master": GROUP, "deadline_ms": 1000, "fail": "closed", "timer": True,
}  # fmt: skip
LOST = ("timeout", "connection", "noprimary")


class Program:
    def __init__(self):
        self._process = subprocess.Popen(
            os.environ["WEIR_CPP_PROGRAM"], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def call(self, *words):
        self._process.stdin.write(json.dumps(words) + "\n")
        return self._process.stdout.readline().strip()


def ask(program, key):
    invoked = time.monotonic_ns()
    reason, cause, *_ = program.call("allow", key, LIMIT).split()
    if reason != "unavailable":
        return f"took {key} {int(reason == 'allowed')} {invoked} {time.monotonic_ns()}"
    return f"failed {key} {cause}" if cause in LOST else f"refused {key} {cause.upper()}"


def main():
    program = Program()
    assert program.call("limiter", OPTIONS) == "ok"
    print("version weir_client of C++", flush=True)
    key = sys.stdin.readline().strip()
    while key:
        if select.select([sys.stdin], [], [], 0.002)[0]:
            key = sys.stdin.readline().strip()
        else:
            print(ask(program, key), flush=True)


main()
