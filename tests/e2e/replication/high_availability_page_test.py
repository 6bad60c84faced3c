"""docs/high-availability.md: its commands are run as typed, on three servers, and its tables exist.

The page's hosts 10.0.0.1 to 10.0.0.3 are 127.0.0.1 to 127.0.0.3 here, and its port 7379 is a free
one.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

import yaml

from replication_servers import ReplicationTest
from weir_e2e import DEADLINE, Error, client_environment, free_port

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/package/bare"))

import page  # noqa: E402  pylint: disable=wrong-import-position

PAGE = ROOT / "docs/high-availability.md"
TEXT = PAGE.read_text(encoding="utf-8")
# The blocks of a numbered list.
INDENTED = re.compile("^   ```console\n.*?^   ```$|^   <!-- test: .*?$", re.DOTALL | re.MULTILINE)
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


def without_indent(block):
    return re.sub("^   ", "", block.group(), flags=re.MULTILINE)


class HighAvailabilityPageTest(ReplicationTest):
    def test_its_commands(self):
        port = free_port()
        for host in HOSTS:
            announced = ("--replica-announce-ip", host)
            server = self.launch("--bind", host, "--port", str(port), *announced)
            server.wait_for_log(f"listening on {host}:{port}")

        def ask(command):
            command = command.replace("10.0.0.", "127.0.0.").replace("7379", str(port))
            done = subprocess.run(
                ["bash", "-c", command.replace("redis-cli ", "redis-cli --no-raw ")],
                cwd=self.directory,
                env=client_environment(self.directory),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=DEADLINE,
                check=False,
            )
            done.stdout = done.stdout.replace("127.0.0.", "10.0.0.").replace(str(port), "7379")
            return done

        local = Path(self.directory) / "page.md"
        local.write_text(INDENTED.sub(without_indent, TEXT), encoding="utf-8")
        self.assertGreater(page.follow(local, ask), 10)

    def test_its_links_lead_to_its_titles(self):
        titles = re.findall("^##+ (.*)$", TEXT, re.MULTILINE)
        anchors = {title.lower().replace(" ", "-") for title in titles}
        self.assertLessEqual(set(re.findall(r"\]\(#([^)]*)\)", TEXT)), anchors)

    def test_the_server_has_its_options_and_fields(self):
        primary = self.start()
        client = self.connect(primary)
        replica = self.connect(self.start_replica(primary))
        options = TEXT.split("\n### Options\n")[1].split("\n### ")[0]
        for row in re.findall(r"^\| (`.*?) \|", options, re.MULTILINE):
            names = re.findall("`([a-z-]+)`", row)
            for name in names:
                name = name if not name.startswith("-") else "replica-announce" + name
                self.assertNotEqual(client.call("CONFIG", "GET", name), [], name)
        client.call("CONFIG", "SET", "min-replicas-to-write", 1, "ack-replicas", 1)
        info = TEXT.split("\n### Fields of INFO\n")[1].split("\n### ")[0]
        shown = client.call("INFO", "replication") + replica.call("INFO", "replication")
        shown += b"master_link_down_since_seconds:"  # only while the link is down
        for row in re.findall(r"^\| (`.*?) \|", info, re.MULTILINE):
            for name in re.findall("`([a-z_0-9]+)[:`]", row):
                self.assertIn(f"{name}:".encode(), shown)
        self.assertNotIsInstance(client.call("COMMAND", "INFO", "REPLICAOF"), Error)

    def test_the_rules_have_its_alerts(self):
        rules = yaml.safe_load((ROOT / "contrib/prometheus/weir.rules.yml").read_text())
        alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
        self.assertLessEqual(set(re.findall(r"^\| `(Weir\w+)` \|", TEXT, re.MULTILINE)), alerts)


if __name__ == "__main__":
    unittest.main()
