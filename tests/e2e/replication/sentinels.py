"""Redis Sentinels of Debian that a test starts over weir servers, and what they say.

Their files are that of docs/high-availability.md, but for addresses and for the times, which are
shorter.
"""

import os
import re
import subprocess
import time
from pathlib import Path

from replication_servers import await_true
from weir_e2e import Client, free_port, sanitized

GROUP = "weir"
DOWN_AFTER_MS = 5000 if sanitized() else 1000
FAILOVER_TIMEOUT_MS = 5000

PAGE = Path(__file__).parents[3] / "docs/high-availability.md"


def page_config():
    """The sentinel.conf of the page, line by line."""
    return re.search("^```conf\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S).group(1)


class Sentinel:
    """One Sentinel: a redis-server in its mode."""

    def __init__(self, directory, primary, quorum=2, host="127.0.0.1", bind="127.0.0.1", starter=(),
                 port=None, down_after=DOWN_AFTER_MS, password=False, more=""):
        """`more`: lines for the end of its file."""
        self.host, self.port = bind, port or free_port()
        self.log = os.path.join(directory, f"sentinel-{bind}-{self.port}.log")
        path = os.path.join(directory, f"sentinel-{bind}-{self.port}.conf")
        config = page_config()
        for line in ("sentinel auth-user", "sentinel auth-pass"):
            if not password:
                config = re.sub(f"^{line}.*\n", "", config, flags=re.M)
        changes = {
            "port 26379": f"port {self.port}\nbind {bind}\nlogfile {self.log}",
            "/var/lib/redis": directory,
            "10.0.0.1 7379 2": f"{host} {primary} {quorum}",
            "milliseconds weir 2000": f"milliseconds weir {down_after}",
            "timeout weir 10000": f"timeout weir {FAILOVER_TIMEOUT_MS}",
        }
        for old, new in changes.items():
            assert config.count(old) == 1, (old, config)
            config = config.replace(old, new)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{config}\n{more}\n")
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

    def text(self):
        """Its log."""
        return Path(self.log).read_text("utf-8")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def is_reachable(self):
        try:
            return self.call("PING") == "PONG"
        except (OSError, EOFError):
            return False


def start_sentinels(test, primary, count=3, replicas=1, **how):
    """Sentinels that know each other and all replicas of the primary."""
    sentinels = []
    for _ in range(count):
        sentinel = Sentinel(test.directory, primary, quorum=count // 2 + 1, **how)
        test.addCleanup(sentinel.stop)
        sentinels.append(sentinel)
    for sentinel in sentinels:
        await_true(sentinel.is_reachable, f"an answer of {sentinel.port}")

    def all_known():
        return all(
            s.state()["num-other-sentinels"] == str(count - 1)
            and s.state()["num-slaves"] == str(replicas)
            and s.state()["flags"] == "master"
            for s in sentinels
        )

    await_true(all_known, lambda: [s.state() for s in sentinels])
    return sentinels


def await_named(sentinels, port, seconds=60):
    """Waits until all Sentinels tell clients that the primary is there; returns the seconds.

    `port`: of the primary, or several that it may have; then all Sentinels name the same one.
    """
    ports = port if isinstance(port, tuple) else (port,)
    begin = time.monotonic()

    def are_one():
        named = {sentinel.primary() for sentinel in sentinels}
        return len(named) == 1 and named <= set(ports)

    await_true(
        are_one,
        lambda: (port, [sentinel.state() for sentinel in sentinels]),
        seconds,
    )
    return time.monotonic() - begin
