"""The compose files: what they name exists, and the commands of ha.yaml run and fail over.

Compose itself is not here: tests/package/bare has its `config`. The processes share one host, so
each name of a server and each port becomes one of loopback.
"""

import os
import re
import signal
import subprocess
import unittest
import urllib.request
from pathlib import Path

import yaml

from weir_e2e import DEADLINE, NEVER, Client, Error, ServerTest, free_port

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "contrib/compose"
CONTAINERFILE = (ROOT / "contrib/container/Containerfile").read_text()
FILES = {name: yaml.safe_load((COMPOSE / name).read_text()) for name in ("weir.yaml", "ha.yaml")}
VERSION = re.search(r"^project\(weir VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
PASSWORD = "hush-17"
DOWN_AFTER_MS = 1300  # the least, docs/high-availability.md


def weir_services(file):
    return {name: one for name, one in FILES[file]["services"].items() if "build" in one}


def run_output(*words):
    return subprocess.run([os.environ["WEIR_SERVER"], *words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


class ComposeFilesTest(unittest.TestCase):
    @staticmethod
    def each_service():
        return [(FILES[file], one) for file in FILES for one in weir_services(file).values()]

    def test_every_option_is_one_of_the_server(self):
        known = set(re.findall(r"^  (--[a-z-]+)", run_output("--help"), re.MULTILINE))
        self.assertIn("--requirepass-file", known)
        for _, service in self.each_service():
            for word in service["command"]:
                self.assertIn(word.partition("=")[0], known)

    def test_ports_volumes_and_files_are_those_of_the_image(self):
        (exposed,) = re.findall("^EXPOSE (.*)$", CONTAINERFILE, re.M)
        (volume,) = re.findall("^VOLUME (.*)$", CONTAINERFILE, re.M)
        for file, service in self.each_service():
            for port in service.get("ports", ()):
                self.assertIn(port.rpartition(":")[2], exposed.split())
            kept = [one.partition(":") for one in service["volumes"]]
            self.assertEqual([path for name, _, path in kept if name in file["volumes"]], [volume])
            for name, _, _ in kept:
                if name not in file["volumes"]:
                    self.assertTrue((COMPOSE / name).is_file(), name)
            build = COMPOSE / service["build"]["context"]
            self.assertTrue((build / service["build"]["dockerfile"]).is_file())
            for secret in service["secrets"]:
                self.assertIn(secret, file["secrets"])
                self.assertIn(f"--requirepass-file=/run/secrets/{secret}", service["command"])

    def test_images_have_a_version(self):
        for file in FILES.values():
            for service in file["services"].values():
                self.assertRegex(service["image"], r"^[a-z]+:[0-9]")
                if "build" in service:
                    self.assertEqual(service["image"], f"weir:{VERSION.group(1)}")

    def test_a_stop_waits_for_the_save(self):
        for _, service in self.each_service():
            self.assertEqual(service["stop_grace_period"], "5m")

    # Goal: nginx asks for a route that there is, at the port of HTTP.
    def test_the_proxy_asks_for_the_route(self):
        (host, port), = re.findall(r"server (\w+):(\d+);", (COMPOSE / "nginx.conf").read_text())
        self.assertIn(host, FILES["weir.yaml"]["services"])
        options = (ROOT / "contrib/container/weir.toml").read_text()
        self.assertIn(f"http-port = {port}\n", options)
        (route,) = re.findall(r"proxy_pass http://weir/check/(\w+);",
                              (COMPOSE / "nginx.conf").read_text())
        self.assertIn(f"[{route}]\n", (COMPOSE / "checks.toml").read_text())


class ComposeCommandsTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.password = self.write("password", PASSWORD + "\n")
        self.password_now = PASSWORD
        self.ports = {}

    def local(self, text, data):
        """The text with names, ports and paths of this host."""
        text = re.sub(r"(weir-\d) 7379", lambda name: f"127.0.0.1 {self.ports[name[1]]}", text)
        text = re.sub(r"weir-\d", "127.0.0.1", text)
        return (text.replace("/run/secrets/password", self.password).replace("/data", data)
                .replace("/etc/weir", str(COMPOSE)))

    def start_service(self, file, name, *more):
        data = os.path.join(self.directory, name)
        command = [self.local(word, data) for word in FILES[file]["services"][name]["command"]
                   if not word.startswith("--config=")]
        return self.launch("--port", "0", "--data-dir", data, *command, *more)

    def start_sentinel(self, name):
        """Runs its script; returns its port."""
        data, port = os.path.join(self.directory, name), free_port()
        os.mkdir(data)
        words = FILES["ha.yaml"]["services"][name]["command"]
        script = self.local(words[-1].replace("$$", "$"), data)
        for old, new in (("port 26379", f"port {port}\nbind 127.0.0.1"),
                         ("milliseconds weir 2000", f"milliseconds weir {DOWN_AFTER_MS}")):
            self.assertEqual(script.count(old), 1)
            script = script.replace(old, new)
        process = subprocess.Popen([*words[:-1], script], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "HOSTNAME": "127.0.0.1"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return port

    def ask(self, port, *words):
        """A reply; None: there is no server."""
        try:
            with Client(port) as client:
                client.call("AUTH", self.password_now)
                return client.call(*words)
        except (OSError, EOFError):
            return None

    def link(self, port):
        """The state of a replica's link; None: it is no replica yet."""
        role = self.ask(port, "ROLE")
        return role[3] if isinstance(role, list) and len(role) > 3 else None

    def admits(self, port):
        reply = self.ask(port, "RL.ALLOW", "k", f"100/{NEVER}")
        return bool(reply) and not isinstance(reply, Error)

    def test_the_one_server_serves_who_has_the_password_and_the_proxy(self):
        http = free_port()
        server = self.start_service("weir.yaml", "weir", "--http-port", str(http))
        self.assertRegex(self.connect(server).call("PING"), "^NOAUTH ")
        self.await_equal(lambda: self.admits(server.port), True)  # first it loads
        fields = {"X-Forwarded-For": "192.0.2.7", "X-Request-Id": "1"}
        check = urllib.request.Request(f"http://127.0.0.1:{http}/check/site", headers=fields)
        with urllib.request.urlopen(check, timeout=DEADLINE) as answer:
            self.assertEqual(answer.status, 200)

    def start_group(self):
        """The servers and Sentinels of ha.yaml, by its own commands: the servers by their names,
        the ports of the Sentinels. The gate is opened at once, as no Sentinel runs before its
        servers."""
        servers = {}
        for name in weir_services("ha.yaml"):
            port = self.ports.setdefault(name, free_port())
            servers[name] = self.start_service("ha.yaml", name, "--port", str(port),
                                               f"--replica-announce-port={port}",
                                               "--sentinel-wait=1ms")
        first, *others = self.ports.values()
        for port in others:
            self.await_equal(lambda one=port: self.link(one), b"connected")
        self.await_equal(lambda: self.admits(first), True)
        sentinels = [self.start_sentinel(name) for name in FILES["ha.yaml"]["services"]
                     if name.startswith("sentinel")]
        known = ("SENTINEL", "CKQUORUM", "weir")
        for port in sentinels:
            self.await_equal(lambda one=port: str(self.ask(one, *known))[:5], "OK 3 ")
        return servers, sentinels

    def primary(self, sentinel):
        """The port of the primary that a Sentinel names."""
        return int(self.ask(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "weir")[1])

    # Goal: the group that the file describes forgets nothing that was confirmed, and admits again.
    def test_the_group_survives_its_primary(self):
        servers, sentinels = self.start_group()
        first, *others = self.ports.values()
        servers["weir-1"].kill()
        self.await_equal(lambda: self.primary(sentinels[0]) == first, False)
        successor = self.primary(sentinels[0])
        self.assertIn(successor, others)
        self.await_equal(lambda: self.admits(successor), True)

    # Goal: a password is changed as the head of ha.yaml says, and the Sentinels go on. Method: its
    # lines in turn; then a primary dies, which only Sentinels that may log in replace.
    def test_a_changed_password_reaches_the_sentinels(self):
        servers, sentinels = self.start_group()
        first = self.primary(sentinels[0])
        lines = re.findall(r"^#     (openssl rand.* tee|ha kill -s HUP|sentinels '(.*)'$)",
                           (COMPOSE / "ha.yaml").read_text(), re.M)
        self.assertEqual(len(lines), 5)
        for line, command in lines:
            if line.startswith("openssl"):
                self.password_now = "new-" + PASSWORD
                self.write("password", self.password_now + "\n")
            elif line.startswith("ha kill"):
                for server in servers.values():
                    server.process.send_signal(signal.SIGHUP)
                for port in self.ports.values():
                    self.await_equal(lambda one=port: isinstance(self.ask(one, "ROLE"), list), True)
            else:
                words = command.replace('"$(cat /run/secrets/password)"', self.password_now)
                for port in sentinels:
                    self.assertEqual(self.ask(port, *words.split()), "OK")
        self.assertEqual({self.primary(port) for port in sentinels}, {first})
        servers["weir-1"].kill()
        self.await_equal(lambda: self.primary(sentinels[0]) == first, False)
        self.await_equal(lambda: self.admits(self.primary(sentinels[0])), True)


if __name__ == "__main__":
    unittest.main()
