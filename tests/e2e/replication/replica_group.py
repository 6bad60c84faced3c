"""A primary and two replicas on loopback, until Ctrl-C.

    WEIR_SERVER=build/release/weir-server python3 tests/e2e/replication/replica_group.py

starts them, shows a few commands and says what to try: that is what `./dev ha` does. The servers
keep their state in a directory that is removed at the end.
"""

import contextlib
import os
import subprocess
import tempfile

from replication_servers import await_in_sync, await_true, is_exact
from weir_e2e import Client, Server

FIRST_PORT = 7379
REPLICAS = 2


def is_free(port):
    with contextlib.suppress(OSError), Client(port):
        return False
    return True


def free_ports(count):
    """The first ports, from weir's own on, at which nothing listens: they are easy to type."""
    ports, port = [], FIRST_PORT
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
            options = ["--port", str(port), "--data-dir", data]
            if port != self.ports[0]:
                options += ["--replicaof", f"127.0.0.1 {self.ports[0]}"]
            server = Server(directory, options)
            self.servers.append(server)
            server.port  # waits until it listens
        self.await_replicas()

    def await_replicas(self):
        with contextlib.ExitStack() as clients:
            primary, *replicas = [clients.enter_context(Client(port)) for port in self.ports]
            for replica in replicas:
                await_true(lambda one=replica: is_exact(one), "a replica in sync")
            await_in_sync(primary, *replicas)

    def kill(self):
        for server in self.servers:
            server.kill()


def show(port, *words):
    print(f"\n$ redis-cli -p {port} {' '.join(words)}", flush=True)
    subprocess.run(["redis-cli", "-p", str(port), "--no-raw", *words], check=True)


def advice(ports, pid):
    first, second, third = ports
    roles = ("primary", first), ("replica", second), ("replica", third)
    looks = (
        (first, "RL.ALLOW user:42 10/m", "decides, and both replicas know it"),
        (second, "RL.PEEK user:42 10/m", "looks at it there"),
        (second, "RL.ALLOW user:42 10/m", "READONLY: a replica does not decide"),
        (first, "ROLE", "the primary, and its replicas"),
        (first, "INFO replication", "offsets, and the loss bound of a failover"),
    )
    steps = (
        (second, "REPLICAOF NO ONE", "promotes the first replica"),
        (third, f"REPLICAOF 127.0.0.1 {second}", "the other one follows it"),
        (first, f"REPLICAOF 127.0.0.1 {second}", "so does the old primary, if it runs"),
    )
    return "\n".join((
        "",
        *(f"{role}  127.0.0.1:{port}" for role, port in roles),
        "\nTo see it:",
        *map(typed, looks),
        f"To fail over, stop the primary (kill {pid}) or leave it, then:",
        *map(typed, steps),
        "docs/high-availability.md has more. They run until Ctrl-C.",
    ))


def typed(row):
    port, words, meaning = row
    return f"  {f'redis-cli -p {port} {words}':44} {meaning}"


def main():
    with tempfile.TemporaryDirectory(prefix="weir_ha_") as directory:
        group = ReplicaGroup(directory)
        try:
            first, second, _ = group.ports
            show(first, "RL.ALLOW", "user:42", "10/m", "COST", "3")
            show(first, "ROLE")
            show(second, "RL.PEEK", "user:42", "10/m")
            print(advice(group.ports, group.servers[0].pid), flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                for server in group.servers:
                    server.process.wait()
        finally:
            group.kill()


if __name__ == "__main__":
    main()
