"""Drives the C++ library weir_client against real servers: with TLS, with a Unix socket; and with
servers that are stopped, gone, and back again.
"""

import os
import queue
import select
import socket
import subprocess
import threading
import time
import unittest

from cpp_client import OK, CppClientTest
from weir_e2e import DEADLINE, NEVER

# The most seconds that a call with the default deadline of 50 ms may take on a busy machine.
BOUND_SECONDS = 2


class CppWireTest(CppClientTest):
    # --- Connections ------------------------------------------------------------------------------

    def test_a_unix_socket(self):
        path = os.path.join(self.directory, "weir.sock")
        self.start("--unix-socket", path)
        self.assert_passes(self.limiter(url=f"unix://{path}"), "k", "1/s")
        self.assert_passes(self.limiter(unix_socket=path), "k2", "1/s")

    def test_a_unix_socket_that_is_not_there(self):
        limiter = self.limiter(unix_socket=os.path.join(self.directory, "none.sock"))
        self.assertEqual(limiter.call("allow", "k", "1/s"), "unavailable connection allowed")
        limiter = self.limiter(unix_socket="/" + 200 * "x")
        self.assertEqual(limiter.call("allow", "k", "1/s"), "unavailable connection allowed")

    def test_a_unix_socket_without_a_path(self):
        self.assertRegex(self.limiter().call("limiter", {"unix_socket": ""}), "^mistake .*path")

    def test_tls(self):
        server = self.start_tls("--tls-auth-clients=optional")
        ca = self.authority.certificate
        url = f"rediss://127.0.0.1:{server.tls_port}"
        limiter = self.limiter(url=f"{url}?ca={ca}")
        for i in range(3):
            self.assert_passes(limiter, f"k{i}", "1/s")

    def test_a_certificate_of_the_client(self):
        server = self.start_tls()
        certificate, key = self.client_files
        tls = {"ca": self.authority.certificate, "certificate": certificate, "key": key}
        url = f"127.0.0.1:{server.tls_port}"
        for limiter in (self.limiter(url=f"rediss://{url}", tls=tls),
                        self.limiter(url=f"redis://{url}", tls=tls)):
            self.assertEqual(limiter.call("verify"), "ok")
        without = self.limiter(url=f"rediss://{url}", tls={"ca": tls["ca"]})
        self.assertEqual(without.call("verify"), "raised connection")

    def test_files_of_tls_that_are_wrong(self):
        certificate, key = self.client_files
        program = self.limiter()
        for tls in ({"ca": "/none.pem"}, {"certificate": certificate},
                    {"certificate": certificate, "key": self.server_files[1]},
                    {"certificate": key, "key": key},
                    {"certificate": certificate, "key": self.with_passphrase(key)},
                    {"context": self.authority.certificate, "key": key}):
            with self.subTest(tls=tls):
                said = program.call("limiter", {"host": "localhost", "tls": tls})
                self.assertRegex(said, "^mistake TLS ")

    def with_passphrase(self, key):
        path = os.path.join(self.directory, "secret.key")
        words = "openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", path
        subprocess.run(words, check=True, timeout=DEADLINE)
        return path

    def test_a_context_of_the_program(self):
        server = self.start_tls("--tls-auth-clients=optional")
        tls = {"context": self.authority.certificate}
        for scheme in "redis", "rediss":
            limiter = self.limiter(url=f"{scheme}://127.0.0.1:{server.tls_port}", tls=tls)
            self.assertEqual(limiter.call("verify"), "ok")
        limiter = self.limiter(url=f"rediss://localhost:{server.tls_port}", tls=tls)
        self.assertEqual(limiter.call("verify"), "raised connection")

    # Goal: a name that OpenSSL does not take is not a reason to check none.
    def test_a_name_that_no_certificate_can_have(self):
        server = self.start_tls("--tls-auth-clients=optional")
        tls = {"ca": self.authority.certificate}
        limiter = self.limiter(host="localhost\0x", port=server.tls_port, tls=tls)
        self.assertEqual(limiter.call("verify"), "raised connection")
        self.assertIn("name", limiter.call("why"))

    def test_a_certificate_of_another_name_or_authority(self):
        server = self.start_tls("--tls-auth-clients=optional")
        ca = self.authority.certificate
        for url in (f"rediss://localhost:{server.tls_port}?ca={ca}",
                    f"rediss://127.0.0.1:{server.tls_port}"):
            limiter = self.limiter(url=url, fail="closed")
            self.assertEqual(limiter.call("verify"), "raised connection")
            self.assertIn("certificate", limiter.call("why"))
            self.assertEqual(limiter.call("allow", "k", "1/s"), "unavailable connection denied")

    def test_plain_text_to_a_port_of_tls(self):
        server = self.start_tls()
        limiter = self.limiter(url=f"redis://127.0.0.1:{server.tls_port}")
        self.assertTrue(limiter.call("verify").startswith("raised "))

    def test_tls_to_a_port_of_plain_text(self):
        limiter = self.limiter(url=f"rediss://127.0.0.1:{self.start().port}")
        self.assertTrue(limiter.call("verify").startswith("raised "))

    # Goal: a deadline above a second is not cut to a second for the login.
    # Method: the server answers once the client has not hung up for longer than that.
    def test_a_login_that_takes_longer_than_a_second(self):
        server, _ = self.scripted()

        def answer(_words):
            hung_up, _, _ = select.select(server._connections[-1:], [], [], 1.5)
            return "-ERR too impatient" if hung_up else "+OK"

        server._answer_to = answer
        limiter = self.limiter(url=self.url(server, "app:secret@"))
        limiter.send(["allow", "k", "1/s"])
        self.next_asked(server).sendall(OK)
        self.assertEqual(limiter.next_said(), "allowed 9 0 900 0")

    # Goal: a call that queues connects as soon as another call has lost its connection.
    # Method: 15 calls have no reply, the 16th is in its login, and others queue.
    def test_a_lost_connection_wakes_calls_that_queue(self):
        server, _ = self.scripted()
        logins = queue.Queue()
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)

        def answer(_words):
            logins.put("asked")
            if len(server._connections) == 16:
                goes_on.wait(DEADLINE)
            return "+OK"

        server._answer_to = answer
        limiter = self.limiter(url=self.url(server, "app:secret@"))
        call = ["begin", ["allow", "k", "1/h"]]
        for _ in range(15):
            limiter.call(*call)
        connections = [self.next_asked(server) for _ in range(15)]
        for _ in range(3):
            limiter.call(*call)
        for _ in range(16):
            logins.get(timeout=DEADLINE)
        self.await_equal(lambda: self.states(limiter), {"S"})
        connections[0].shutdown(socket.SHUT_RDWR)
        self.next_asked(server)  # the login of the 16th is not answered yet
        limiter.call("close")
        goes_on.set()

    # --- Its end ----------------------------------------------------------------------------------

    # Goal: close() ends calls that wait for a reply, that queue, and that would be sent again.
    def test_close_ends_the_calls_that_run(self):
        server, url = self.scripted()
        limiter = self.limiter(url=url)
        for _ in range(17):
            self.assertEqual(limiter.call("begin", ["allow", "k", "1/h"]), "ok")
        limiter.call("begin", ["wait", 0, "k", "1/h"])
        for _ in range(17):
            self.next_asked(server)
        self.await_equal(lambda: self.states(limiter), {"S"})  # the one that queues sleeps, too
        self.assertEqual(limiter.call("close"), "ok")
        said = limiter.call("end").split(" | ")
        self.assertEqual(set(said), {"unavailable connection allowed"})
        self.assertRegex(limiter.call("allow", "k", "1/h"), "^mistake .*closed")

    def test_close_ends_a_request_of_a_hold(self):
        server, url = self.scripted()
        limiter = self.limiter(url=url, fail="closed")
        limiter.call("begin", ["lease_scope", 60_000, "k", "1,held"])
        self.next_asked(server)
        self.assertEqual(limiter.call("close"), "ok")
        self.assertEqual(limiter.call("end"), "limited k - unavailable")

    # Goal: no thread outlives close(), so that none runs while the program ends.
    def test_close_ends_all_threads(self):
        limiter = self.limiter(url=self.url(self.start()))
        self.assertEqual(limiter.call("lease", 60_000, "k", "1,held"), "passes")
        limiter.call("slice", 6, 60_000, "l", "9/s")
        self.assertEqual(limiter.call("spend"), "passes")
        self.assertEqual(limiter.call("close"), "ok")
        self.await_equal(lambda: self.threads(limiter), limiter.idle_threads)

    def test_no_more_threads(self):
        limiter = self.limiter(url=self.url(self.start()), threads="none")
        self.assertEqual(limiter.call("lease", 60_000, "k", "1,held"), "passes")
        self.assertEqual(limiter.call("release"), "freed")
        limiter.call("slice", 6, 60_000, "l", f"99/{NEVER}")
        self.assertEqual(limiter.call("spend"), "passes")
        self.assertEqual(limiter.call("give_back"), "ok")
        self.assertEqual(self.left(limiter, "l", f"99/{NEVER}"), 98)

    # Goal: a child can neither read the parent's replies nor close its connections.
    def test_a_child_process(self):
        server = self.start()
        limiter = self.limiter(url=self.url(server), fail="closed")
        self.assert_passes(limiter, "k", "9/h")
        self.assertRegex(limiter.call("fork", ["allow", "k", "9/h"]), "^mistake .*fork")
        self.assert_passes(limiter, "k", "9/h")
        self.assertTrue(limiter.call("wait", 1, "l", "9/h").startswith("allowed"))

    # --- Without an answer ------------------------------------------------------------------------

    def assert_fails_as_chosen(self, url):
        for fail, chosen in (("open", "allowed"), ("closed", "denied")):
            limiter = self.limiter(url=url, fail=fail, deadline_ms=None)
            begin = time.monotonic()
            said = limiter.call("allow", "k", "1/h")
            self.assertRegex(said, f"^unavailable (timeout|connection) {chosen}$")
            if fail == "closed":
                self.assertEqual(limiter.call("check", "k", "1/h"), "limited k - unavailable")
            self.assertLess(time.monotonic() - begin, 2 * BOUND_SECONDS)

    def test_a_server_that_is_stopped(self):
        server = self.start()
        server.pause()
        self.addCleanup(server.resume)
        self.assert_fails_as_chosen(self.url(server))

    def test_a_server_that_is_stopped_with_tls(self):
        server = self.start_tls("--tls-auth-clients=optional")
        url = f"rediss://127.0.0.1:{server.tls_port}?ca={self.authority.certificate}"
        limiter = self.limiter(url=url, deadline_ms=500)
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
            limiter = self.limiter(url=url)
            self.assertEqual(limiter.call("verify"), "raised connection")
            self.assertIn("refused", limiter.call("why"))

    # Goal: the deadline holds while the Limiter connects, and its end does not wait for that.
    # Method: a full queue of connections.
    def test_a_server_that_accepts_no_connection(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            with socket.create_connection(full.getsockname()):
                url = f"redis://127.0.0.1:{full.getsockname()[1]}"
                self.assert_fails_as_chosen(url)
                limiter = self.limiter(url=url, deadline_ms=50)
                self.assertEqual(limiter.call("allow", "k", "1/h"), "unavailable timeout allowed")
                begin = time.monotonic()
                self.assertEqual(limiter.call("close"), "ok")
                self.assertLess(time.monotonic() - begin, 0.5)

    def test_a_unix_socket_that_accepts_no_connection(self):
        path = os.path.join(self.directory, "full.sock")
        with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as first:
            full.bind(path)
            full.listen(0)
            first.connect(path)
            self.assert_fails_as_chosen(f"unix://{path}")

    def test_a_server_that_stops_while_it_is_asked(self):
        server = self.start()
        limiter = self.limiter(url=self.url(server), deadline_ms=50)
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
        limiter = self.limiter(url=self.url(first), fail="closed")
        self.assert_passes(limiter, "k", "1/h")
        self.assertEqual(first.stop(), 0)
        self.assertEqual(limiter.call("allow", "k", "1/h"), "unavailable connection denied")
        self.launch("--port", str(port)).port  # waits until it listens; its state was in memory
        self.assert_passes(limiter, "k", "1/h")


if __name__ == "__main__":
    unittest.main()
