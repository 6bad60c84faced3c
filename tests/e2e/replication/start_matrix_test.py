"""Every kind of start: role x directory x durability x ports x the options' source.

Each server is asked, stopped by SIGTERM, and started again on what it has left. `expected` is the
table of its answers. By default a choice of 132 starts runs, in which every three values are
together that can be; a short run (WEIR_TEST_SCALE below 1) has every two, in 32 starts. With
WEIR_START_MATRIX=all, all 1,272 run. Then the packaged file with each option at the ends of its
range.
"""

import concurrent.futures
import contextlib
import http.client as http_client
import itertools
import os
import random
import re
import shutil
import ssl
import time
import unittest
import urllib.request
from typing import NamedTuple

from replication_servers import LIMIT, ReplicationTest, await_true, fields, is_exact
from tls_servers import Authority
from weir_e2e import Client, Error, free_port, scaled

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "..")
PACKAGED = os.path.join(ROOT, "contrib", "config", "weir.toml")
AT_ONCE = 4
TOGETHER = 3 if scaled(10) >= 10 else 2  # values whose every combination is in a start
USED = 30  # tokens of KEY, in each directory that was saved
KEY = "k"
RULES = "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 2}}]\n"
PASSWORD = "hush"  # of every server whose start is tried, and of the living primary


class Start(NamedTuple):
    role: str
    directory: str
    durability: str
    ports: str
    options: str
    passwords: str  # where that of clients, and that of the primary, are given


VALUES = Start(
    # An orphan is a replica whose primary is dead; a gated server waits for Sentinel.
    role=("primary", "replica", "orphan", "deposed", "gated", "edge"),
    directory=("none", "empty", "clean", "killed", "backup", "damaged"),
    durability=("none", "snapshot", "always"),
    ports=("bare", "admin", "http", "tls"),  # with http: rules of Envoy's service, too
    options=("typed", "packaged"),
    passwords=("typed", "file", "variable"),
)


def is_possible(start):
    if (start.directory == "none") != (start.durability == "none"):
        return False
    if start.role == "edge":
        return start.directory == "none"
    return start.role != "deposed" or start.directory not in ("none", "empty")


class Answers(NamedTuple):
    role: str  # of ROLE
    ping: str  # the first word of its answer, as of the next
    allow: str  # of RL.ALLOW
    left: object  # the tokens of KEY; None: RL.PEEK is an error


def expected(start):
    """The answers to a start; None: it does not come up."""
    if start.directory == "damaged":
        return None
    has_state = start.directory not in ("none", "empty")
    left = 100 - USED if has_state else 100
    if start.role == "replica":
        return Answers("slave", "PONG", "READONLY", 100 - USED)
    if start.role == "edge":
        return Answers("edge", "PONG", "1", 100 - USED)
    if start.role == "orphan" and has_state:
        return Answers("slave", "PONG", "READONLY", left)
    if start.role == "orphan":
        return Answers("slave", "LOADING", "LOADING", None)
    if start.role == "gated" and has_state:
        return Answers("master", "LOADING", "LOADING", None)
    if start.role == "gated":
        return Answers("slave", "RESTARTED", "LOADING", None)
    if start.role == "deposed" and start.directory != "backup":
        return Answers("master", "READONLY", "READONLY", left)
    return Answers("master", "PONG", "1", left)


def all_starts():
    return [start for start in map(Start._make, itertools.product(*VALUES)) if is_possible(start)]


def chosen_starts():
    """Starts with every combination of TOGETHER values that a start can have."""
    starts = all_starts()
    if os.environ.get("WEIR_START_MATRIX") == "all":
        return starts
    random.Random(1).shuffle(starts)
    combined = {start: set(itertools.combinations(enumerate(start), TOGETHER)) for start in starts}
    chosen, missing = [], set().union(*combined.values())
    while missing:
        best = max(starts, key=lambda start: len(combined[start] & missing))
        missing -= combined[best]
        chosen.append(best)
    return chosen


