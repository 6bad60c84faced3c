"""Drives the server with redis-benchmark, which ends at the first error."""

import re
import subprocess

from steps import PASSWORD, PORT, USER, check, printed_by, run

LOGIN = ["--user", USER, "-a", PASSWORD] if USER else []
REQUESTS = 1024  # whole pipelines of 64


def redis_benchmark(*words, status=0):
    options = ["-p", str(PORT), *LOGIN, "-q", "-n", str(REQUESTS)]
    return printed_by("redis-benchmark", *options, *words, status=status)


def decisions():
    login = ["--user", USER, "--pass", PASSWORD, "--no-auth-warning"] if USER else []
    info = printed_by("redis-cli", "-p", str(PORT), *login, "INFO", "weir")
    return sum(int(count) for count in re.findall(r"(?:allowed|denied):(\d+)", info))


def check_decided(*options):
    """Each request is decided once."""
    before = decisions()
    check_measured(redis_benchmark("-P", "64", "-r", "100", *options))
    check(decisions() - before, REQUESTS)


def check_measured(printed):
    # The rate itself says nothing here: a run of less than a millisecond has `inf`.
    check("requests per second" in printed, True)


def connect():
    printed = redis_benchmark("-P", "16", "-t", "ping_inline,ping_mbulk")
    check_measured(printed)
    check("PING_INLINE: " in printed and "PING_MBULK: " in printed, True)
    check("WARNING" in printed, bool(USER))  # a user without CONFIG GET gets a warning


def allow():
    check_measured(redis_benchmark("RL.ALLOW", "user:42", "10/s", "1000/h"))


def pipeline():
    check_decided("RL.ALLOW", "user:__rand_int__", "10/s", "1000/h")
    check_decided("-3", "RL.ALLOW", "user:__rand_int__", "10/s", "1000/h", "WITHLIMITS")


def threads():
    request = "RL.ALLOW user:__rand_int__ 10/s AND tenant:__rand_int__ 100/m COST 2"
    check_decided("--threads", "2", *request.split())


def error():
    printed = redis_benchmark("RL.ALLOW", "error", "10/x", status=1)
    check("Error from server: ERR invalid limit '10/x'" in printed, True)


def reconnect():
    """Opens a connection for each request."""
    check_measured(redis_benchmark("-k", "0", "-c", "5", "RL.ALLOW", "user:42", "10/s"))


version = subprocess.check_output(["redis-benchmark", "--version"], text=True).split()[1]
run(version, connect, allow, pipeline, error, reconnect, threads)
