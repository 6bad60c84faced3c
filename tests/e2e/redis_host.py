"""Debian's redis-server as a process of a test, with or without weir's module.

Environment:
    WEIR_MODULE          path of weir.so; empty where it is not built
    WEIR_INJECTED_TIME_LIBRARY  path of the library by which a test stops its hosts' time
    WEIR_REDIS_SERVER    another server than Debian's, such as Valkey's
"""

import mmap
import os
import struct
import subprocess
import sys
import threading
import time
import unittest

from weir_e2e import DEADLINE, SKIPPED, free_port

START_TRIES = 10


class HostTime:
    """The time of day of a test's hosts: the system's, or one that stands still. It lies in a file
    that they have mapped (tests/commands/injected_time.h)."""

    def __init__(self, directory):
        path = os.path.join(directory, "host_time")
        with open(path, "w+b") as file:
            file.write(bytes(16))
            file.flush()
            self._bytes = mmap.mmap(file.fileno(), 16)
        self._skew = 0  # of the monotonic clock, ns
        self.environment = {"LD_PRELOAD": os.environ["WEIR_INJECTED_TIME_LIBRARY"],
                            "WEIR_INJECTED_TIME": path}

    def stop(self, ahead=0.0):
        """Stops it now, or so many seconds later. Timers that are due by then are due at once, and
        no others, as Redis compares them with the time of day."""
        struct.pack_into("q", self._bytes, 0, time.time_ns() + int(ahead * 1e9))
        self._skew += int((ahead + 1) * 1e9)
        struct.pack_into("q", self._bytes, 8, self._skew)

    def go(self):
        struct.pack_into("q", self._bytes, 0, 0)


class Redis:
    """A redis-server that saves nothing unless told to. Its port must be free."""

    def __init__(self, directory, *options, program="redis-server", environment=None):
        self.port = free_port()
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", directory]
            + ["--save", "", "--appendonly", "no", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self.listens = False
        self.log = []
        self._known = threading.Event()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        self._known.wait(DEADLINE)

    def _read_log(self):
        with self.process.stdout as lines:
            for line in lines:
                self.log.append(line.decode(errors="backslashreplace"))
                if b"Ready to accept connections" in line:
                    self.listens = True
                    self._known.set()
        self._known.set()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join(DEADLINE)


def start(make):
    """The server from make(), once it listens."""
    for _ in range(START_TRIES):
        redis = make()
        if redis.listens:
            return redis
        redis.kill()
    raise AssertionError("redis-server does not start:\n" + "".join(redis.log))


def start_redis(test, *options):
    """A redis-server that listens until the test ends."""
    redis = start(lambda: Redis(test.directory, *options))
    test.addCleanup(redis.kill)
    return redis


class RedisWithModule(Redis):
    """A redis-server with weir's module, loaded with these arguments."""

    def __init__(self, directory, *options, arguments=(), environment=None):
        program = os.environ.get("WEIR_REDIS_SERVER", "redis-server")
        module = ["--loadmodule", os.environ["WEIR_MODULE"], *arguments]
        super().__init__(directory, *options, *module, program=program, environment=environment)


def start_module(test, *arguments, options=()):
    """Like start_redis(), with the module. All hosts of a test have the time `test.host_time`."""
    if not hasattr(test, "host_time"):
        test.host_time = HostTime(test.directory)
    redis = start(lambda: RedisWithModule(test.directory, *options, arguments=arguments,
                                          environment=test.host_time.environment))
    test.addCleanup(redis.kill)
    return redis


def main():
    """Runs the tests of the program, if there is a module to test."""
    if not os.environ.get("WEIR_MODULE"):
        print("the module is not built with sanitizers, as redis-server is not")
        sys.exit(SKIPPED)
    unittest.main()
