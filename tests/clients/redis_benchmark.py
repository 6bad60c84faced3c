"""redis-benchmark: it ends at the first error, so its success says that there was none."""

import re
import subprocess

from steps import PASSWORD, PORT, USER, check, printed_by, run

LOGIN = ["--user", USER, "-a", PASSWORD] if USER else []
REQUESTS = 1000


def redis_benchmark(*words, status=0):
    options = ["-p", str(PORT), *LOGIN, "-q", "-n", str(REQUESTS)]
    return printed_by("redis-benchmark", *options, *words, status=status)


def check_measured(printed):
    check(bool(re.search(r"[1-9][\d.]* requests per second", printed)), True)


def connect():
    check_measured(redis_benchmark("-t", "ping"))


def allow():
    check_measured(redis_benchmark("RL.ALLOW", "user:42", "10/s", "1000/h"))


def pipeline():
    check_measured(redis_benchmark("-P", "16", "RL.ALLOW", "user:42", "10/s", "1000/h"))


def error():
    printed = redis_benchmark("RL.ALLOW", "error", "10/x", status=1)
    check("Error from server: ERR invalid limit '10/x'" in printed, True)


def reconnect():
    """A connection for each request."""
    check_measured(redis_benchmark("-k", "0", "-c", "5", "RL.ALLOW", "user:42", "10/s"))


version = subprocess.check_output(["redis-benchmark", "--version"], text=True).split()[1]
run(version, connect, allow, pipeline, error, reconnect)