def first_word(reply):
    """The first word of an error or a text, or the first number of a list."""
    return str(reply[0]) if isinstance(reply, list) else str(reply).split()[0]


class StartMatrixTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        authority = Authority(self.directory, "ca")
        self.certificate, self.key = authority.issue("server", prefix="server")
        self.authority = authority.certificate
        self.password_file = self.write("password", PASSWORD + "\n")
        self.rules = self.write("rules.yaml", RULES)
        self.primary = self.start("--data-dir", os.path.join(self.directory, "living"),
                                  "--requirepass", PASSWORD)  # fmt: skip
        self.saved = {}
        self.prepare("alone")
        self.prepare("replica", "--replicaof", f"127.0.0.1 {self.primary.port}",
                     "--primary-password", PASSWORD)  # fmt: skip
        self.prepare("deposed")

    # --- Directories ---

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def prepare(self, name, *options):
        """Makes a directory of each kind: of a server alone, a replica, or a deposed primary."""
        port = free_port()
        data, backups = self.path(name), self.path(f"{name}-backups")
        kept = ("--port", str(port), "--data-dir", data, "--backup-dir", backups, *options)
        server = self.launch(*kept)
        client = self.await_loaded(server)
        with Client(self.primary.port if name == "replica" else port) as asked:
            asked.call("AUTH", PASSWORD)  # an error where there is none
            self.assertEqual(first_word(asked.call("RL.ALLOW", KEY, LIMIT, "COST", USED)), "1")
        await_true(lambda: self.left(client) == 100 - USED, server.log)
        if name == "deposed":
            server = self.depose(server, client, data, kept)
            client = self.connect(server)
            await_true(lambda: fields(client)["deposed"] == "1", server.log)
            self.assertEqual(self.successor.stop(), 0)
        self.assertEqual(client.call("SAVE"), "OK")
        self.assertIsInstance(client.call("RL.BACKUP", "b"), list)
        shutil.copytree(data, self.path(name + ".killed"))
        client.close()
        self.assertEqual(server.stop(), 0)
        os.rename(os.path.join(backups, "b"), self.path(name + ".backup"))
        os.rename(data, self.path(name + ".clean"))
        shutil.copytree(self.path(name + ".clean"), self.path(name + ".damaged"))
        self.damage(self.path(name + ".damaged"))

    def depose(self, server, client, data, kept):
        """The role goes to a replica and comes back; then the server starts as of before that."""
        self.successor = self.start("--replicaof", f"127.0.0.1 {server.port}")
        other = self.connect(self.successor)
        await_true(lambda: is_exact(other), self.successor.log)
        self.assertEqual(client.call("SAVE"), "OK")
        shutil.copytree(data, data + ".old")
        for ours, theirs in ((client, other), (other, client)):
            self.assertEqual(ours.call("FAILOVER"), "OK")
            await_true(lambda one=theirs: fields(one)["role"] == "master", server.log)
            await_true(lambda one=ours: is_exact(one), server.log)
        client.close()
        self.assertEqual(server.stop(), 0)
        shutil.rmtree(data)
        os.rename(data + ".old", data)
        server = self.launch(*kept)
        self.await_loaded(server)
        return server

    @staticmethod
    def damage(directory):
        """Changes a byte of each file of records."""
        for name in os.listdir(directory):
            if not name.endswith((".sst", ".log")):
                continue
            with open(os.path.join(directory, name), "r+b") as file:
                body = file.read()
                if body:
                    file.seek(len(body) // 2)
                    file.write(bytes([body[len(body) // 2] ^ 0xFF]))

    def directory_of(self, start, name):
        path = self.path(name)
        if start.directory == "empty":
            os.mkdir(path)
        elif start.directory != "none":
            server = {"replica": "replica", "orphan": "replica", "deposed": "deposed"}
            shutil.copytree(
                self.path(f"{server.get(start.role, 'alone')}.{start.directory}"), path
            )
        return path

    # --- Options ---

    def options_of(self, start, name):
        """The options, and the ports of HTTP, for operators, and TLS, if it has them."""
        data = self.path(name) if start.directory != "none" else ""
        backups = self.path(f"{name}-backups") if data else ""
        options = ["--data-dir", data, "--backup-dir", backups, "--durability", start.durability]
        admin = free_port() if start.ports == "admin" or start.options == "packaged" else 0
        http, tls = (free_port() if start.ports == kind else 0 for kind in ("http", "tls"))
        options += ["--admin-port", str(admin), "--http-port", str(http)]
        if http and start.role != "edge":
            options += ["--rls-config", self.rules]
        if start.options == "packaged":
            options += ["--config", PACKAGED]
        if tls:
            options += ["--tls-port", str(tls), "--tls-cert", self.certificate]
            options += ["--tls-key", self.key, "--tls-auth-clients", "no"]
        if start.role == "replica":
            options += ["--replicaof", f"127.0.0.1 {self.primary.port}"]
        if start.role == "edge":
            options += ["--edge-of", f"127.0.0.1:{self.primary.port}"]
        if start.role == "orphan":
            options += ["--replicaof", "127.0.0.1 1"]
        if start.role == "gated":
            options += ["--sentinel", "group", "--sentinel-wait", "3600s"]
        return options, http, admin, tls

    def passwords_of(self, start):
        """The options and variables with the passwords."""
        if start.passwords == "variable":
            return [], {"WEIR_REQUIREPASS": PASSWORD, "WEIR_PRIMARY_PASSWORD": PASSWORD}
        kind, value = ("-file", self.password_file) if start.passwords == "file" else ("", PASSWORD)
        return [f"--requirepass{kind}", value, f"--primary-password{kind}", value], {}

    # --- Starts ---

    def await_loaded(self, server):
        server.wait_for_log(r"loaded \d+ buckets|the state is not saved to disk|edge is connected")
        return self.connect(server)

    def log_in(self, client):
        self.assertRegex(client.call("PING"), "^NOAUTH ")
        self.assertEqual(client.call("AUTH", PASSWORD), "OK")

    def left(self, client):
        reply = client.call("RL.PEEK", KEY, LIMIT, "COST", 0)
        return None if isinstance(reply, Error) else reply[1]

    def answers(self, start, client, server):
        if start.role == "replica":
            await_true(lambda: is_exact(client), server.log)
        role = client.call("ROLE")[0].decode()
        ping = client.call("PING")
        left = self.left(client)
        allow = client.call("RL.ALLOW", f"other:{server.pid}", LIMIT)
        ahead = int(client.call("TIME")[0]) - time.time()
        self.assertLess(ahead, 5)
        if start.role != "orphan":  # whose time continues from that on disk, until a frame comes
            self.assertGreater(ahead, -5)
        return Answers(role, first_word(ping), first_word(allow), left)

    def ask_ports(self, wanted, http, admin, tls):
        for port in filter(None, (http, admin)):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=60) as answer:
                self.assertEqual(answer.status, 200)
        if http and wanted.role != "edge":  # whose rules are in force where it admits requests
            health = http_client.HTTPConnection("127.0.0.1", http, timeout=60)
            with contextlib.closing(health):
                health.request("GET", "/healthcheck?ready")
                status = health.getresponse().status
            self.assertEqual(status, 200 if wanted.allow == "1" else 500)
        if tls:
            context = ssl.create_default_context(cafile=self.authority)
            with contextlib.closing(Client(tls)) as client:
                client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
                self.log_in(client)
                self.assertEqual(first_word(client.call("PING")), wanted.ping)

    def run_start(self, number, start):
        name = f"start{number}"
        self.directory_of(start, name)
        options, http, admin, tls = self.options_of(start, name)
        passwords, environment = self.passwords_of(start)
        wanted = expected(start)
        for _ in range(2):
            server = self.launch(
                "--port", str(free_port()), *options, *passwords, environment=environment)
            if wanted is None:
                self.assertEqual(server.wait(), 1, server.log())
                self.assertRegex(server.log(), "weir-server: data directory .*Corruption: ")
                return
            client = self.await_loaded(server)
            self.log_in(client)
            self.assertEqual(self.answers(start, client, server), wanted, server.log())
            self.ask_ports(wanted, http, admin, tls)
            client.close()
            self.assertEqual(server.stop(), 0, server.log())

    def test_every_start_comes_up_answers_and_comes_up_again(self):
        starts = chosen_starts()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            done = [pool.submit(self.run_start, *one) for one in enumerate(starts)]
        for start, result in zip(starts, done):
            with self.subTest(**start._asdict()):
                result.result()


# --- The options of the packaged file, one at a time ---

RANGE = re.compile(r"(?:from|0, or a size from) (\S+) to (\S+?)(?: with a unit .*)?\.$")
CHOICE = re.compile(r"Must be one of (.*)\.$")
# Values that need another option, or that ask for other servers.
REFUSED = {
    ("tls-port", "65535"): "TLS needs a certificate",
    ("http-tls-port", "65535"): "TLS needs a certificate",
    ("tls-only", "true"): "option 'tls-",
    ("replication-tls", "true"): "option '",
}
UNANSWERED = {("ack-replicas", "16"): "NOREPLICAS", ("min-replicas-to-write", "16"): "NOREPLICAS"}


def ends_of_ranges():
    """Each option of the packaged file with the smallest and the largest of its values, or all."""
    with open(PACKAGED, encoding="utf-8") as file:
        blocks = file.read().split("\n\n")
    for block in blocks:
        lines = block.splitlines()
        found = re.fullmatch(r"#?([a-z-]+) = .*", lines[-1])
        if not found:
            continue
        name, text = found.group(1), " ".join(line.lstrip("# ") for line in lines[:-1])
        if "Must be true or false." in text:
            yield from ((name, value) for value in ("true", "false"))
        elif choice := CHOICE.search(text):
            yield from ((name, value) for value in choice.group(1).split(", "))
        elif ends := RANGE.search(text):
            yield from ((name, value) for value in ends.groups())


@unittest.skipIf("thread" in os.environ.get("WEIR_SANITIZE", ""), "one thread reads the options")
class PackagedOptionsTest(ReplicationTest):
    @staticmethod
    def await_client(server, port):
        """A connection to a server that may log nothing."""
        clients = []

        def has_ended_or_connects():
            with contextlib.suppress(ConnectionRefusedError):
                clients.append(Client(port))
            return clients or server.process.poll() is not None

        await_true(has_ended_or_connects, server.log)
        if not clients:
            raise AssertionError(f"it has ended: {server.log()}")
        return clients[0]

    def run_with(self, number, name, value):
        data = os.path.join(self.directory, str(number))
        options = ["--config", PACKAGED, "--data-dir", data, "--backup-dir", data + "-backups"]
        options += ["--admin-port", str(free_port()), "--port", str(free_port())]
        server = self.launch(*options, f"--{name}={value}")
        if (name, value) in REFUSED:
            self.assertEqual(server.wait(), 1, server.log())
            self.assertRegex(server.log(), REFUSED[name, value])
            return
        port = int(value) if name == "port" and value != "0" else int(options[-1])
        port = server.port if (name, value) == ("port", "0") else port
        with self.await_client(server, port) as client:
            await_true(lambda: first_word(client.call("PING")) == "PONG", server.log)
            allow = first_word(client.call("RL.ALLOW", KEY, LIMIT))
            self.assertEqual(allow, UNANSWERED.get((name, value), "1"))
        self.assertEqual(server.stop(), 0, server.log())

    def test_each_option_takes_the_ends_of_its_range(self):
        ends = list(ends_of_ranges())
        self.assertGreater(len(ends), 80)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            done = [pool.submit(self.run_with, i, *one) for i, one in enumerate(ends)]
        for (name, value), result in zip(ends, done):
            with self.subTest(option=name, value=value):
                result.result()


if __name__ == "__main__":
    unittest.main()
