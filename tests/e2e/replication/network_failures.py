"""Failures of a group of servers and Sentinels on hosts, and the strengths of its replication.

Each failure names what the table of docs/high-availability.md allows a key to get too many by it,
in each strength. With a lease and with acknowledgements the table is about all replicas that may be
promoted, two of three servers. The price is that nothing is admitted while a host is missing; when
the failure is over, the group must admit again in each strength.
"""

import shutil
from typing import NamedTuple

from network_load import PORT
from replication_servers import await_true
from restless_client import World
from sentinels import GROUP
from weir_e2e import scaled

LEASE_SECONDS = 2
# What a key may get too many.
NOTHING = "nothing"
LAG = "what the old primary admitted in the lag"
TWO = "a burst, of two primaries"
LINK = "nothing, unless a Sentinel that stood still has failed over meanwhile"


class Strength(NamedTuple):
    """What a primary waits for, and the options that make it wait."""

    name: str
    options: tuple = ()
    has_lease: bool = False  # the old primary stops before another one begins
    forgets_nothing: bool = False  # that was answered as admitted


STRENGTHS = {
    "async": Strength("async"),
    "lease": Strength(
        "lease",
        ("--min-replicas-to-write", "2", "--min-replicas-max-lag", f"{LEASE_SECONDS}s"),
        has_lease=True,
    ),
    "acks": Strength("acks", ("--ack-replicas", "2"), forgets_nothing=True),
}


class Failure(NamedTuple):
    """What happens to a group, and the tokens that a key may get too many by it."""

    name: str
    bound: str
    inject: object  # function(group, primary)
    least_scale: float = 0


def wait(seconds):
    """Lets a failure last."""
    World(0).ended.wait(seconds)


def kill(group, primary, seconds):
    group.servers[primary].kill()
    group.strike()
    group.last(seconds)
    group.start_server(primary)


def freeze(group, primary):
    group.servers[primary].pause()
    group.last(3)
    group.servers[primary].resume()


def cut(group, how, *hosts, seconds=4):
    """Does something to the network for a while."""
    how(*hosts)
    group.last(seconds)
    group.network.heal()


def cut_link(group, primary):
    replica = group.random.choice(group.network.others(primary))
    group.network.cut_link(replica, primary)
    # Longer than --repl-timeout, so that both give the link up.
    cut(group, group.network.cut_link, primary, replica, seconds=6)


def cut_link_one_way(group, primary):
    pair = [primary, group.random.choice(group.network.others(primary))]
    group.random.shuffle(pair)
    cut(group, group.network.cut_link, *pair, seconds=6)


def fail_over(group, seconds):
    """Tells a Sentinel to make another server the primary, and waits until it has begun to."""
    host = group.random.choice(group.hosts)
    await_true(lambda: group.ask_sentinel(host, "FAILOVER", GROUP) == "OK", group.story)
    wait(seconds)


def fail_over_often(group, _):
    for _ in range(min(3, scaled(2))):
        fail_over(group, 5)


def sync_in_full(group, primary, then):
    """Does something to the primary while a replica that has lost its disk gets all."""
    replica = group.random.choice(group.network.others(primary))
    group.servers[replica].kill()
    shutil.rmtree(group.data_of(replica))
    group.network.slow(replica, "4mbit")
    group.start_server(replica, "--replicaof", f"{primary.address} {PORT}")
    await_true(lambda: group.call(replica, "ROLE")[3:4] == [b"sync"], group.story)
    then()
    group.network.heal()


FAILURES = (
    Failure("kill -9, started after 0.2 s", LAG, lambda g, p: kill(g, p, 0.2)),
    Failure("SENTINEL FAILOVER every 5 s", NOTHING, fail_over_often),
    Failure("host cut off", TWO, lambda g, p: cut(g, g.network.cut, p)),
    Failure("kill -9, started after 3 s", LAG, lambda g, p: kill(g, p, 3)),
    Failure("kill -9, started after 20 s", LAG, lambda g, p: kill(g, p, 20), 5),
    Failure("SIGSTOP for 3 s", TWO, freeze),
    Failure("Sentinel cut off", NOTHING, lambda g, p: cut(g, g.network.cut_sentinel, p)),
    Failure("link cut", LINK, cut_link),
    Failure("link cut one way", LINK, cut_link_one_way),
    Failure("host mute", TWO, lambda g, p: cut(g, g.network.mute, p)),
    Failure("host deaf", TWO, lambda g, p: cut(g, g.network.deafen, p)),
    Failure("kill -9 in a full sync", LAG, lambda g, p: sync_in_full(g, p, lambda: kill(g, p, 3))),
    Failure(
        "SENTINEL FAILOVER in a full sync", NOTHING,
        lambda g, p: sync_in_full(g, p, lambda: fail_over(g, 2)),
    ),
)  # fmt: skip
