"""The configurations of nginx in docs/http.md and docs/operations.md."""

import re

from proxy_cases import PAGE, ClosableProxy, ProxyTest, blocks, replaced, run_tests
from unpacked import unpacked
from weir_e2e import DEADLINE, Client

OPERATIONS = PAGE.parent / "operations.md"


class NginxProgram(ProxyTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = unpacked("nginx", "usr/sbin/nginx")

    def run_nginx(self, text):
        """Starts nginx with this configuration, whose files are all in the test's directory."""
        folders = "".join(
            f"    {kind}_temp_path {self.directory}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        text = replaced(text, ("http {\n", f"http {{\n    access_log off;\n{folders}"))
        path = self.write("nginx.conf", text)
        own = f"daemon off; master_process off; pid {self.directory}/nginx.pid;"
        self.run_proxy(self.program, "-p", self.directory, "-e", "stderr", "-c", path, "-g", own)


class NginxTest(ClosableProxy, NginxProgram):
    closed_status = 500
    extra_checks = ""

    def checks(self):
        return super().checks() + self.extra_checks + blocks("nginx", "toml")[0]

    def closing_change(self):
        return ("error_page 500 502 503 504 = @open;", "")

    def start_proxy(self, with_time_outs=False, changes=()):
        (text,) = blocks("nginx", "nginx")
        text = replaced(
            text,
            self.new_socket,
            self.new_app,
            ("listen 80;", f"listen 127.0.0.1:{self.port};"),
            *changes,
        )
        if not with_time_outs:
            text = replaced(text, ("timeout 50ms", f"timeout {DEADLINE:.0f}s"))
        self.run_nginx(text)

    def test_a_preflight_costs_no_token(self):
        (costs,) = blocks("Preflights", "nginx")
        sent = "proxy_set_header X-Cost $weir_cost;"
        self.assertIn(sent, PAGE.read_text(encoding="utf-8"))
        self.extra_checks = 'cost = "{header:x-cost}"\n'
        self.start_weir()
        self.start_proxy(
            changes=(
                ("http {\n", f"http {{\n{costs}"),
                ("proxy_set_header X-Request-Id", f"{sent}\nproxy_set_header X-Request-Id"),
            )
        )
        for _ in range(2):
            for _ in range(2):
                self.assertEqual(self.ask(method="OPTIONS").status, 200)
            self.assertEqual(self.ask().status, 200)
        self.assertEqual(self.ask(method="OPTIONS").status, 200)
        self.assert_denied(self.ask())


class NginxRedirectsTest(NginxProgram):
    """Redirects inside nginx, which make it ask again: docs/operations.md, "A limited nginx"."""

    # A location for each way to redirect; its error page and its denials are those of the page.
    LOCATIONS = """
    location = /old {
        auth_request /weir;
        rewrite ^ /page.html last;
    }
    location /tried/ {
        auth_request /weir;
        try_files $uri /page.html;
    }
    location = /lost {
        auth_request /weir;
        error_page 404 /page.html;
    }
"""

    def file(self, name):
        """A file of the page, which a command writes there: cat >PATH/NAME <<'END'."""
        (text,) = blocks("A limited nginx", "console", OPERATIONS)
        command = rf"^\$ cat >\S*/{name} <<'END'\n(.*?)^END$"
        return re.search(command, text, re.DOTALL | re.MULTILINE).group(1)

    def checks(self):
        return replaced(self.file("checks.toml"), ('"3/m,name=site"', '"20/s,burst=40,name=burst"'))

    def start_limited(self):
        server = self.start_weir(limit="9/h")
        for name in ("index.html", "page.html"):
            self.write(name, name)
        text = replaced(
            self.file("limited.conf"),
            ("listen 8080;", f"listen 127.0.0.1:{self.port};"),
            ("/usr/share/nginx/html", self.directory),
            ("http://127.0.0.1:7381/", f"http://unix:{self.socket_path}:/"),
            ("    location @limited", f"{self.LOCATIONS}    location @limited"),
        )
        self.run_nginx(f"events {{}}\nhttp {{\n{text}}}\n")
        return server

    def test_a_request_that_is_redirected_costs_one_token(self):
        server = self.start_limited()
        with Client(server.port) as redis:
            checks = 0
            for path, status, content, asked in (
                ("/page.html", 200, b"page.html", 1),
                ("/", 200, b"index.html", 2),
                ("/old", 200, b"page.html", 1),
                ("/tried/none", 200, b"page.html", 2),
                ("/lost", 404, b"page.html", 2),
            ):
                response = self.ask(path)
                self.assertEqual((response.status, response.content), (status, content), path)
                self.assertEqual(redis.call("RL.INSPECT", "ip:127.0.0.1")[0][1], 8, path)
                redis.call("RL.RESET", "ip:127.0.0.1")
                checks += asked
                info = redis.call("INFO", "weir").decode()
                self.assertRegex(info, rf"(?m)^checks:{checks}\r$", path)

    def test_users_do_not_choose_the_id(self):
        self.start_limited()
        for _ in range(9):
            self.assertEqual(self.ask("/", **{"X-Request-Id": "mine"}).status, 200)
        self.assertEqual(self.ask("/", **{"X-Request-Id": "mine"}).status, 429)


if __name__ == "__main__":
    run_tests()
