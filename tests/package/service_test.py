"""The service as the unit starts it, with a socket of the test's own in the place of systemd's."""

import re
import shlex
import signal
import socket
import unittest
from pathlib import Path

from weir_e2e import DEADLINE, ServerTest

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "contrib/systemd/weir.service"
CONFIG = ROOT / "contrib/config"


def command_line():
    """The options of the unit's ExecStart, with the configuration of this tree."""
    words = shlex.split(re.search(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE).group(1))
    assert words[0] == "/usr/bin/weir-server"
    return [word.replace("/etc/weir", str(CONFIG)) for word in words[1:]]


class Manager:
    """What the server tells its service manager."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(DEADLINE)

    def states(self, last):
        """The states that arrive, up to and including `last`, without status lines."""
        states = []
        while not states or states[-1] != last:
            lines = self.socket.recv(4096).decode().split("\n")
            states += [line for line in lines if re.match("(READY|RELOADING|STOPPING)=", line)]
        return states

    def status(self, pattern):
        """Passes over messages until a status line has the pattern."""
        messages = [self.socket.recv(4096).decode()]
        while not re.search(f"^STATUS=.*{pattern}", messages[-1], re.MULTILINE):
            assert len(messages) < DEADLINE, messages  # one comes each second
            messages.append(self.socket.recv(4096).decode())


class ServiceTest(ServerTest):
    def begin(self, *options):
        """Starts the service on free ports and with its state in the test's directory."""
        self.manager = Manager(f"{self.directory}/notify")
        self.addCleanup(self.manager.socket.close)
        return self.start(
            *command_line(),
            *("--admin-port", "0", "--data-dir", "state", "--backup-dir", "backups"),
            *options,
            environment={"NOTIFY_SOCKET": self.manager.path, "WATCHDOG_USEC": "30000000"},
        )

    def test_it_is_ready_reloads_and_stops(self):
        server = self.begin()
        self.assertEqual(self.manager.states("READY=1"), ["READY=1"])
        client = self.connect(server)
        for _ in range(1000):  # so that no report rounds them to 0 a second
            client.call("RL.ALLOW", "k", "10/h")
        self.manager.status("[1-9][0-9]* decisions a second, 1 clients, 1 buckets")
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(self.manager.states("READY=1"), ["RELOADING=1", "READY=1"])
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.manager.states("STOPPING=1"), ["STOPPING=1"])
        self.assertEqual(server.wait(), 0)

    # Goal: the examples in the files work. Method: they are used without their comment signs.
    def test_the_examples_in_the_files_of_etc_work(self):
        for name in ("policies.toml", "checks.toml", "users"):
            text = (CONFIG / name).read_text()
            self.assertEqual(re.findall("^[^#\n].*", text, re.M), [], f"{name} sets something")
            self.write(name, re.sub("^#(?=[^ ])", "", text, flags=re.M))
        server = self.begin(
            *("--policies", "policies.toml", "--checks", "checks.toml", "--users-file", "users")
        )
        self.manager.states("READY=1")
        client = self.connect(server)
        self.assertEqual(client.call("AUTH", "app", "secret"), "OK")
        self.assertEqual(client.call("RL.ALLOW", "app:1", "@free")[:2], [1, 9])
        self.assertEqual(client.call("AUTH", "admin", "another"), "OK")
        self.assertEqual(client.call("RL.ALLOW", "any", "@paid")[:2], [1, 199])


if __name__ == "__main__":
    unittest.main()
