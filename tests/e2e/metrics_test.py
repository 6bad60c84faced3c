"""The metrics, the alerts and the dashboard with a real Prometheus.

Prometheus and promtool are Debian's, unpacked and not installed. The tests that need them are
skipped where they are not there and cannot be downloaded.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from unpacked import unpacked
from weir_e2e import DEADLINE, ServerTest, free_port, let_others_run

CONTRIB = pathlib.Path(__file__).resolve().parents[2] / "contrib"
RULES = CONTRIB / "prometheus" / "weir.rules.yml"
DASHBOARD = CONTRIB / "grafana" / "weir.json"

# The expressions of a comparison: what is compared must be there, also while nothing is wrong.
COMPARISON = re.compile(r"\s(==|>)\s[0-9.]+$")

# What only a replica shows.
OF_REPLICAS = ("weir_replication_link_up", "weir_replication_data_age_seconds")
# What only a primary with replicas shows.
OF_PRIMARIES = ("weir_replica_lag_seconds", "weir_replica_offset_bytes",
                "weir_replication_acks_waiting", "weir_replication_loss_bound_seconds")
# What only an edge, or a server with rls-xds, shows.
OF_OTHERS = ("weir_edge_connected", "weir_rls_xds_connected")


def get(port, path):
    """The status and the body."""
    peer = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    with contextlib.closing(peer):
        peer.request("GET", path)
        response = peer.getresponse()
        return response.status, response.read().decode()


def rule_expressions():
    """The expressions of the alerts, as promtool does not say them: folded lines of YAML."""
    text = RULES.read_text(encoding="utf-8")
    blocks = re.findall(r"^        expr: (>-\n(?:          .*\n)+|.*\n)", text, re.MULTILINE)
    return [" ".join(block.removeprefix(">-\n").split()) for block in blocks]


def compared(expression):
    """The sides of `or` without the bounds that they are compared with."""
    return [COMPARISON.sub("", side) for side in expression.split(" or ")]


def panel_expressions():
    """The expressions of the dashboard, for all servers, over all that the test does."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    targets = [target for panel in panels for target in panel.get("targets", ())]
    return [
        target["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m")
        for target in targets
    ]


