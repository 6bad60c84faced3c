"""A primary, two replicas and three Sentinels on loopback, until Ctrl-C.

    WEIR_SERVER=build/release/weir-server python3 tests/e2e/replication/replica_group.py

starts them, shows a few commands and says what to try: that is what `./dev ha` does. The servers
keep their state in a directory that is removed at the end.
"""

import contextlib
import os
import subprocess
import tempfile

from replication_servers import await_in_sync, await_true, is_exact
from sentinels import GROUP, Sentinel
from weir_e2e import Client, Server

FIRST_PORT = 7379
REPLICAS = 2
FIRST_SENTINEL = 26379
SENTINELS = 3


def is_free(port):
    with contextlib.suppress(OSError), Client(port):
        return False
    return True


def free_ports(count, first=FIRST_PORT):
    """The first ports, from weir's own on, at which nothing listens: they are easy to type."""
    ports, port = [], first
    while len(ports) < count:
        if is_free(port):
            ports.append(port)
        port += 1
    return ports


class ReplicaGroup:
    """The servers; the first is the primary at the start."""

    def __init__(self, directory):
        self.servers = []
        self.ports = free_ports(1 + REPLICAS)
        for port in self.ports:
            data = os.path.join(directory, str(port))
            options = ["--port", str(port), "--data-dir", data, "--sentinel", GROUP]
            options += ["--sentinel-wait", "1ms"]  # no Sentinel runs yet
            if port != self.ports[0]:
                options += ["--replicaof", f"127.0.0.1 {self.ports[0]}"]
            server = Server(directory, options)
            self.servers.append(server)
            server.port  # waits until it listens
        self.await_replicas()
        self.sentinels = []
        for port in free_ports(SENTINELS, FIRST_SENTINEL):
            sentinel = Sentinel(directory, self.ports[0], port=port)
            self.sentinels.append(sentinel)
            await_true(sentinel.is_reachable, f"an answer of {port}")

    def await_replicas(self):
        with contextlib.ExitStack() as clients:
            primary, *replicas = [clients.enter_context(Client(port)) for port in self.ports]
            for replica in replicas:
                await_true(lambda one=replica: is_exact(one), "a replica in sync")
            await_in_sync(primary, *replicas)

    def kill(self):
        for sentinel in self.sentinels:
            sentinel.stop()
        for server in self.servers:
            server.kill()


def show(port, *words):
    print(f"\n$ redis-cli -p {port} {' '.join(words)}", flush=True)
    subprocess.run(["redis-cli", "-p", str(port), "--no-raw", *words], check=True)


def advice(group):
    first, second, third = group.ports
    pid, sentinel = group.servers[0].pid, group.sentinels[0].port
    roles = ("primary", first), ("replica", second), ("replica", third)
    looks = (
        (first, "RL.ALLOW user:42 10/m", "decides, and both replicas know it"),
        (second, "RL.PEEK user:42 10/m", "looks at it there"),
        (second, "RL.ALLOW user:42 10/m", "READONLY: a replica does not decide"),
        (first, "ROLE", "the primary, and its replicas"),
        (first, "INFO replication", "offsets, and the loss bound of a failover"),
    )
    steps = (
        (sentinel, f"SENTINEL FAILOVER {GROUP}", "a planned one: nothing is forgotten"),
        (sentinel, f"SENTINEL GET-MASTER-ADDR-BY-NAME {GROUP}", "names the new primary"),
        (sentinel, "PSUBSCRIBE *", "shows what Sentinel does meanwhile"),
    )
    return "\n".join((
        "",
        *(f"{role}   127.0.0.1:{port}" for role, port in roles),
        *(f"Sentinel  127.0.0.1:{one.port}" for one in group.sentinels),
        "\nTo see it:",
        *map(typed, looks),
        "To fail over (each command in a terminal of its own):",
        *map(typed, steps),
        f"  {f'kill -9 {pid}':50} the primary dies: Sentinel promotes a replica",
        "docs/high-availability.md has more. They run until Ctrl-C.",
    ))


def typed(row):
    port, words, meaning = row
    return f"  {f'redis-cli -p {port} {words}':50} {meaning}"


def main():
    with tempfile.TemporaryDirectory(prefix="weir_ha_") as directory:
        group = ReplicaGroup(directory)
        try:
            first, second, _ = group.ports
            show(first, "RL.ALLOW", "user:42", "10/m", "COST", "3")
            show(first, "ROLE")
            show(second, "RL.PEEK", "user:42", "10/m")
            print(advice(group), flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                for server in group.servers:
                    server.process.wait()
        finally:
            group.kill()


if __name__ == "__main__":
    main()
