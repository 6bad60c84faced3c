"""Redis Sentinels of Debian that a test starts over weir servers, and what they say.

Their files are those of docs/high-availability.md, but for the times, which are shorter.
"""

import os
import subprocess
import time

from replication_servers import await_true
from weir_e2e import Client, free_port

GROUP = "weir"
DOWN_AFTER_MS = 1000
FAILOVER_TIMEOUT_MS = 5000

CONFIG = """\
port {port}
bind {bind}
dir {directory}
daemonize no
logfile {log}
sentinel monitor {group} {host} {primary} {quorum}
sentinel down-after-milliseconds {group} {down_after}
sentinel failover-timeout {group} {timeout}
sentinel parallel-syncs {group} 1
{more}
"""


class Sentinel:
    """One Sentinel: a redis-server in its mode."""

    def __init__(self, directory, primary, quorum=2, host="127.0.0.1", bind="127.0.0.1", more="",
                 starter=(), port=None, down_after=DOWN_AFTER_MS):
        self.host, self.port = bind, port or free_port()
        self.log = os.path.join(directory, f"sentinel-{bind}-{self.port}.log")
        path = os.path.join(directory, f"sentinel-{bind}-{self.port}.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(CONFIG.format(port=self.port, bind=bind, directory=directory, log=self.log,
                                     group=GROUP, host=host, primary=primary, quorum=quorum,
                                     down_after=down_after, timeout=FAILOVER_TIMEOUT_MS,
                                     more=more))
        self.process = subprocess.Popen(
            [*starter, "redis-server", path, "--sentinel"], stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )

    def call(self, *words):
        with Client(self.port) as client:
            return client.call(*words)

    def primary(self):
        """The port of the primary that it names to clients."""
        return int(self.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP)[1])

    def state(self):
        """Its fields of the primary, as text."""
        flat = self.call("SENTINEL", "MASTER", GROUP)
        return {flat[i].decode(): flat[i + 1].decode() for i in range(0, len(flat), 2)}

    def stop(self):
        self.process.kill()
        self.process.wait()


def start_sentinels(test, primary, count=3, replicas=1, more="", **how):
    """Sentinels that know each other and all replicas of the primary."""
    sentinels = []
    for _ in range(count):
        sentinel = Sentinel(test.directory, primary, quorum=count // 2 + 1, more=more, **how)
        test.addCleanup(sentinel.stop)
        sentinels.append(sentinel)
    for sentinel in sentinels:
        await_true(lambda one=sentinel: _is_reachable(one), f"an answer of {sentinel.port}")

    def all_known():
        return all(
            s.state()["num-other-sentinels"] == str(count - 1)
            and s.state()["num-slaves"] == str(replicas)
            and s.state()["flags"] == "master"
            for s in sentinels
        )

    await_true(all_known, lambda: [s.state() for s in sentinels])
    return sentinels


def _is_reachable(sentinel):
    try:
        return sentinel.call("PING") == "PONG"
    except (OSError, EOFError):
        return False


def await_named(sentinels, port, seconds=60):
    """Waits until all Sentinels tell clients that the primary is there; returns the seconds."""
    begin = time.monotonic()
    await_true(
        lambda: all(sentinel.primary() == port for sentinel in sentinels),
        lambda: (port, [sentinel.state() for sentinel in sentinels]),
        seconds,
    )
    return time.monotonic() - begin
