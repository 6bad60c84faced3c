"""The rows of compare.py, each with its server, and the targets for their ratios.

A request that is admitted takes one of a million tokens, and none is refilled during the run. All
keys exist before the run.
"""

import hashlib
import os
from typing import NamedTuple

import subject

KEY = "key:__rand_int__"
COUNTS = [1_000_000, 2_000_000, 4_000_000]
LIMITS = [f"{count // 1_000_000}M/3285d" for count in COUNTS]
THREE_KEYS = ["ip:__rand_int__", "user:__rand_int__", "tenant:__rand_int__"]
TAKEN = "1/3285d"

PERIOD_SECONDS = 3285 * 86_400
THROTTLE = ["CL.THROTTLE", KEY, "999999", "1000000", str(PERIOD_SECONDS), "1"]
SCRIPTS = os.path.dirname(__file__)


class Row(NamedTuple):
    title: str
    server: list  # the server's command
    request: list
    first: object  # the reply, or its first element; None: anything but an error
    fill: list = []  # the request that creates a key, if it is another one
    script: str = ""  # a Lua script to load into the server
    share: float = 1.0  # of the number of requests that other rows get


class Target(NamedTuple):
    """A target: at this pipeline, `row` costs at most `ratio_max` times the CPU of `base`."""

    row: str
    base: str
    pipeline: int
    ratio_max: float


BASE = "redis-incr"  # the row that every other one is compared with

TARGETS = [
    Target("allow", BASE, 64, 0.45),
    Target("allow", BASE, 1, 1.0),
    Target("allow-3-limits", "allow", 64, 1.5),
    Target("allow-3-limits", "redis-lua-3", 64, 1 / 12),
    Target("allow-3-keys", "allow", 64, 2.2),
    Target("allow-3-keys", "redis-lua-3-keys", 64, 1 / 18),
    Target("denied", "allow", 64, 1.0),
]


def _lua(name, server, title, file, counts, keys=(KEY,)):
    """The row of a script: one limit for each of `counts`, all on one key or each on its own."""
    with open(os.path.join(SCRIPTS, file), encoding="ascii") as source:
        script = source.read()
    words = ["EVALSHA", hashlib.sha1(script.encode()).hexdigest(), str(len(keys)), *keys]
    for count in counts:
        words += [str(count), str(count), str(PERIOD_SECONDS * 1_000_000), "1"]
    return {name: Row(title, server, words, 1, script=script, share=0.25)}


def redis(name, title, server):
    """The rows of Redis, or of a server with the same commands."""
    return {
        f"{name}-ping": Row(f"{title} PING", server, ["PING"], "PONG"),
        f"{name}-get": Row(f"{title} GET", server, ["GET", KEY], "1", fill=["SET", KEY, "1"]),
        f"{name}-incr": Row(f"{title} INCR", server, ["INCR", KEY], None),
        **_lua(f"{name}-lua", server, f"{title} Lua, 1 limit", "gcra.lua", [1_000_000]),
        **_lua(
            f"{name}-lua-3",
            server,
            f"{title} Lua, 3 limits packed",
            "gcra_packed.lua",
            COUNTS,
        ),
        **_lua(
            f"{name}-lua-3-keys",
            server,
            f"{title} Lua, 3 keys",
            "gcra_keys.lua",
            COUNTS,
            THREE_KEYS,
        ),
    }


def redis_cell(module):
    server = subject.redis("--loadmodule", os.path.abspath(module))
    return {"module-throttle": Row("redis-cell CL.THROTTLE", server, THROTTLE, 0)}


def throttlecrab(path):
    server = [os.path.abspath(path), "--redis", "--redis-port", "{port}"]
    server += ["--redis-host", "127.0.0.1", "--store-capacity", str(subject.KEYS)]
    server += ["--log-level", "error"]
    request = ["THROTTLE", *THROTTLE[1:]]
    return {"throttlecrab": Row("throttlecrab THROTTLE", server, request, 1, share=0.1)}


def weir(path):
    server = subject.weir(server=path)
    allow = ["RL.ALLOW", KEY]
    groups = [[key, limit] for key, limit in zip(THREE_KEYS, LIMITS)]
    three_keys = ["RL.ALLOW", *groups[0], "AND", *groups[1], "AND", *groups[2]]
    return {
        "ping": Row("weir PING", server, ["PING"], "PONG"),
        "allow": Row("weir RL.ALLOW, 1 limit", server, [*allow, LIMITS[0]], 1),
        "allow-3-limits": Row("weir RL.ALLOW, 3 limits", server, [*allow, *LIMITS], 1),
        "allow-3-keys": Row("weir RL.ALLOW, 3 keys", server, three_keys, 1),
        "denied": Row("weir RL.ALLOW, denied", server, [*allow, TAKEN], 0),
        "throttle": Row("weir CL.THROTTLE", server, THROTTLE, 0),
    }
