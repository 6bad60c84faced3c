"""Debian's redis-server as a process of a test, with or without weir's module.

Environment:
    WEIR_MODULE          path of weir.so; empty where it is not built
    WEIR_REDIS_SERVER    another server than Debian's, such as Valkey's
"""

import os
import subprocess
import sys
import threading
import unittest

from weir_e2e import DEADLINE, SKIPPED, free_port

START_TRIES = 10


class Redis:
    """A redis-server that saves nothing unless told to. Its port must be free."""

    def __init__(self, directory, *options, program="redis-server"):
        self.port = free_port()
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", directory]
            + ["--save", "", "--appendonly", "no", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
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

    def __init__(self, directory, *options, arguments=()):
        program = os.environ.get("WEIR_REDIS_SERVER", "redis-server")
        module = ["--loadmodule", os.environ["WEIR_MODULE"], *arguments]
        super().__init__(directory, *options, *module, program=program)


def start_module(test, *arguments, options=()):
    """Like start_redis(), with the module."""
    redis = start(lambda: RedisWithModule(test.directory, *options, arguments=arguments))
    test.addCleanup(redis.kill)
    return redis


def main():
    """Runs the tests of the program, if there is a module to test."""
    if not os.environ.get("WEIR_MODULE"):
        print("the module is not built with sanitizers, as redis-server is not")
        sys.exit(SKIPPED)
    unittest.main()
