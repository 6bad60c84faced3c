"""A real Envoy in front of a web server, with the clusters, routes and filter of docs/envoy.md.

    WEIR_ENVOY    path of Envoy's program (./dev envoy-test fetches it)
"""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import urllib.request

import yaml

from rls_case import RlsServerTest
from weir_e2e import DEADLINE, free_port

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "envoy.md"
FILTER = "envoy.filters.http.ratelimit"
USERS = "user default on nopass ~* &* +@all\nuser envoy on >secret ~rls:shop:* +@limit\n"


def page_blocks():
    """The YAML that the page shows, by its first word."""
    texts = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    blocks = {}
    for text in texts:
        blocks.update(yaml.safe_load(text))
    return blocks


def address(port):
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def endpoints(ports):
    return [{"lb_endpoints": [{"endpoint": {"address": address(port)}} for port in ports]}]


def bootstrap(admin, listener, web, weirs, routes=(), **of_filter):
    """Envoy's configuration: that of the page, with these ports, routes before its own, and fields
    of the filter."""
    page = page_blocks()
    (cluster,) = page["clusters"]
    cluster["load_assignment"]["endpoints"] = endpoints(weirs)
    (rate_limit,) = page["http_filters"]
    rate_limit["typed_config"].update(of_filter)
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network."
                 "http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "web",
        "route_config": {"virtual_hosts": [
            {"name": "all", "domains": ["*"], "routes": [*routes, *page["routes"]]}]},
        "http_filters": [rate_limit, {
            "name": "router",
            "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http."
                                      "router.v3.Router"}}],
    }
    return {
        "admin": {"address": address(admin)},
        "static_resources": {
            "listeners": [{"address": address(listener), "filter_chains": [
                {"filters": [{"name": "http", "typed_config": manager}]}]}],
            "clusters": [cluster, {
                "name": "web", "load_assignment": {
                    "cluster_name": "web", "endpoints": endpoints([web])}}],
        },
    }


class Web(http.server.ThreadingHTTPServer):
    """A web server. Answers cost the tokens that requests name; /flight waits for `go_on`."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.go_on = threading.Event()
        self.waiting = threading.Semaphore(0)  # released for each request that waits


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/flight":
            self.server.waiting.release()
            self.server.go_on.wait(DEADLINE)
        self.send_response(200)
        self.send_header("x-tokens", self.headers.get("x-tokens", "0"))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class EnvoyTest(RlsServerTest):
    """A test that starts weir, a web server, and an Envoy between them."""

    def start_weir(self, rules, *options, **more):
        users = self.write("users", USERS)
        return self.start_rls(rules, f"--users-file={users}", *options, **more)

    def start_web(self):
        web = Web()
        thread = threading.Thread(target=web.serve_forever)
        thread.start()

        def end():
            web.go_on.set()
            web.shutdown()
            thread.join(DEADLINE)
            web.server_close()

        self.addCleanup(end)
        return web

    def start_envoy(self, *weirs, **of_filter):
        """Starts Envoy and what it serves; returns when it serves."""
        self.web = self.start_web()
        self.admin, self.listener = free_port(), free_port()
        config = self.write("envoy.json", json.dumps(bootstrap(
            self.admin, self.listener, self.web.server_port, weirs or [self.http_port],
            **{"timeout": "1s", "failure_mode_deny": True, **of_filter})))
        log = open(os.path.join(self.directory, "envoy.log"), "wb")
        self.addCleanup(log.close)
        envoy = subprocess.Popen(
            [os.environ["WEIR_ENVOY"], "-c", config, "--concurrency", "1",
             "--disable-hot-restart", "--log-level", "warning"], stderr=log)

        def end():
            envoy.send_signal(signal.SIGTERM)
            try:
                envoy.wait(DEADLINE)
            finally:
                envoy.kill()

        self.addCleanup(end)
        self.await_equal(self.is_ready, True)
        self.assertIsNone(envoy.poll(), self.envoy_log())

    def is_ready(self):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/ready") as answer:
                return answer.status == 200
        return False

    def envoy_log(self):
        return pathlib.Path(self.directory, "envoy.log").read_text(encoding="utf-8")

    def stat(self, name):
        """One of Envoy's counters."""
        address_of = f"http://127.0.0.1:{self.admin}/stats?filter=^{re.escape(name)}$"
        with urllib.request.urlopen(address_of) as answer:
            text = answer.read().decode()
        return int(text.partition(": ")[2] or 0)

    def get(self, path, user, **fields):
        """The answer to a request of a user: a status, and the header."""
        web = http.client.HTTPConnection("127.0.0.1", self.listener, timeout=DEADLINE)
        with contextlib.closing(web):
            web.request("GET", path, headers={"x-user": user, **fields})
            answer = web.getresponse()
            answer.read()
            return answer.status, answer.headers
