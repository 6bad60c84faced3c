"""The two configurations of Caddy in docs/http.md: the short one and the long one."""

import time

from proxy_cases import (
    BODY,
    HANG_MAX,
    EveryProxy,
    OpenProxy,
    ProxyTest,
    blocks,
    replaced,
    run_tests,
)
from unpacked import unpacked
from weir_e2e import DEADLINE


class CaddyTest(ProxyTest):
    """A test of one of the two configurations for Caddy."""

    index = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = unpacked("caddy", "usr/bin/caddy")

    def start_proxy(self, with_time_outs=False, changes=()):
        text = replaced(
            blocks("Caddy", "caddyfile")[self.index],
            self.new_socket,
            self.new_app,
            (":80 {\n", f":{self.port} {{\n    bind 127.0.0.1\n"),
            *changes,
        )
        if not with_time_outs:
            text = replaced(text, ("timeout 50ms", f"timeout {DEADLINE:.0f}s"))
        path = self.write("Caddyfile", "{\n    admin off\n}\n" + text)
        self.run_proxy(self.program, "run", "--config", path, "--adapter", "caddyfile")


class CaddyShortTest(EveryProxy, CaddyTest):
    passes_fields_of_admissions = False
    large_fields = {"Authorization": "a" * 9000, "Cookie": "c" * 9000}

    def test_requests_fail_while_weir_is_down_until_it_is_back(self):
        server = self.start_weir()
        self.start_proxy()
        self.use_up()
        self.assertEqual(server.stop(), 0)
        self.assert_answered_without_fields(self.ask(), 502)
        self.assertEqual(len(self.app.seen), 2)
        self.start_weir()
        self.use_up()
        self.assert_denied(self.ask())

    def test_requests_fail_while_weir_is_in_trouble(self):
        self.start_weir(limit="@unknown")
        self.start_proxy()
        self.assert_answered_without_fields(self.ask(), 500)
        self.assertEqual(self.app.seen, [])

    def test_requests_fail_while_weir_hangs(self):
        server = self.start_weir()
        self.start_proxy(with_time_outs=True)
        server.pause()
        self.addCleanup(server.resume)
        began = time.monotonic()
        self.assert_answered_without_fields(self.ask("/upload", BODY), 504)
        self.assertLess(time.monotonic() - began, HANG_MAX)
        self.assertEqual(self.app.seen, [])


class CaddyLongTest(OpenProxy, CaddyTest):
    index = 1
    large_fields = CaddyShortTest.large_fields


if __name__ == "__main__":
    run_tests()
