"""The configuration of HAProxy in docs/http.md, with its script."""

import re

from proxy_cases import PAGE, ClosableProxy, ProxyTest, blocks, replaced, run_tests
from unpacked import library_environment, unpacked
from weir_e2e import DEADLINE


class HaproxyTest(ClosableProxy, ProxyTest):
    closed_status = 503
    # HAProxy itself takes no more than weir.
    large_fields = {"Cookie": "c" * 7000, "X-Large": "x" * 7000}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        libraries = ("liblua5.3-0", "libopentracing1", "libopentracing-c-wrapper0")
        cls.program = unpacked("haproxy", "usr/sbin/haproxy", *libraries)

    def closing_change(self):
        page = PAGE.read_text(encoding="utf-8")
        (line,) = re.findall(r"`(http-request return status 503 [^`]+)`", page)
        denial = "if { var(txn.weir_status) -m str 429 }\n"
        return (denial, f"{denial}    {line}\n")

    def start_proxy(self, with_time_outs=False, changes=()):
        (script,) = blocks("HAProxy", "lua")
        (text,) = blocks("HAProxy", "haproxy")
        script = replaced(script, self.new_socket)
        if not with_time_outs:
            script = replaced(script, ("settimeout(0.05)", f"settimeout({DEADLINE})"))
        text = replaced(
            text,
            ("/etc/haproxy/weir.lua", self.write("weir.lua", script)),
            self.new_app,
            ("bind :80\n", f"bind 127.0.0.1:{self.port}\n"),
            *changes,
        )
        path = self.write("haproxy.cfg", text)
        environment = library_environment("haproxy")
        self.run_proxy(self.program, "-db", "-f", path, environment=environment)


if __name__ == "__main__":
    run_tests()
