"""A Redis Cluster on loopback with weir's module in every node, and a client that follows it.

    WEIR_MODULE=build/release/weir.so python3 tests/e2e/redis_cluster.py

starts three primaries and three replicas, shows a few commands, and runs until Ctrl-C: that is what
`./dev cluster` does.
"""

import contextlib
import os
import subprocess
import tempfile
import time

from redis_host import RedisWithModule, start
from weir_e2e import DEADLINE, Client, Error, free_port, let_others_run

SLOTS = 16384
PATIENT_MS = 15_000  # Redis's own timeout of a node


def slot_of(key):
    """Redis's hash slot of a key: CRC-16 of it, or of what stands in its first {}."""
    key = key.encode()
    begin = key.find(b"{")
    end = key.find(b"}", begin + 1)
    if begin >= 0 and end > begin + 1:
        key = key[begin + 1 : end]
    crc = 0
    for byte in key:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc % SLOTS


class Node:
    """One server of a cluster."""

    def __init__(self, directory, timeout_ms):
        os.makedirs(directory)
        options = {
            "cluster-enabled": "yes",
            "cluster-node-timeout": timeout_ms,
            "cluster-replica-validity-factor": 0,
            "repl-diskless-sync-delay": 0,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self.redis = start(
            lambda: RedisWithModule(directory, *words, "--cluster-port", str(free_port()))
        )
        self.port = self.redis.port
        self.bus = int(self.call("CONFIG", "GET", "cluster-port")[1])
        self.id = self.call("CLUSTER", "MYID").decode()

    def call(self, *words):
        """The reply to a command, sent on a new connection."""
        with Client(self.port) as client:
            return client.call(*words)

    def kill(self):
        self.redis.kill()


def await_true(probe, what):
    end = time.monotonic() + DEADLINE
    while not probe():
        assert time.monotonic() < end, f"never: {what}"
        let_others_run()


class Cluster:
    """A cluster of primaries that share the slots evenly, and replicas, the first of the first.

    A primary that is silent for `timeout_ms` is taken for dead.
    """

    def __init__(self, directory, primaries, replicas, timeout_ms=PATIENT_MS):
        self.nodes = []
        for i in range(primaries + replicas):
            self.nodes.append(Node(os.path.join(directory, str(i)), timeout_ms))
        self.primaries, self.replicas = self.nodes[:primaries], self.nodes[primaries:]
        first = self.nodes[0]
        for i, node in enumerate(self.primaries):
            begin, end = SLOTS * i // primaries, SLOTS * (i + 1) // primaries - 1
            assert node.call("CLUSTER", "ADDSLOTSRANGE", begin, end) == "OK"
            # Nodes that come up together would all have the epoch 0, and their slots be in dispute.
            assert node.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1) == "OK"
        for node in self.nodes[1:]:
            assert node.call("CLUSTER", "MEET", "127.0.0.1", first.port, first.bus) == "OK"
        for node in self.nodes:
            await_true(lambda node=node: self.knows_all(node), "every node knows every other")
        for i, node in enumerate(self.replicas):
            primary = self.primaries[i % primaries]
            assert node.call("CLUSTER", "REPLICATE", primary.id) == "OK"
        for node in self.replicas:
            await_true(lambda node=node: node.call("ROLE")[3] == b"connected", "a replica in sync")
        for node in self.nodes:
            await_true(lambda node=node: self.is_ok(node), "every node knows who is a replica")

    def knows_all(self, node):
        lines = node.call("CLUSTER", "NODES").decode().splitlines()
        return len(lines) == len(self.nodes) and not any("handshake" in line for line in lines)

    def is_ok(self, node):
        nodes = node.call("CLUSTER", "NODES").decode()
        is_complete = b"cluster_state:ok" in node.call("CLUSTER", "INFO")
        return is_complete and nodes.count("slave ") == len(self.replicas)

    def await_replicas(self):
        """Returns once each replica has all changes that its primary had made at the call. WAIT on
        a connection without writes of its own returns before."""
        for i, node in enumerate(self.replicas):
            offset = self.primaries[i % len(self.primaries)].call("ROLE")[1]
            await_true(lambda node=node, offset=offset: node.call("ROLE")[4] >= offset,
                       "a replica has the changes of its primary")

    def kill(self):
        for node in self.nodes:
            node.kill()

    def owner(self, slot):
        """The primary that claims the slot."""
        for node in self.nodes:
            if node.redis.process.poll() is None and node.call("ROLE")[0] == b"master":
                reply = node.call("CLUSTER", "COUNTKEYSINSLOT", slot)
                lines = node.call("CLUSTER", "NODES").decode().splitlines()
                ours = next(line for line in lines if "myself" in line).split()[8:]
                ranges = [part.split("-") for part in ours if not part.startswith("[")]
                if any(int(part[0]) <= slot <= int(part[-1]) for part in ranges):
                    assert isinstance(reply, int)
                    return node
        return None

    def move_slot(self, slot, source, target):
        """Moves a slot with its keys, as redis-cli --cluster reshard does."""
        assert target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id) == "OK"
        assert source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id) == "OK"
        while keys := source.call("CLUSTER", "GETKEYSINSLOT", slot, 100):
            reply = source.call("MIGRATE", "127.0.0.1", target.port, "", 0,
                                int(DEADLINE * 1000), "KEYS", *keys)
            assert reply in ("OK", "NOKEY"), reply
        for node in (target, source, *self.primaries):
            if node.redis.process.poll() is None:
                node.call("CLUSTER", "SETSLOT", slot, "NODE", target.id)
        # The next move raises an epoch: two nodes that raise to the same one may both lose a slot.
        await_true(self.primaries_agree, "the primaries agree on their epochs")

    def primaries_agree(self):
        views = set()
        for node in self.primaries:
            lines = node.call("CLUSTER", "NODES").decode().splitlines()
            epochs = {line.split()[0]: line.split()[6] for line in lines if "master" in line}
            views.add(tuple(sorted(epochs.items())))
        return len(views) == 1


