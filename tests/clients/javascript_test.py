"""Drives weir-client for JavaScript against real servers: with users, TLS, a Unix socket; stopped,
gone, and back again.

Most tests call it through programs/program.mjs, as cases_test.py does; others run a program of
their own.
"""

import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import case_programs
import npm
from cases_test import PATIENT_MS, Program
from scripted_server import ScriptedServer
from tls_servers import TlsServerTest
from weir_e2e import DEADLINE, NEVER, client_environment, free_port

# The most seconds that a call with the default deadline of 50 ms may take on a busy machine.
BOUND_SECONDS = 2

USERS = "user default off\nuser app on >{} ~app:* +@limit\nuser admin on >admin ~* &* +@all\n"

# What a program of a test begins with; `url` is that of the server.
BEGIN = """\
import {{ Limited, Limiter, Mistake }} from "weir-client";
const url = {url};
const patient = {{ deadlineMs: {patient} }};
"""


class Caller:
    """A Limiter in a running program."""

    def __init__(self, test, **options):
        directory = tempfile.TemporaryDirectory(prefix="weir_client_")
        test.addCleanup(directory.cleanup)
        command = case_programs.CLIENTS["javascript"].prepare(directory.name)
        self._program = Program(command, directory.name)
        test.addCleanup(lambda: test.assertEqual(self._program.end(), 0))
        assert self.call("limiter", {"deadline_ms": PATIENT_MS, **options}) == "ok"

    def call(self, *call):
        return self._program.call(*call)

    def number(self, *call):
        """The second word of what is said."""
        return int(self.call(*call).split()[1])


class ClientTest(TlsServerTest):
    """Its tests call a Limiter in a running program, or run one of their own."""

    maxDiff = None

    def limiter(self, url, **options):
        return Caller(self, url=url, **options)

    def url(self, server, login=""):
        return f"redis://{login}127.0.0.1:{server.port}"

    def start_with_users(self):
        return self.start("--users-file", self.write("users", USERS.format("secret")))

    def change_password(self, server, password):
        self.write("users", USERS.format(password))
        with self.connect(server) as client:
            self.assertEqual(client.call("AUTH", "admin", "admin"), "OK")
            self.assertEqual(client.call("ACL", "LOAD"), "OK")

    def run_program(self, url, code):
        """What a program prints that ends without being told to."""
        directory = tempfile.TemporaryDirectory(prefix="weir_client_")
        self.addCleanup(directory.cleanup)
        npm.link_modules(case_programs.NODE_MODULES, directory.name)
        path = Path(directory.name, "test.mjs")
        path.write_text(BEGIN.format(url=json.dumps(url), patient=PATIENT_MS) + code)
        modules = {"NODE_PATH": str(case_programs.NODE_MODULES)}
        return subprocess.run(
            ("node", str(path)),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=DEADLINE,
            env={**client_environment(directory.name), **modules},
        ).stdout.strip()