class MetricsTest(ServerTest):
    def start_admin(self, *options):
        self.admin_port = free_port()
        server = self.start(f"--admin-port={self.admin_port}", *options)
        server.wait_for_log(r"listening on .* for operators")
        if options:
            server.wait_for_log(r"loaded \d+ buckets")  # before that, requests are refused
        return server

    def page(self):
        status, text = get(self.admin_port, "/metrics")
        self.assertEqual(status, 200)
        return text

    def test_a_page_is_served_and_says_what_was_decided(self):
        server = self.start_admin()
        client = self.connect(server)
        for _ in range(3):
            client.call("RL.ALLOW", "k", "2/h")
        page = self.page()
        self.assertIn('weir_limit_decisions_total{limit="2/h",result="denied"} 1\n', page)
        fds = int(re.search(r"^process_open_fds (\d+)$", page, re.MULTILINE).group(1))
        # Those of the scrape are closed, and others may be accepted at any time.
        self.assertLessEqual(abs(fds - server.descriptors()), 2)
        rss = float(re.search(r"^process_resident_memory_bytes (\S+)$", page, re.M).group(1))
        self.assertLess(abs(rss - server.rss_bytes()), 4 << 20)

    def test_the_rules_are_sound_and_each_alert_fires(self):
        promtool = unpacked("prometheus", "usr/bin/promtool")
        self.run_client(promtool, "check", "rules", str(RULES))
        self.run_client(promtool, "test", "rules", str(RULES.with_name("weir.rules.test.yml")))
        tested = RULES.with_name("weir.rules.test.yml").read_text(encoding="utf-8")
        for alert in re.findall(r"- alert: (\w+)", RULES.read_text(encoding="utf-8")):
            self.assertRegex(tested, rf"- alertname: {alert}\n +eval_time: \S+\n +exp_alerts:\n")

    def test_a_page_has_the_form_that_promtool_wants(self):
        server = self.start_admin("--data-dir", os.path.join(self.directory, "data"))
        self.load(server)
        promtool = unpacked("prometheus", "usr/bin/promtool")
        stdout, stderr = self.run_client(
            promtool, "check", "metrics", stdin=self.page().encode()
        )
        self.assertEqual(stdout + stderr, "")

    def rules(self):
        """The options of a server with Envoy's rate limit service."""
        path = self.write("rules.yaml", "domain: shop\n")
        return f"--rls-config={path}", f"--http-port={free_port()}"

    def load(self, server):
        """Some of everything that a panel or an alert shows."""
        client = self.connect(server)
        for i in range(20):
            client.call("RL.ALLOW", f"user:{i % 3}", "4/h,name=api", "3/h,shadow,name=new")
        client.call("RL.ALLOW", "k", "nonsense")
        client.call("RL.CHARGE", "user:1", "5/h", "COST", 100)
        client.call("AUTH", "nobody", "wrong")

    # Goal: a panel or an alert does not ask for what no server shows. Method: the pages of a
    # primary, its replica and an edge have every metric, and the dashboard every row.
    def test_every_metric_of_a_panel_or_an_alert_exists(self):
        one, other = (os.path.join(self.directory, name) for name in ("one", "other"))
        primary = self.start_admin("--ack-replicas=1", "--data-dir", one, *self.rules())
        port = self.admin_port
        replica = self.start_admin("--data-dir", other, "--replicaof", f"127.0.0.1 {primary.port}",
                                   f"--rls-xds=127.0.0.1:{free_port()}",
                                   f"--http-port={free_port()}")
        with self.connect(replica) as client:
            self.await_equal(lambda: client.call("ROLE")[3], b"connected")
        self.load(primary)
        edge = free_port()
        self.start("--edge-of", f"127.0.0.1:{primary.port}", f"--admin-port={edge}").wait_for_log(
            r"listening on .* for operators")
        pages = self.page() + get(port, "/metrics")[1] + get(edge, "/metrics")[1]
        shown = set(re.findall(r"^# TYPE (\w+) ", pages, re.MULTILINE)) | {"up"}
        asked = " ".join([*panel_expressions(), *rule_expressions()])
        names = set(re.findall(r"\b(?:weir|process)_\w+", asked))
        self.assertGreater(len(names), 25)
        for name in names:
            self.assertIn(name.removesuffix("_bucket"), shown)
        panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
        rows = [panel["title"] for panel in panels if panel["type"] == "row"]
        self.assertEqual(rows, ["Limits", "Server", "Clients", "Replication"])

    # Goal: no panel and no alert is blind. Method: a Prometheus scrapes a server that is asked
    # meanwhile; then each expression must have a series. Alerts compare what they watch with a
    # bound; on a healthy server only the watched side has one.
    def test_every_expression_of_a_panel_or_an_alert_has_a_series(self):
        data = os.path.join(self.directory, "data")
        server = self.start_admin("--data-dir", data, *self.rules())
        port = self.start_prometheus()
        scrapes = "count_over_time(weir_buckets[5m])"
        self.load(server)
        before = self.await_value(port, scrapes, 1)
        self.load(server)
        # The scrape that is under way may have begun before the end of the load.
        loaded = self.await_value(port, scrapes, before)
        self.await_value(port, scrapes, loaded + 2)
        expressions = panel_expressions()
        self.assertGreaterEqual(len(expressions), 20)
        alerts = rule_expressions()
        self.assertEqual(len(alerts), 16)
        for expression in alerts:
            expressions += compared(expression)
        for expression in expressions:
            if any(name in expression for name in (*OF_REPLICAS, *OF_PRIMARIES, *OF_OTHERS)):
                continue
            with self.subTest(expression):
                series = self.query(port, expression)
                self.assertNotEqual(series, [])
                values = [float(one["value"][1]) for one in series]
                self.assertTrue(any(value == value for value in values), values)
        denied = 'weir_limit_decisions_total{limit="api",result="denied"}'
        self.assertEqual(self.query(port, denied)[0]["value"][1], "28")

    def start_prometheus(self):
        program = unpacked("prometheus", "usr/bin/prometheus")
        config = self.write(
            "prometheus.yml",
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{RULES}]\n"
            "scrape_configs:\n"
            "  - job_name: weir\n"
            f"    static_configs: [{{targets: ['127.0.0.1:{self.admin_port}']}}]\n",
        )
        port = free_port()
        log = tempfile.TemporaryFile()
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [
                program,
                f"--config.file={config}",
                f"--storage.tsdb.path={self.directory}/tsdb",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            cwd=self.directory,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return port

    def query(self, port, expression):
        status, body = get(port, "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        self.assertEqual(status, 200, f"{expression}: {body}")
        return json.loads(body)["data"]["result"]

    def await_value(self, port, expression, least):
        """Asks until the value is at least that; returns it. Prometheus may not be up yet."""
        end = time.monotonic() + DEADLINE
        while True:
            with contextlib.suppress(ConnectionError):
                status, _ = get(port, "/-/ready")
                series = self.query(port, expression) if status == 200 else []
                if series and float(series[0]["value"][1]) >= least:
                    return float(series[0]["value"][1])
            self.assertLess(time.monotonic(), end, f"{expression} is not {least} yet")
            let_others_run()


if __name__ == "__main__":
    unittest.main()
