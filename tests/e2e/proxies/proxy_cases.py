"""Cases of the configurations in docs/http.md: a real proxy asks a real weir about each request.

nginx, Caddy and HAProxy are Debian's, unpacked and not installed. Their tests are skipped where
they are not there and cannot be downloaded.

Each test starts an app, a server and a proxy, with the blocks of the page, of which ports, paths
and the limit are replaced. The time-outs of the page are, too, since machines that run tests are
busy; only where weir hangs they are as they stand there.

The test of a proxy inherits the class of cases that its configuration promises.
"""

import contextlib
import hashlib
import http.client
import http.server
import os
import re
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

from weir_e2e import DEADLINE, SKIPPED, ServerTest, client_environment, let_others_run

PAGE = Path(__file__).parents[3] / "docs" / "http.md"
FENCED = re.compile(r"^```(\w+)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)

LIMIT = "2/h,name=burst"
POLICY = '"burst";q=2;w=3600'
BODY = os.urandom(100_000)
HANG_MAX = 20  # seconds; nginx would wait 60, the others forever


def blocks(heading, language, path=PAGE):
    """The fenced blocks of a language in a section of a page."""
    page = path.read_text(encoding="utf-8")
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#)", page, re.DOTALL | re.MULTILINE).group(1)
    return [text for fence, text in FENCED.findall(section) if fence == language]


def replaced(text, *changes):
    """The text with each (old, new) replaced; each must be there, or the page has changed."""
    for old, new in changes:
        if old not in text:
            raise AssertionError(f"no {old!r} in {text}")
        text = text.replace(old, new)
    return text


def digest_of(body):
    return hashlib.sha256(body).hexdigest().encode()


class App(http.server.BaseHTTPRequestHandler):
    """Answers with the digest of the body. /forbidden is refused, /broken gets no response.

    The answers are small and sent at once: Caddy 2.6 now and then cuts a larger one that follows
    closely on the end of a request's body, without weir, too.
    """

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(f"{self.command} {self.path}")
        if self.path == "/broken":
            self.close_connection = True
            return
        self.send_response(403 if self.path == "/forbidden" else 200)
        digest = digest_of(body)
        self.send_header("Content-Length", str(len(digest)))
        self.end_headers()
        self.wfile.write(digest)

    do_POST = do_GET
    do_OPTIONS = do_GET

    def handle(self):
        with contextlib.suppress(ConnectionResetError):  # HAProxy resets what it no longer keeps
            super().handle()

    def log_message(self, *_):
        pass


class ProxyTest(ServerTest):
    """A test of a client, a proxy, an app, and a server that the proxy asks."""

    def setUp(self):
        super().setUp()
        self.socket_path = os.path.join(self.directory, "http.sock")
        self.app = http.server.ThreadingHTTPServer(("127.0.0.1", 0), App)
        self.app.seen = []
        self.addCleanup(self.app.server_close)
        serving = threading.Thread(target=self.app.serve_forever, args=(0.01,))
        serving.start()
        self.addCleanup(serving.join)
        self.addCleanup(self.app.shutdown)
        self.port = self.reserve_port()
        self.new_socket = ("/run/weir/http.sock", self.socket_path)
        self.new_app = ("127.0.0.1:8080", f"127.0.0.1:{self.app.server_port}")

    def reserve_port(self):
        """A port for the proxy, which no other program gets while the test runs."""
        holder = socket.socket()
        self.addCleanup(holder.close)
        # A socket that is bound, but does not listen, lets another with this option do so.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]

    def checks(self):
        """The text of checks.toml."""
        return blocks("Proxies", "toml")[0]

    def start_weir(self, limit=LIMIT):
        checks = replaced(self.checks(), ("20/s,burst=40,name=burst", limit))
        server = self.start(
            f"--http-unix-socket={self.socket_path}",
            f"--checks={self.write('checks.toml', checks)}",
        )
        server.wait_for_log(r"listening on .*http\.sock:0 for HTTP")
        return server

    def run_proxy(self, *command, environment=None):
        """Starts the program, and returns when it accepts connections."""
        log_path = os.path.join(self.directory, "proxy.log")
        with open(log_path, "wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self.directory,
                env={**client_environment(self.directory), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        end = time.monotonic() + DEADLINE
        while True:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port), DEADLINE).close()
                return
            if process.poll() is not None or time.monotonic() > end:
                self.fail(f"{command[0]} does not listen:\n{Path(log_path).read_text()}")
            let_others_run()

    def ask(self, path="/", body=None, method=None, **fields):
        """The response of the proxy, with its body in `content`."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        with contextlib.closing(client):
            client.request(method or ("GET" if body is None else "POST"), path, body, fields)
            response = client.getresponse()
            response.content = response.read()
            return response

    def use_up(self):
        for _ in range(2):
            self.assertEqual(self.ask().status, 200)

    def assert_denied(self, response):
        self.assertEqual(response.status, 429)
        self.assertRegex(response.headers["Retry-After"], r"^1[78]\d\d$")
        self.assertRegex(response.headers["RateLimit"], r'^"burst";r=0;t=1[78]\d\d$')
        self.assertEqual(response.headers["RateLimit-Policy"], POLICY)

    def assert_answered_without_fields(self, response, status):
        self.assertEqual(response.status, status)
        for name in ("RateLimit", "RateLimit-Policy", "Retry-After"):
            self.assertNotIn(name, response.headers)


class EveryProxy:
    """The cases that are the same behind each proxy."""

    passes_fields_of_admissions = True
    large_fields = {"Cookie": "c" * 7000, "Authorization": "a" * 7000, "X-Large": "x" * 7000}

    def assert_admitted(self, response, fields):
        self.assertEqual(response.status, 200)
        if not self.passes_fields_of_admissions:
            return self.assert_answered_without_fields(response, 200)
        self.assertRegex(response.headers["RateLimit"], fields)
        self.assertEqual(response.headers["RateLimit-Policy"], POLICY)
        return self.assertNotIn("Retry-After", response.headers)

    def test_requests_are_admitted_and_then_denied(self):
        self.start_weir()
        self.start_proxy()
        self.assert_admitted(self.ask("/a?b=c"), r'^"burst";r=1;t=1[78]\d\d$')
        self.assert_admitted(self.ask("/d"), r'^"burst";r=0;t=1[78]\d\d$')
        self.assert_denied(self.ask("/e"))
        self.assertEqual(self.app.seen, ["GET /a?b=c", "GET /d"])

    def test_a_body_arrives_intact(self):
        self.start_weir()
        self.start_proxy()
        response = self.ask("/upload", BODY)
        self.assert_admitted(response, r'^"burst";r=1;')
        self.assertEqual(response.content, digest_of(BODY))
        self.assertEqual(self.ask("/upload", BODY).status, 200)
        self.assert_denied(self.ask("/upload", BODY))
        self.assertEqual(self.app.seen, ["POST /upload"] * 2)

    def test_the_own_answers_of_the_app_are_untouched(self):
        self.start_weir()
        self.start_proxy()
        response = self.ask("/forbidden", b"by the app")
        self.assertEqual((response.status, response.content), (403, digest_of(b"by the app")))
        self.assertNotIn("Retry-After", response.headers)

    # A POST, since HTTP lets a proxy repeat a GET; an empty one, since no body is left to repeat.
    def test_a_request_that_the_app_has_failed_is_not_repeated(self):
        self.start_weir()
        self.start_proxy()
        self.assertEqual(self.ask("/broken", b"").status, 502)
        self.assertEqual(self.app.seen, ["POST /broken"])

    # Goal: a user's own fields neither choose a bucket nor turn a check into an error. Method: the
    # fields that a route reads, and others that are larger in all than a head that weir takes.
    def test_fields_of_the_user_change_nothing(self):
        self.start_weir()
        self.start_proxy()
        for i in range(2):
            fields = {
                "X-Forwarded-For": f"192.0.2.{i}",
                "X-Original-URI": f"/{i}",
                **self.large_fields,
            }
            self.assertEqual(self.ask("/", None, **fields).status, 200)
        self.assert_denied(self.ask("/", None, **{"X-Forwarded-For": "192.0.2.9"}))


class OpenProxy(EveryProxy):
    """The cases of configurations that fail open."""

    def test_requests_pass_while_weir_is_down_until_it_is_back(self):
        server = self.start_weir()
        self.start_proxy()
        self.use_up()
        self.assert_denied(self.ask())
        self.assertEqual(server.stop(), 0)
        self.assert_answered_without_fields(self.ask(), 200)
        response = self.ask("/upload", BODY)
        self.assertEqual((response.status, response.content), (200, digest_of(BODY)))
        self.start_weir()
        self.use_up()
        self.assert_denied(self.ask())

    def test_requests_pass_while_weir_is_in_trouble(self):
        self.start_weir(limit="@unknown")
        self.start_proxy()
        self.assert_answered_without_fields(self.ask(), 200)

    def test_requests_pass_while_weir_hangs(self):
        server = self.start_weir()
        self.start_proxy(with_time_outs=True)
        server.pause()
        self.addCleanup(server.resume)
        began = time.monotonic()
        self.assert_answered_without_fields(self.ask(), 200)
        response = self.ask("/upload", BODY)
        self.assertEqual((response.status, response.content), (200, digest_of(BODY)))
        self.assertLess(time.monotonic() - began, HANG_MAX)



class ClosableProxy(OpenProxy):
    """The case of configurations that fail closed after one change that the page names."""

    def test_requests_fail_while_weir_is_down_after_the_change(self):
        self.start_proxy(changes=(self.closing_change(),))
        self.assert_answered_without_fields(self.ask(), self.closed_status)
        self.start_weir()
        self.use_up()
        self.assert_denied(self.ask())


def run_tests():
    """Runs the tests of the program; exits as ctest reads it if none ran."""
    outcome = unittest.main(exit=False).result
    if not outcome.wasSuccessful():
        sys.exit(1)
    sys.exit(0 if outcome.testsRun else SKIPPED)