class LimiterTest(ClientTest):
    # --- Answers ----------------------------------------------------------------------------------

    def test_decisions(self):
        limiter = self.limiter(self.url(self.start()))
        limit = f"2/{NEVER},fixed"
        self.assertEqual([limiter.number("allow", "k", limit) for _ in range(2)], [1, 0])
        self.assertRegex(limiter.call("allow", "k", limit), r"^denied 0 \d{9,} \d+ 0$")
        self.assertEqual(limiter.call("allow", {"hex": "ff00"}, "5/s,cost=6"), "never 5 - 0 0")
        said = limiter.call("details", 7, "5/s,name=burst")
        self.assertRegex(said, r"\| burst 1 5 4 0 \d+ 0 1 0$")
        self.assertRegex(limiter.call("peek", "k", limit), "^denied ")
        self.assertEqual(limiter.number("refund", "k", limit), 1)
        self.assertRegex(limiter.call("charge", "k", limit, "COST", 2), "^denied ")
        self.assertEqual(limiter.call("command", "RL.RESET", "k"), "1")
        self.assertEqual(limiter.call("counts"), "asked 8 allowed 4 denied 4")

    def test_mistakes_are_thrown(self):
        limiter = self.limiter(self.url(self.start()), fail="open")
        self.assertRegex(limiter.call("allow", "k", "2/x"), "^mistake ERR .*unknown unit 'x'")
        self.assertRegex(limiter.call("allow", None, "2/s"), "^type word 1")
        said = limiter.call("verify", "k", "@gold")
        self.assertRegex(said, "^mistake ERR .*unknown policy 'gold'")

    def test_holds(self):
        limiter = self.limiter(self.url(self.start()))
        limit = f"1000/{NEVER},fixed"

        def left(limit):
            return limiter.number("peek", "team:7", limit, "COST", 0)

        words = "team:7", "2,held", f"{limit},cost={{}}"
        self.assertEqual(limiter.call("reserve", 600, 60000, *words), "passes")
        self.assertEqual((left(limit), left("2,held")), (400, 1))
        self.assertRegex(limiter.call("reserve", 600, 60000, *words), "^limited team:7 ")
        self.assertEqual(limiter.call("settle", 900), "settled")
        self.assertEqual((left(limit), left("2,held")), (100, 2))
        self.assertEqual(limiter.call("lease", 60000, "team:7", "2,held"), "passes")
        self.assertEqual((left("2,held"), limiter.call("lost")), (1, "held"))
        self.assertEqual(limiter.call("release"), "freed")
        self.assertEqual(left("2,held"), 2)

    def test_a_slice(self):
        limiter = self.limiter(self.url(self.start("--slice-life", "60s")))
        limit = f"100/{NEVER},fixed"
        limiter.call("slice", 6, 60000, "k", limit)
        self.assertEqual([limiter.call("spend") for _ in range(2)], 2 * ["passes"])
        self.assertEqual(limiter.number("peek", "k", limit), 93)
        limiter.call("give_back")
        self.assertEqual(limiter.number("peek", "k", limit), 97)
        self.assertEqual([limiter.call("spend") for _ in range(98)], 98 * ["passes"])
        self.assertRegex(limiter.call("spend"), "^limited k ")

    # Goal: calls at the same time get all tokens and no more.
    def test_calls_share_a_limiter_and_a_slice(self):
        limiter = self.limiter(self.url(self.start("--slice-life", "60s")))
        limit = f"100/{NEVER},fixed"
        limiter.call("slice", 7, 60000, "sliced", limit)
        self.assertEqual(limiter.call("crowd", 8, 20, "asked", limit), "100")
        self.assertEqual(limiter.call("crowd", 8, 20), "100")

    def test_a_lease_is_renewed_by_a_timer(self):
        server = self.start()
        limiter = self.limiter(self.url(server), timer=True)
        self.assertEqual(limiter.call("lease", 200, "k", "1,held"), "passes")
        with self.connect(server) as client:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                self.assertEqual(client.call("RL.PEEK", "k", "1,held")[0], 0)
        limiter.call("release")
        self.assertRegex(limiter.call("peek", "k", "1,held"), "^allowed ")

    # Goal: at most 16 calls wait, and the end of the server ends them.
    def test_waits(self):
        server = self.launch("--port", str(free_port()))
        url = self.url(server)
        ended = []

        def run():
            ended.append(self.run_program(url, """\
const limiter = new Limiter(url, { ...patient, onUnavailable() {} });
const first = await limiter.wait(1, "k", "1/m");
const denied = await limiter.wait(1, "k", "1/m");
const keys = Array.from({ length: 16 }, (_, i) => `k${i}`);
await Promise.all(keys.map((key) => limiter.allow(key, "1/50s")));
const waiting = keys.map((key) => limiter.wait(55_000, key, "1/50s"));
const { cause } = await limiter.wait(1, "k", "100/s");
const causes = new Set((await Promise.all(waiting)).map((decision) => decision.cause));
console.log(first.reason, denied.reason, cause, ...causes);
"""))

        program = threading.Thread(target=run)
        program.start()
        with self.connect(server) as client:
            self.await_equal(lambda: self.info(client)["blocked_clients"], 16)
        server.kill()
        program.join(DEADLINE)
        self.assertEqual(ended, ["allowed denied busy connection"])

    # --- Logins -----------------------------------------------------------------------------------

    def test_a_user_with_few_rights(self):
        limiter = self.limiter(self.url(self.start_with_users(), "app:secret@"))
        self.assertRegex(limiter.call("allow", "other", "10/s"), "^mistake NOPERM ")
        self.assertEqual(limiter.call("verify", "app:x", "10/s"), "ok")
        self.assertRegex(limiter.call("allow", "app:x", "10/s"), "^allowed ")
        said = limiter.call("allow", "other", "10/s")
        self.assertEqual(said, "unavailable login allowed")
        self.assertEqual(limiter.call("command", "RL.RESET", "app:x"), "raised login")

    def test_a_wrong_password_is_loud(self):
        server = self.start_with_users()
        for login, text in (("app:wrong@", "WRONGPASS"), (":wrong@", "WRONGPASS"), ("", "NOAUTH")):
            limiter = self.limiter(self.url(server, login), fail="open")
            for _ in range(2):
                self.assertRegex(limiter.call("allow", "app:x", "10/s"), f"^mistake {text} ")
            self.assertNotIn("wrong", limiter.call("text"))

    def test_a_password_that_changes_while_the_service_runs(self):
        server = self.start_with_users()
        limiter = self.limiter(self.url(server, "app:secret@"))
        self.assertRegex(limiter.call("allow", "app:x", "10/s"), "^allowed ")
        self.change_password(server, "other")
        self.assertEqual(limiter.call("allow", "app:x", "10/s"), "unavailable login allowed")
        self.assertEqual(limiter.call("causes"), "login")
        self.change_password(server, "secret")
        self.assertRegex(limiter.call("allow", "app:x", "10/s"), "^allowed ")

    # Goal: the error of a login that comes after the deadline is thrown by the next call.
    # Method: a server that answers the login only then.
    def test_a_login_that_is_refused_late(self):
        server = ScriptedServer(None)
        self.addCleanup(server.close)
        login = threading.Event()

        def answer(_words):
            login.wait(DEADLINE)
            return "-WRONGPASS invalid username-password pair or user is disabled."

        server._answer_to = answer
        limiter = self.limiter(self.url(server, "app:secret@"), deadline_ms=50)
        self.assertEqual(limiter.call("allow", "k", "1/s"), "unavailable timeout allowed")
        login.set()
        said = []
        self.await_equal(
            lambda: said.append(limiter.call("allow", "k", "1/s")) or said[-1].split()[:2],
            ["mistake", "WRONGPASS"],
        )

    # Goal: a server that refuses a connection although no call waits for it ends no program, and
    # the next call says so. Method: the threads that look up the host's name are busy until later.
    def test_a_connection_that_is_refused_late(self):
        server = ScriptedServer(None)
        self.addCleanup(server.close)
        server.greeting = "-DENIED weir is in protected mode"
        printed = self.run_program(f"redis://localhost:{server.port}", """\
import { pbkdf2 } from "node:crypto";
import { setDefaultResultOrder } from "node:dns";
import { promisify } from "node:util";
setDefaultResultOrder("ipv4first");
const hash = () => promisify(pbkdf2)("password", "salt", 300_000, 64, "sha512");
const hashed = Promise.all([hash(), hash(), hash(), hash()]);
const limiter = new Limiter(url, { deadlineMs: 5, onUnavailable() {} });
console.log((await limiter.allow("k", "1/s")).cause);
await hashed;
for (let text = ""; !text.startsWith("DENIED"); ) {
  await new Promise((resolve) => setTimeout(resolve, 300)); // connected by then
  const call = limiter.allow("k", "1/s");
  text = await call.then(({ cause }) => cause, (error) => error.message);
}
""")
        self.assertEqual(printed, "timeout")

    # --- Connections ------------------------------------------------------------------------------

    def test_a_unix_socket(self):
        path = os.path.join(self.directory, "weir.sock")
        self.start("--unix-socket", path)
        limiter = self.limiter(f"unix://{path}")
        self.assertRegex(limiter.call("allow", "k", "1/s"), "^allowed ")
        limiter.call("limiter", {"unix_socket": path, "deadline_ms": PATIENT_MS})
        self.assertRegex(limiter.call("allow", "k2", "1/s"), "^allowed ")

    # Goal: node-redis 4 does not connect again behind our back.
    def test_a_connection_that_is_lost_is_replaced_by_one(self):
        server = self.start()
        limiter = self.limiter(self.url(server))
        self.assertRegex(limiter.call("allow", "k", "5/h"), "^allowed ")
        with self.connect(server) as client:
            self.assertEqual(client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"), 1)
            self.await_equal(lambda: self.info(client)["connected_clients"], 1)
            words = "allow", "k", "5/h,cost=0"
            self.await_equal(lambda: limiter.call(*words).split()[0], "allowed")
            self.assertEqual(self.info(client)["connected_clients"], 2)

    def test_tls(self):
        server = self.start_tls("--tls-auth-clients=optional")
        ca = self.authority.certificate
        limiter = self.limiter(f"rediss://127.0.0.1:{server.tls_port}?ca={ca}")
        self.assertRegex(limiter.call("allow", "k", "1/s"), "^allowed ")

    def test_tls_with_a_certificate_of_the_client(self):
        server = self.start_tls()
        certificate, key = (Path(file).read_text() for file in self.client_files)
        authority = {"ca": Path(self.authority.certificate).read_text()}
        url = f"redis://127.0.0.1:{server.tls_port}"
        limiter = self.limiter(url, tls={**authority, "cert": certificate, "key": key})
        self.assertRegex(limiter.call("allow", "k", "1/s"), "^allowed ")
        limiter = self.limiter(url, tls=authority)
        self.assertEqual(limiter.call("verify"), "raised connection")

    def test_a_certificate_of_another_name_or_authority(self):
        server = self.start_tls("--tls-auth-clients=optional")
        ca = self.authority.certificate
        for url in (f"rediss://localhost:{server.tls_port}?ca={ca}",
                    f"rediss://127.0.0.1:{server.tls_port}"):
            limiter = self.limiter(url, fail="closed")
            self.assertEqual(limiter.call("verify"), "raised connection")
            self.assertEqual(limiter.call("allow", "k", "1/s"), "unavailable connection denied")

    def test_plain_text_to_a_port_of_tls(self):
        server = self.start_tls()
        limiter = self.limiter(f"redis://127.0.0.1:{server.tls_port}", deadline_ms=1000)
        self.assertRegex(limiter.call("verify"), "^raised ")

    # Goal: a server of another protocol is an outage, and ends no program.
    def test_a_server_of_another_protocol(self):
        server = ScriptedServer(None)
        self.addCleanup(server.close)
        server.greeting = {"raw": "HTTP/1.1 400 Bad Request\r\n\r\n"}
        server.serve = lambda connection, stream: server.reply(connection, server.greeting)
        limiter = self.limiter(self.url(server), deadline_ms=500)
        self.assertRegex(limiter.call("allow", "k", "1/s"), "^unavailable (connection|timeout) ")

    # --- Wrong options ----------------------------------------------------------------------------

    # Goal: what is wrong with a program is a TypeError when it begins.
    def test_wrong_options(self):
        printed = self.run_program("redis://127.0.0.1", """\
import { rateLimit } from "weir-client/express";
const limiter = new Limiter(url);
const wrong = [
  () => rateLimit({ limiter, limits: [] }),
  () => rateLimit({ limiter, limits: "10/s" }),
  () => rateLimit({ limiter, limits: ["10/s"], trustedHops: -1 }),
  () => rateLimit({ limiter, limits: ["10/s"], colour: 1 }),
  () => rateLimit({ limiter, limits: ["10/s"], key: "user" }),
  () => rateLimit({ limits: ["10/s"] }),
  () => new Limiter(url, { url }),
  () => new Limiter(url, { onUnavailable: 1 }),
  () => new Limiter(url, { tls: "yes" }),
  () => new Limiter({ deadlineMs: "50ms" }),
  () => limiter.slice(1.5, 100, "k", "1/s"),
  () => limiter.limited("action", "k", "1/s"),
];
for (const call of wrong) {
  try {
    call();
    console.log("no error of", String(call));
  } catch (error) {
    if (!(error instanceof TypeError)) console.log(error);
  }
}
""")
        self.assertEqual(printed, "")

    # --- The end of a program ---------------------------------------------------------------------

    def test_an_idle_limiter_does_not_keep_the_program_alive(self):
        printed = self.run_program(self.url(self.start()), """\
const limiter = new Limiter(url, patient);
await limiter.lease(60_000, "slot", "1,held");
await limiter.slice(5, 60_000, "k", "9/s").spend();
console.log((await limiter.allow("k", "9/s")).reason);
""")
        self.assertEqual(printed, "allowed")

    def test_a_limiter_that_is_closed_at_once(self):
        printed = self.run_program(self.url(self.start()), """\
const limiter = new Limiter(url, patient);
const call = limiter.allow("k", "9/s");
await limiter.close();
console.log((await call).cause);
await limiter.allow("k", "9/s").catch((error) => console.log(error.message));
""")
        self.assertEqual(printed, "connection\nthe Limiter is closed")

    def test_a_limiter_that_is_closed_while_it_connects_to_nothing(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            with socket.create_connection(full.getsockname()):
                printed = self.run_program(f"redis://127.0.0.1:{full.getsockname()[1]}", """\
const begin = performance.now();
process.on("exit", () => console.log(performance.now() - begin));
const limiter = new Limiter(url, { onUnavailable() {} });
console.log((await limiter.allow("k", "9/s")).cause);
await limiter.close();
""")
                cause, ms = printed.split()
                self.assertEqual(cause, "timeout")
                self.assertLess(float(ms), BOUND_SECONDS * 1000)

    # --- Without an answer ------------------------------------------------------------------------

    def assert_fails_as_chosen(self, url):
        limiter = self.limiter(url)
        for fail, choice in (("open", "allowed"), ("closed", "denied")):
            limiter.call("limiter", {"url": url, "fail": fail, "deadline_ms": 50})
            begin = time.monotonic()
            said = limiter.call("allow", "k", "1/h")
            self.assertRegex(said, f"^unavailable (timeout|connection) {choice}$")
            if fail == "closed":
                self.assertEqual(limiter.call("check", "k", "1/h"), "limited k - unavailable")
            self.assertLess(time.monotonic() - begin, BOUND_SECONDS)

    def test_a_server_that_is_stopped(self):
        server = self.start()
        server.pause()
        self.addCleanup(server.resume)
        self.assert_fails_as_chosen(self.url(server))

    def test_a_server_that_is_stopped_with_tls(self):
        server = self.start_tls("--tls-auth-clients=optional")
        url = f"rediss://127.0.0.1:{server.tls_port}?ca={self.authority.certificate}"
        limiter = self.limiter(url, deadline_ms=500)
        words = "allow", "k", "100/h,cost=0"
        self.await_equal(lambda: limiter.call(*words).split()[0], "allowed")
        server.pause()
        self.addCleanup(server.resume)
        for _ in range(2):
            begin = time.monotonic()
            self.assertEqual(limiter.call(*words), "unavailable timeout allowed")
            self.assertLess(time.monotonic() - begin, BOUND_SECONDS)

    def test_no_server_at_all(self):
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))  # and does not listen
            url = f"redis://127.0.0.1:{unheard.getsockname()[1]}"
            self.assert_fails_as_chosen(url)
            self.assertEqual(self.limiter(url).call("verify"), "raised connection")

    # Goal: the deadline holds while the Limiter connects. Method: a full queue of connections.
    def test_a_server_that_accepts_no_connection(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            with socket.create_connection(full.getsockname()):
                self.assert_fails_as_chosen(f"redis://127.0.0.1:{full.getsockname()[1]}")

    def test_a_server_that_stops_while_it_is_asked(self):
        server = self.start()
        limiter = self.limiter(self.url(server), deadline_ms=50)
        words = "allow", "k", "100/h,cost=0"
        self.await_equal(lambda: limiter.call(*words).split()[0], "allowed")
        server.pause()
        self.addCleanup(server.resume)
        self.assertEqual(limiter.call(*words), "unavailable timeout allowed")
        server.resume()
        self.await_equal(lambda: limiter.call(*words).split()[0], "allowed")

    def test_a_server_that_comes_back(self):
        first = self.start()
        port = first.port
        limiter = self.limiter(self.url(first), fail="closed")
        self.assertRegex(limiter.call("allow", "k", "1/h"), "^allowed ")
        self.assertEqual(first.stop(), 0)
        self.assertEqual(limiter.call("allow", "k", "1/h"), "unavailable connection denied")
        self.launch("--port", str(port)).port  # waits until it listens; its state was in memory
        self.assertRegex(limiter.call("allow", "k", "1/h"), "^allowed ")

    # Goal: a reply that is there when a busy program looks for it is no timeout.
    def test_a_program_that_is_busy_while_weir_answers(self):
        printed = self.run_program(self.url(self.start()), """\
const limiter = new Limiter(url, { deadlineMs: 1000 });
await limiter.verify();
const call = limiter.allow("k", "9/s");
await new Promise((resolve) => setTimeout(resolve, 5)); // it is sent
const second = limiter.allow("k", "9/s");
await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
for (const end = performance.now() + 1500; performance.now() < end; );
console.log((await call).reason, (await second).reason);
""")
        self.assertEqual(printed, "allowed allowed")

    def test_the_warning_of_a_limiter_without_a_callback(self):
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))
            printed = self.run_program(f"redis://127.0.0.1:{unheard.getsockname()[1]}", """\
const warnings = [];
process.removeAllListeners("warning"); // that prints it
process.on("warning", (warning) => warnings.push(warning.message));
const limiter = new Limiter(url);
for (let i = 0; i < 3; ++i) await limiter.allow("k", "1/h");
setImmediate(() => console.log(warnings.join()));
""")
        self.assertEqual(
            printed,
            "weir is unavailable (connection): calls are allowed; 1 since the last warning",
        )


if __name__ == "__main__":
    unittest.main()
