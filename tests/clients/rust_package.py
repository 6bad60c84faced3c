"""Drives both Limiters of the Rust crate weir-client against real servers: with users, TLS, a Unix
socket; stopped, hung, and back again. Looks at what the crate holds, and runs the middleware.

Needs cargo 1.88, and crates.io: `./dev clients` runs it.
"""

import os
import socket
import subprocess
import threading
import time
import unittest

import case_programs
from cases_test import PATIENT_MS, Program
from scripted_server import ScriptedServer
from tls_servers import Authority, TlsServerTest
from weir_e2e import DEADLINE, NEVER, ServerTest

# The most seconds that a call with the default deadline of 50 ms may take on a busy machine.
BOUND_SECONDS = 2

USERS = "user default off\nuser app on >{} ~app:* +@limit\nuser admin on >admin ~* &* +@all\n"
CRATE = case_programs.ROOT / "clients/rust"
WITHOUT_ANSWER = ("timeout", "connection")


class LimiterTests:
    """The tests of one Limiter; a subclass has its name in case_programs.py."""

    client = ""

    def setUp(self):
        super().setUp()
        command = case_programs.CLIENTS[self.client].prepare(self.directory)
        self.program = Program(command, self.directory)
        self.addCleanup(lambda: self.assertEqual(self.program.end(), 0))

    def limiter(self, url, **options):
        """Begins with a Limiter that is patient, unless the options say otherwise."""
        options = {"deadline_ms": PATIENT_MS, "timer": True, **options}
        given = {name: value for name, value in options.items() if value is not None}
        self.assertEqual(self.call("limiter", {"url": url, **given}), "ok")

    def call(self, *words):
        return self.program.call(*words)

    def allow(self, *words):
        return self.call("allow", *words)

    def url(self, server, login=""):
        return f"redis://{login}127.0.0.1:{server.port}"

    def start_with_users(self):
        return self.start("--users-file", self.write("users", USERS.format("secret")))

    def change_password(self, server, password):
        self.write("users", USERS.format(password))
        with self.connect(server) as client:
            self.assertEqual(client.call("AUTH", "admin", "admin"), "OK")
            self.assertEqual(client.call("ACL", "LOAD"), "OK")

    # --- Answers ----------------------------------------------------------------------------------

    def test_decisions(self):
        self.limiter(self.url(self.start()))
        limit = f"2/{NEVER},fixed"
        self.assertRegex(self.allow("k", limit), "^allowed 1 0 ")
        self.assertRegex(self.allow("k", limit), "^allowed 0 0 ")
        self.assertRegex(self.allow("k", limit), r"^denied 0 \d{9,} \d+ 0$")
        self.assertRegex(self.allow("l", "5/s,cost=6"), "^never 5 - 0 0$")
        self.assertRegex(self.call("details", "m", "5/s,name=burst"), r"\| burst 1 5 4 0 ")
        self.assertRegex(self.call("peek", "k", limit), "^denied ")
        self.assertRegex(self.call("refund", "k", limit), "^allowed 1 ")
        self.assertRegex(self.call("charge", "k", limit, "COST", "2"), "^denied ")
        self.assertEqual(self.call("command", "RL.RESET", "k"), "1")
        self.assertRegex(self.call("wait", 1000, "n", "100/s"), "^allowed ")
        self.assertEqual(self.call("counts"), "asked 9 allowed 5 denied 4")

    def test_mistakes(self):
        self.limiter(self.url(self.start()), fail="open")
        self.assertRegex(self.allow("k", "2/x"), "^mistake .*unknown unit 'x'")
        self.assertRegex(self.call("verify", "k", "@gold"), "^mistake .*unknown policy 'gold'")

    def test_holds(self):
        self.limiter(self.url(self.start()))
        limit = f"1000/{NEVER},fixed"

        def left(limit):
            return self.call("peek", "team:7", limit, "COST", "0").split()[1]

        words = 600, 60_000, "team:7", "2,held", f"{limit},cost={{}}"
        self.assertEqual(self.call("reserve", *words), "passes")
        self.assertEqual((left(limit), left("2,held")), ("400", "1"))
        self.assertEqual(self.call("settle", 900), "settled")
        self.assertEqual((left(limit), left("2,held")), ("100", "2"))
        self.assertRegex(self.call("reserve", *words), "^limited team:7 ")
        self.assertEqual(self.call("lease", 60_000, "team:7", "2,held"), "passes")
        self.assertEqual((left("2,held"), self.call("lost")), ("1", "held"))
        self.assertEqual(self.call("release"), "freed")
        self.assertEqual(left("2,held"), "2")

    # Goal: callers that share a slice get all tokens and no more.
    def test_a_crowd(self):
        self.limiter(self.url(self.start("--slice-life", "60s")))
        limit = f"100/{NEVER},fixed"
        self.assertEqual(self.call("crowd", 20, 10, "asked", limit), "100")
        self.assertEqual(self.call("slice", 7, 60_000, "sliced", limit), "ok")
        self.assertEqual(self.call("crowd", 8, 20), "100")
        self.assertEqual(self.call("give_back"), "ok")

    # --- Logins -----------------------------------------------------------------------------------

    def test_a_user_with_few_rights(self):
        self.limiter(self.url(self.start_with_users(), "app:secret@"))
        self.assertRegex(self.allow("other", "10/s"), "^mistake NOPERM")
        self.assertEqual(self.call("verify", "app:x", "10/s"), "ok")
        self.assertRegex(self.allow("app:x", "10/s"), "^allowed")
        self.assertEqual(self.allow("other", "10/s"), "unavailable login allowed")
        self.assertEqual(self.call("command", "RL.RESET", "app:x"), "raised login")

    def test_a_wrong_password_is_loud(self):
        server = self.start_with_users()
        for login, text in (("app:wrong@", "WRONGPASS"), (":wrong@", "WRONGPASS"), ("", "NOAUTH")):
            self.limiter(self.url(server, login), fail="open")
            for _ in range(2):
                self.assertRegex(self.allow("app:x", "10/s"), f"^mistake {text}")
            self.assertNotIn("wrong", self.call("text"))

    def test_a_password_that_changes_while_the_service_runs(self):
        server = self.start_with_users()
        self.limiter(self.url(server, "app:secret@"))
        self.assertRegex(self.allow("app:x", "10/s"), "^allowed")
        self.change_password(server, "other")
        self.assertEqual(self.allow("app:x", "10/s"), "unavailable login allowed")
        self.assertEqual(self.call("causes"), "login")
        self.change_password(server, "secret")
        self.assertRegex(self.allow("app:x", "10/s"), "^allowed")

    # Goal: the next call gets the error of a login that comes after the deadline. Method: a
    # server that answers the login only then.
    def test_a_login_that_is_refused_late(self):
        server = ScriptedServer(None)
        self.addCleanup(server.close)
        login = threading.Event()

        def answer(_words):
            login.wait(DEADLINE)
            return "-WRONGPASS invalid username-password pair or user is disabled."

        server._answer_to = answer
        self.limiter(self.url(server, "app:secret@"), deadline_ms=50, fail="open")
        self.assertEqual(self.allow("k", "1/s"), "unavailable timeout allowed")
        login.set()
        self.await_equal(lambda: self.allow("k", "1/s").split()[1], "WRONGPASS")

    # --- Connections ------------------------------------------------------------------------------

    def test_a_unix_socket(self):
        path = os.path.join(self.directory, "weir.sock")
        self.start("--unix-socket", path)
        self.limiter(f"unix://{path}")
        self.assertRegex(self.allow("k", "1/s"), "^allowed")

    def test_tls(self):
        server = self.start_tls("--tls-auth-clients=optional")
        self.limiter(self.tls_url(server))
        self.assertRegex(self.allow("k", "2/h"), "^allowed 1 ")
        self.assertRegex(self.allow("k", "2/h"), "^allowed 0 ")

    def tls_url(self, server, host="127.0.0.1"):
        return f"rediss://{host}:{server.tls_port}?ca={self.authority.certificate}"

    def test_a_certificate_of_another_name_or_authority(self):
        server = self.start_tls("--tls-auth-clients=optional")
        another = Authority(self.directory, "another").certificate
        for url in (self.tls_url(server, "localhost"),
                    f"rediss://127.0.0.1:{server.tls_port}",
                    f"rediss://127.0.0.1:{server.tls_port}?ca={another}"):
            self.limiter(url, fail="closed")
            self.assertEqual(self.call("verify"), "raised connection")
            self.assertEqual(self.allow("k", "1/s"), "unavailable connection denied")
        missing = f"rediss://127.0.0.1?ca={self.directory}/missing"
        self.assertRegex(self.call("limiter", {"url": missing}), "^mistake .*missing")

    def test_plain_text_to_a_port_of_tls(self):
        self.limiter(f"redis://127.0.0.1:{self.start_tls().tls_port}")
        self.assertRegex(self.call("verify"), "^raised ")

    # --- Without an answer ------------------------------------------------------------------------

    def assert_fails_as_chosen(self, url):
        for fail, choice in (("open", "allowed"), ("closed", "denied")):
            self.limiter(url, fail=fail, deadline_ms=None)
            begin = time.monotonic()
            reason, cause, said = self.allow("k", "1/h").split()
            self.assertEqual((reason, said), ("unavailable", choice))
            self.assertIn(cause, WITHOUT_ANSWER)
            passes = "passes" if fail == "open" else "limited k - unavailable"
            self.assertEqual(self.call("check", "k", "1/h"), passes)
            self.assertLess(time.monotonic() - begin, 2 * BOUND_SECONDS)

    def test_a_server_that_hangs(self):
        server = self.start()
        server.pause()
        self.addCleanup(server.resume)
        self.assert_fails_as_chosen(self.url(server))

    def test_a_server_that_hangs_with_tls(self):
        server = self.start_tls("--tls-auth-clients=optional")
        self.limiter(self.tls_url(server), deadline_ms=500)
        self.await_equal(lambda: self.allow("k", "100/h,cost=0").split()[0], "allowed")
        server.pause()
        self.addCleanup(server.resume)
        for _ in range(2):
            begin = time.monotonic()
            self.assertEqual(self.allow("k", "100/h,cost=0"), "unavailable timeout allowed")
            self.assertLess(time.monotonic() - begin, BOUND_SECONDS)

    def test_no_server_at_all(self):
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))  # and does not listen
            url = f"redis://127.0.0.1:{unheard.getsockname()[1]}"
            self.assert_fails_as_chosen(url)
            self.limiter(url)
            self.assertEqual(self.call("verify"), "raised connection")

    # Goal: the deadline holds while the Limiter connects. Method: a full queue of connections.
    def test_a_server_that_accepts_no_connection(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            with socket.create_connection(full.getsockname()):
                self.assert_fails_as_chosen(f"redis://127.0.0.1:{full.getsockname()[1]}")

    # Goal: a server that hangs up on each new connection is an outage, not a loop.
    def test_a_server_that_hangs_up(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def hang_up():
                while True:
                    try:
                        listener.accept()[0].close()
                    except OSError:
                        return

            threading.Thread(target=hang_up, daemon=True).start()
            self.limiter(f"redis://127.0.0.1:{listener.getsockname()[1]}")
            self.assertEqual(self.allow("k", "1/h"), "unavailable connection allowed")
            listener.shutdown(socket.SHUT_RDWR)

    def test_a_server_that_hangs_while_it_is_asked(self):
        server = self.start()
        self.limiter(self.url(server), deadline_ms=50)
        words = "k", "100/h,cost=0"
        self.await_equal(lambda: self.allow(*words).split()[0], "allowed")
        server.pause()
        self.addCleanup(server.resume)
        self.assertEqual(self.allow(*words), "unavailable timeout allowed")
        server.resume()
        self.await_equal(lambda: self.allow(*words).split()[0], "allowed")

    def test_a_server_that_comes_back(self):
        first = self.start()
        port = first.port
        self.limiter(self.url(first), fail="closed")
        self.assertRegex(self.allow("k", "1/h"), "^allowed")
        self.assertEqual(first.stop(), 0)
        self.assertEqual(self.allow("k", "1/h"), "unavailable connection denied")
        self.launch("--port", str(port)).port  # waits until it listens; its state was in memory
        self.assertRegex(self.allow("k", "1/h"), "^allowed")

    def test_a_lease_is_renewed(self):
        server = self.start()
        self.limiter(self.url(server))
        self.assertEqual(self.call("lease", 200, "k", "1,held"), "passes")
        with self.connect(server) as client:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                self.assertEqual(client.call("RL.PEEK", "k", "1,held")[0], 0)
        self.assertEqual(self.call("lost"), "held")
        self.assertEqual(self.call("release"), "freed")


class ThreadLimiterTest(LimiterTests, TlsServerTest):
    client = "rust"


class TokioLimiterTest(LimiterTests, TlsServerTest):
    client = "rust-tokio"

    # Goal: after the future of a call was dropped, its reply reaches no other. Method: the server
    # is stopped while it is asked, and answers when it is continued.
    def test_a_future_that_is_dropped(self):
        server = self.start()
        self.limiter(self.url(server))
        self.assertRegex(self.allow("warm", "1/s"), "^allowed")
        server.pause()
        self.assertEqual(self.call("abandon", 50, "dropped", "5/h"), "abandoned")
        server.resume()
        self.assertRegex(self.allow("k", "1000/h"), "^allowed 999 ")


class MiddlewareTest(ServerTest):
    """Axum, and hyper 0.14."""

    def test_the_layer(self):
        url = f"redis://127.0.0.1:{self.start().port}?deadline={int(DEADLINE)}s"
        lines = self.run_program(url).splitlines()
        few = '| ratelimit-policy: "few";q=3 | ratelimit: "few";'
        for left, line in zip((2, 1, 0), lines):
            self.assertRegex(line, rf"^200 \{few}r={left} \| x-ratelimit-limit: 3 \|.*few {left}$")
        for part in ("429 " + few + "r=0;t=", "| retry-after: ", "application/problem+json",
                     '"violated-policies":["few"]'):
            self.assertIn(part, lines[3])
        self.assertRegex(lines[4], f"^200 \\{few}r=2")  # another address
        self.assertNotIn("ratelimit", lines[5])  # a preflight
        self.assertEqual(lines[6:14], [
            "hops [200, 200, 200, 429]", "hops [500]", "hops 200", "keyed [200, 429]",
            "keyed [500]", "keyed [200, 200]", "charged [200, 200, 200, 200, 200]",
            "charged [401, 401, 401, 420]",
        ])
        self.assertRegex(lines[14], r"^420 .*retry-after: \d+ \| slow down, few$")
        self.assertRegex(lines[15], r'^503 .*\{"title":"Service Unavailable"\}$')
        self.assertEqual(lines[16:], ["hyper 200", "hyper 429"])

    def run_program(self, url):
        folder = case_programs.PROGRAMS / "rust_web"
        program = f"{case_programs.cargo_build(folder)}/weir-client-web"
        return subprocess.run(
            (program, url), check=True, timeout=DEADLINE, text=True, stdout=subprocess.PIPE
        ).stdout


class PackageTest(unittest.TestCase):
    # Goal: the crate holds its sources, and nothing besides.
    def test_what_the_crate_holds(self):
        listed = subprocess.run(
            ("cargo", "package", "--list", "--allow-dirty"),
            cwd=CRATE, check=True, stdout=subprocess.PIPE, text=True,
        ).stdout.split()
        modules = {path.relative_to(CRATE).as_posix() for path in CRATE.glob("src/**/*.rs")}
        made = {".cargo_vcs_info.json", "Cargo.toml.orig"}
        others = {"Cargo.toml", "Cargo.lock", "LICENSE", "README.md"}
        self.assertEqual(set(listed) - made, modules | others)


if __name__ == "__main__":
    unittest.main()
