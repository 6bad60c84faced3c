"""Answers of a replica to its clients, and links that cannot be made."""

import http.client
import json
import socket
import subprocess
import threading
import unittest

from replication_servers import (
    LIMIT,
    ReplicationTest,
    ask_all,
    await_in_sync,
    await_true,
    fields,
    link_state,
    role_of,
)
from weir_e2e import NEVER, Error, encode, free_port

READONLY = "READONLY You can't write against a read only replica."
MASTERDOWN = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
LOADING = "LOADING weir is loading its state from its primary"
# Commands that change buckets, holds or policies, to see that the flags have not lost one.
WRITERS = {
    "RL.ALLOW", "RL.TAKE", "RL.WAIT", "RL.CHARGE", "RL.REFUND", "RL.RESET", "RL.RESERVE",
    "RL.SLICE", "RL.COMMIT", "RL.CANCEL", "RL.THROTTLE", "CL.THROTTLE", "RL.POLICY|SET",
    "RL.POLICY|DEL", "RL.POLICY|OVERRIDE", "RL.POLICY|UNOVERRIDE", "RL.POLICY|RELOAD", "FLUSHALL",
    "FLUSHDB", "DEL", "UNLINK",
}  # fmt: skip
LOOKS = [
    f"RL.PEEK k {LIMIT}",
    "RL.INSPECT k",
    "RL.POLICY GET p",
    "RL.POLICY LIST",
    "RL.POLICY OVERRIDES p",
    "TTL k",
    "EXISTS k",
    "TYPE k",
    "DBSIZE",
]


def commands_of(client):
    """Each command and subcommand: name with "|", arity, flags."""
    found = []
    rows = list(client.call("COMMAND"))
    while rows:
        name, arity, flags, *rest = rows.pop()
        found.append((name.decode().upper(), arity, {str(flag) for flag in flags}))
        rows += [row for part in rest if isinstance(part, list) for row in part if is_command(row)]
    return found


def is_command(row):
    return isinstance(row, list) and len(row) >= 6 and isinstance(row[2], list)


def request_of(name, arity):
    """A request with the least number of arguments."""
    words = name.split("|")
    return words + ["x"] * (abs(arity) - len(words))


class Peer:
    """A listener that is no weir: each connection gets an answer to each piece, or nothing."""

    def __init__(self, *answers):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = []
        self._answers = answers
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
                self.connections.append(connection)
                for answer in self._answers:
                    connection.recv(1 << 16)
                    connection.sendall(answer)
            except OSError:
                return

    def close(self):
        self.listener.close()
        for connection in self.connections:
            connection.close()


class ReplicaAnswersTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.primary = self.start_mortal()
        self.client = self.connect(self.primary)
        self.client.call("RL.POLICY", "SET", "p", LIMIT)
        self.client.call("RL.POLICY", "OVERRIDE", "p", "k", "7/w")
        self.client.call("RL.ALLOW", "k", LIMIT, "COST", 30)

    def start_with_http(self, *options):
        """A replica, and the port that answers HTTP."""
        port = free_port()
        server = self.start_replica(self.primary, "--http-port", str(port), *options)
        server.wait_for_log(f"listening on 127.0.0.1:{port} for HTTP")
        return server, port

    def ask(self, port, method, path, value=None):
        """Status and body of an answer over HTTP."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.addCleanup(connection.close)
        body = None if value is None else json.dumps(value)
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        response = connection.getresponse()
        return response.status, response.read().decode()

    def ask_json(self, port, path, value):
        return self.ask(port, "POST", path, value)

    # Goal: every command that the table calls a writer is refused, and no look is.
    def test_each_writer_is_refused_and_each_look_answered(self):
        server, port = self.start_with_http()
        replica = self.connect(server)
        writers = [row for row in commands_of(replica) if "write" in row[2]]
        self.assertLessEqual(WRITERS, {name for name, _, _ in writers})
        for name, arity, flags in writers:
            words = request_of(name, arity)
            self.assertEqual(replica.call(*words), READONLY, words)
            self.assertEqual(replica.call("MULTI"), "OK")
            queued = replica.call(*words)
            self.assertIsInstance(queued, Error, words)
            if "no_multi" not in flags:
                self.assertEqual(queued, READONLY, words)
            self.assertRegex(replica.call("EXEC"), "^EXECABORT ")
        for words in LOOKS:
            seen, wanted = replica.call(*words.split()), self.client.call(*words.split())
            self.assertNotIsInstance(seen, Error, words)
            if words.startswith(("RL.POLICY", "EXISTS", "TYPE", "DBSIZE")):
                self.assertEqual(seen, wanted, words)
        self.assertEqual(replica.call("PING"), "PONG")
        self.assert_http_answers(port)
        await_in_sync(self.client, replica)
        self.assertEqual(self.remaining(replica, "k"), 70)

    def assert_http_answers(self, port):
        allow = {"key": "k", "limits": [LIMIT]}
        status, body = self.ask_json(port, "/v1/allow", allow)
        self.assertEqual((status, json.loads(body)), (503, {"error": READONLY}))
        self.assertEqual(self.ask_json(port, "/v1/batch", {"requests": [allow]})[0], 503)
        self.assertEqual(self.ask(port, "GET", f"/check?key=k&limit={LIMIT}")[0], 503)
        status, body = self.ask_json(port, "/v1/peek", allow)
        self.assertEqual((status, json.loads(body)["remaining"]), (200, 69))

    def test_stale_data_is_served_unless_it_must_not_be(self):
        admin = free_port()
        server, port = self.start_with_http("--admin-port", str(admin), "--repl-timeout", "500ms")
        server.wait_for_log(f"listening on 127.0.0.1:{admin}")
        replica = self.connect(server)
        # Probes find the primary.
        self.assertEqual(self.ask(admin, "GET", "/readyz")[0], 200)
        self.assertEqual(self.ask(admin, "GET", "/readyz?role=primary")[0], 503)
        self.primary.kill()
        self.await_equal(lambda: fields(replica)["master_link_status"], "down")
        self.await_equal(lambda: self.ask(admin, "GET", "/readyz")[0], 503)
        self.assertEqual(self.ask(admin, "GET", "/livez")[0], 200)
        for words in LOOKS:
            self.assertNotIsInstance(replica.call(*words.split()), Error, words)
        self.assertEqual(replica.call("CONFIG", "SET", "replica-serve-stale-data", "no"), "OK")
        for words in LOOKS:
            self.assertEqual(replica.call(*words.split()), MASTERDOWN, words)
        self.assertEqual(replica.call("RL.ALLOW", "k", LIMIT), READONLY)
        self.assertEqual(self.ask_json(port, "/v1/peek", {"key": "k", "limits": [LIMIT]})[0], 503)
        for words in ("PING", "ROLE", "INFO", "CONFIG GET port", "CLIENT ID"):
            self.assertNotIsInstance(replica.call(*words.split()), Error, words)
        self.promote(replica)
        self.assertEqual(self.remaining(replica, "k"), 70)
        for path in ("/readyz", "/readyz?role=primary"):
            self.assertEqual(self.ask(admin, "GET", path)[0], 200)

    # Goal: half a state is not shown. Method: the primary never answers.
    def test_a_replica_without_a_state_is_loading(self):
        peer = Peer()
        self.addCleanup(peer.close)
        server = self.start_replica(peer.port, wait=False)
        replica = self.connect(server)
        self.assertEqual(fields(replica, "persistence")["loading"], "1")
        self.assertEqual(fields(replica)["slave_priority"], "0")
        self.assertEqual(fields(replica)["complete"], "0")
        for words in (*LOOKS, f"RL.ALLOW k {LIMIT}", "FLUSHALL"):
            self.assertEqual(replica.call(*words.split()), LOADING, words)
        for words in ("ROLE", "INFO", "CONFIG GET port"):
            self.assertNotIsInstance(replica.call(*words.split()), Error, words)
        self.follow(replica, self.primary)
        self.assertEqual(fields(replica, "persistence")["loading"], "0")
        self.assertEqual(self.remaining(replica, "k"), 70)

    def test_no_redis_replica_is_served(self):
        for words in ("PSYNC ? -1", "SYNC", "REPLCONF listening-port 1"):
            reply = self.client.call(*words.split())
            self.assertEqual(reply, "ERR weir replicates by RL.SYNC, to weir only")
        self.primary.wait_for_log("it sends PSYNC, as a replica of Redis does")

    def test_a_replica_of_another_version_is_refused(self):
        words = "RL.SYNC 7 9 ID {0} ADDR - 7379 TERM 0 KEY {1}".format(40 * "a", 32 * "0")
        self.assertEqual(
            self.client.call(*words.split()), "ERR weir speaks replication 2 to 2, you 7 to 9"
        )
        self.primary.wait_for_log(r"refused replica 127\.0\.0\.1:7379: ERR weir speaks replication")
        self.assertEqual(fields(self.client)["connected_slaves"], "0")

    def test_client_kill_ends_links_which_begin_again(self):
        replica = self.start_replica(self.primary)
        client = self.connect(replica)
        for killer, of_type, closed in (
            (self.client, "replica", self.primary), (client, "master", replica),
        ):  # fmt: skip
            self.assertEqual(killer.call("CLIENT", "KILL", "TYPE", of_type), 1)
            closed.wait_for_log("CLIENT KILL has ended the connection")
            await_in_sync(self.client, client)
        self.assertEqual(self.client.call("CLIENT", "KILL", "TYPE", "master"), 0)
        self.assertEqual(client.call("CLIENT", "KILL", "TYPE", "slave"), 0)
        # A link that is down cannot be ended.
        port = self.primary.port
        self.primary.kill()
        await_true(lambda: fields(client)["master_link_status"] == "down", replica.log)
        for _ in range(3):
            self.assertEqual(client.call("CLIENT", "KILL", "TYPE", "master"), 0)
        primary = self.connect(self.start("--port", str(port)))
        # It has lost its state, and a command says that this does not matter. The link may have
        # asked it before that, which has deposed it.
        self.assertEqual(client.call("REPLICAOF", "127.0.0.1", port), "OK")
        replica.wait_for_log(r"(?s)has asked this server to follow.*is a replica of")
        self.assertEqual(primary.call("REPLICAOF", "NO", "ONE"), "OK")
        await_in_sync(primary, client)

    def test_a_replica_with_less_memory_says_that_it_evicts(self):
        replica = self.start_replica(self.primary, "--max-memory", "32mb")
        ask_all(self.client, [("RL.ALLOW", "k", f"{i + 1}/{NEVER}") for i in range(1000)])
        replica.wait_for_log("this replica evicts buckets of its primary")
        client = self.connect(replica)
        self.assertGreater(int(fields(client, "stats")["evicted_keys"]), 0)
        await_in_sync(self.client, client)
        self.assertEqual(replica.log().count("evicts buckets"), 1)

    def test_a_replica_sends_replicas_to_its_primary(self):
        replica = self.start_replica(self.primary)
        chained = self.start_replica(replica, wait=False)
        chained.wait_for_log(rf"NOMASTERLINK this server is a replica.*{self.primary.port}")
        self.promote(self.connect(replica))
        client = self.connect(chained)
        self.await_equal(lambda: link_state(client), "connected")


class FailedLinksTest(ReplicationTest):
    """A server with a state of its own is told to follow what it cannot."""

    def setUp(self):
        super().setUp()
        self.server = self.start("--repl-timeout", "300ms")
        self.client = self.connect(self.server)
        self.client.call("RL.ALLOW", "k", LIMIT, "COST", 30)

    def refused(self, port, reason, *connections):
        """Follows a port without success; the state stays, and is served again as before."""
        self.assertEqual(self.client.call("REPLICAOF", "127.0.0.1", port), "OK")
        self.server.wait_for_log(rf"no link to the primary 127\.0\.0\.1:{port}: .*{reason}")
        self.assertEqual(self.remaining(self.client, "k"), 70)
        self.assertEqual(fields(self.client)["master_link_status"], "down")
        for peer in connections:
            await_true(lambda one=peer: len(one.connections) > 2, "a third attempt")
        self.assertEqual(self.server.log().count(f"primary 127.0.0.1:{port}: "), 1)
        self.promote(self.client)
        self.assertEqual(self.remaining(self.client, "k"), 70)
        self.assertEqual(self.client.call("RL.ALLOW", "other", LIMIT)[0], 1)

    def test_links_that_cannot_be_made(self):
        silent, web = Peer(), Peer(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        for peer in (silent, web):
            self.addCleanup(peer.close)
        for port, reason, *peers in (
            (free_port(), "Connection refused"),
            (silent.port, "timed out", silent),
            (web.port, "", web),
            (self.start_redis(), "it answers: ERR unknown command"),
        ):
            with self.subTest(reason):
                self.refused(port, reason, *peers)
        # One that accepts, and sends no frames.
        history = b"$40\r\n" + b"a" * 40
        accepted = b"*8\r\n:2\r\n:1\r\n" + history
        accepted += b"\r\n:0\r\n:0\r\n:1\r\n$0\r\n\r\n$5\r\nfresh\r\n"
        peer = Peer(b"+PONG\r\n", accepted + b"HTTP" * 100)
        self.addCleanup(peer.close)
        self.assertEqual(self.client.call("REPLICAOF", "127.0.0.1", peer.port), "OK")
        self.server.wait_for_log(r"no link to the primary .*: it sends ")
        await_true(lambda: len(peer.connections) > 2, "a third attempt")

    def start_redis(self):
        """The port of a plain Redis."""
        port = free_port()
        redis = subprocess.Popen(
            ["redis-server", "--port", str(port), "--save", ""],
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
        )
        self.addCleanup(redis.wait)
        self.addCleanup(redis.terminate)
        await_true(lambda: listens(port), "redis-server listens")
        return port

    def test_a_wrong_password_until_the_right_one(self):
        primary = self.start("--requirepass", "right")
        at = self.connect(primary)
        self.assertEqual(at.call("AUTH", "right"), "OK")
        at.call("RL.ALLOW", "k", LIMIT, "COST", 60)
        self.refused(primary.port, "it answers: NOAUTH")
        self.client.call("CONFIG", "SET", "primary-password", "wrong")
        self.assertEqual(self.client.call("REPLICAOF", "127.0.0.1", primary.port), "OK")
        self.server.wait_for_log("it answers: WRONGPASS")
        self.assertEqual(self.remaining(self.client, "k"), 70)
        self.client.call("CONFIG", "SET", "primary-password", "right")
        self.await_equal(lambda: link_state(self.client), "connected")
        # The keys of the two servers are hashed by different secrets.
        self.server.wait_for_log("hashes keys with another secret.* drops [1-9] buckets")
        self.assertEqual(self.remaining(self.client, "k"), 40)
        self.assertEqual(self.remaining(self.client, "other"), 100)
        self.assertNotIn("right", self.server.log())
        at.call("RL.ALLOW", "k", LIMIT, "COST", 20)
        await_in_sync(at, self.client)
        self.assertEqual(self.remaining(self.client, "k"), 20)

    def test_a_server_does_not_follow_itself(self):
        spellings = ("127.1", "0.0.0.0", "0x7f.1", "::ffff:127.0.0.1", "localhost.")
        for host in ("127.0.0.1", "LocalHost", *spellings):
            reply = self.client.call("REPLICAOF", host, self.server.port)
            self.assertEqual(reply, "ERR this server cannot follow itself")
        self.server.wait_for_log("asked this server to follow itself, localhost")
        self.assertEqual(role_of(self.client), b"master")
        self.assertEqual(self.client.call("RL.ALLOW", "k", LIMIT)[0], 1)

        # A name of its own is noticed later.
        name = socket.gethostname().lower()
        if not listens(self.server.port, name):
            self.skipTest("the name of this host is not that of loopback")
        self.assertEqual(self.client.call("REPLICAOF", name, self.server.port), "OK")
        self.server.wait_for_log(rf"no link to the primary {name}:.*cannot follow itself")
        self.assertEqual(self.client.call("REPLICAOF", "NO", "ONE"), "OK")
        await_true(lambda: role_of(self.client) == b"master", self.server.log)
        self.assertEqual(self.client.call("RL.ALLOW", "k", LIMIT)[0], 1)


def listens(port, host="127.0.0.1"):
    try:
        with socket.create_connection((host, port)):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