class ClusterClient:
    """A client that sends each command to the node that has the command's key at that time."""

    def __init__(self, cluster):
        self.ports = [node.port for node in cluster.nodes]
        self.clients = {}
        self.port_of_slot = {}
        self.redirections = set()  # kinds seen

    def close(self):
        for client in self.clients.values():
            client.close()

    def call(self, *words):
        """The reply to a command whose first argument is its key."""
        slot = slot_of(words[1])
        port = self.port_of_slot.get(slot, self.ports[slot % len(self.ports)])
        asking = False
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            try:
                if port not in self.clients:
                    self.clients[port] = Client(port)
                if asking:
                    self.clients[port].call("ASKING")
                reply = self.clients[port].call(*words)
            except (OSError, EOFError):
                with contextlib.suppress(KeyError):
                    self.clients.pop(port).close()
                port = self.ports[(self.ports.index(port) + 1) % len(self.ports)]
                asking = False
                continue
            kind = reply.split(" ")[0] if isinstance(reply, Error) else ""
            if kind not in ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"):
                return reply
            self.redirections.add(kind)
            asking = kind == "ASK"
            if kind in ("MOVED", "ASK"):
                port = int(reply.rpartition(":")[2])
            if kind == "MOVED":
                self.port_of_slot[slot] = port
        raise AssertionError(f"no answer to {words}")


def show(port, *words):
    print(f"\n$ redis-cli -c -p {port} {' '.join(words)}", flush=True)
    subprocess.run(["redis-cli", "-c", "-p", str(port), "--no-raw", *words], check=True)


def main():
    with tempfile.TemporaryDirectory(prefix="weir_cluster_") as directory:
        cluster = Cluster(directory, 3, 3)
        try:
            port = cluster.nodes[0].port
            show(port, "CLUSTER", "NODES")
            show(port, "RL.ALLOW", "user:42", "10/s", "1000/h")
            show(port, "RL.ALLOW", "{tenant7}:user:42", "10/s", "AND", "{tenant7}:all", "100/s")
            print("\nThe cluster runs until Ctrl-C.", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                for node in cluster.nodes:
                    node.redis.process.wait()
        finally:
            cluster.kill()


if __name__ == "__main__":
    main()
