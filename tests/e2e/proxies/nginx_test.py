"""The configuration of nginx in docs/http.md."""

from proxy_cases import ClosableProxy, ProxyTest, blocks, replaced, run_tests
from unpacked import unpacked
from weir_e2e import DEADLINE


class NginxTest(ClosableProxy, ProxyTest):
    closed_status = 500

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = unpacked("nginx", "usr/sbin/nginx")

    def checks(self):
        return super().checks() + blocks("nginx", "toml")[0]

    def closing_change(self):
        return ("error_page 500 502 503 504 = @open;", "")

    def start_proxy(self, with_time_outs=False, changes=()):
        (text,) = blocks("nginx", "nginx")
        folders = "".join(
            f"    {kind}_temp_path {self.directory}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        text = replaced(
            text,
            self.new_socket,
            self.new_app,
            ("listen 80;", f"listen 127.0.0.1:{self.port};"),
            ("http {\n", f"http {{\n    access_log off;\n{folders}"),
            *changes,
        )
        if not with_time_outs:
            text = replaced(text, ("timeout 50ms", f"timeout {DEADLINE:.0f}s"))
        path = self.write("nginx.conf", text)
        own = f"daemon off; master_process off; pid {self.directory}/nginx.pid;"
        self.run_proxy(self.program, "-p", self.directory, "-e", "stderr", "-c", path, "-g", own)


if __name__ == "__main__":
    run_tests()
