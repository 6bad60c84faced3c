"""Passwords from files and variables, end to end: at the start, at SIGHUP, on both ports, and in
what the system shows of the process.
"""

import base64
import http.client
import json
import os
import signal
import unittest

from weir_e2e import DEADLINE, Client, Error, ServerTest, free_port

SECRET = "hunter2-x9"
WRONGPASS = "WRONGPASS invalid username-password pair or user is disabled."


def is_refused(reply):
    return isinstance(reply, Error) and reply.startswith(("NOAUTH", "WRONGPASS"))


class PasswordsTest(ServerTest):
    def tries(self, server, password):
        """The answer to a login on a new connection."""
        with Client(server.port) as client:
            return client.call("AUTH", password)

    def asks_over_http(self, port, password):
        """The status of a request with this password."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        login = base64.b64encode(f"default:{password}".encode()).decode()
        body = json.dumps({"key": "k", "limits": ["10/s"]})
        fields = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/allow", body, fields)
        try:
            return connection.getresponse().status
        finally:
            connection.close()

    def reload(self, server, text):
        """Writes the file and sends SIGHUP; waits for the last line about that."""
        before = server.log().count("SIGHUP: there is no policy file")
        self.write("password", text)
        server.process.send_signal(signal.SIGHUP)
        self.await_equal(
            lambda: server.log().count("SIGHUP: there is no policy file"), before + 1
        )

    def test_a_variable_is_the_password_and_is_nowhere_to_be_seen(self):
        port = free_port()
        server = self.start("--http-port", str(port), environment={"WEIR_REQUIREPASS": SECRET})
        with self.connect(server) as client:
            self.assertTrue(is_refused(client.call("PING")))
            self.assertEqual(client.call("AUTH", SECRET), "OK")
            self.assertNotIn(SECRET, repr(client.call("CONFIG", "GET", "*")))
        self.assertEqual(self.asks_over_http(port, SECRET), 200)
        with open(f"/proc/{server.pid}/environ", "rb") as environ:
            shown = environ.read()
        self.assertIn(b"WEIR_REQUIREPASS=\0", shown)
        self.assertNotIn(SECRET.encode(), shown)
        self.assertNotIn(SECRET, server.log())

    def test_a_file_is_read_again_at_sighup(self):
        port = free_port()
        path = self.write("password", "one\n")
        server = self.start("--requirepass-file", path, "--http-port", str(port))
        client = self.connect(server)
        self.assertEqual(client.call("AUTH", "one"), "OK")
        self.reload(server, "")
        self.assertIn("requirepass is unchanged: option 'requirepass-file': the first line of",
                      server.log())
        self.assertEqual(client.call("PING"), "PONG")
        self.reload(server, "two\n")
        self.assertTrue(is_refused(client.call("PING")))
        self.assertEqual(self.tries(server, "one"), WRONGPASS)
        self.assertEqual(self.tries(server, "two"), "OK")
        self.assertEqual([self.asks_over_http(port, one) for one in ("one", "two")], [401, 200])

    def test_a_replica_follows_with_either(self):
        path = self.write("password", SECRET)
        primary = self.start("--requirepass-file", path)
        for options, environment in (
            (("--primary-password-file", path), {}),
            ((), {"WEIR_PRIMARY_PASSWORD": SECRET}),
        ):
            replica = self.start("--replicaof", f"127.0.0.1 {primary.port}", *options,
                                 environment=environment)  # fmt: skip
            with self.connect(replica) as client:
                self.await_equal(lambda one=client: one.call("ROLE")[3], b"connected")

    def pipe(self):
        """The path of a pipe that nobody writes to."""
        path = os.path.join(self.directory, "pipe")
        if not os.path.exists(path):
            os.mkfifo(path)
        return path

    # Goal: SIGHUP does not wait for what a file has become.
    def test_a_pipe_in_the_place_of_the_file_changes_nothing_at_sighup(self):
        path = self.write("password", "one\n")
        server = self.start("--requirepass-file", path)
        os.replace(self.pipe(), path)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("requirepass is unchanged: option 'requirepass-file': .*regular file")
        self.assertEqual(self.tries(server, "one"), "OK")

    def test_two_places_and_empty_ones_are_refused(self):
        path, empty = self.write("password", SECRET), self.write("empty", "\n")
        both = ": give one of them"
        for options, environment, why in (
            (("--requirepass", "x", "--requirepass-file", path), {},
             "requirepass and requirepass-file" + both),
            (("--requirepass-file", path), {"WEIR_REQUIREPASS": SECRET},
             "requirepass-file and WEIR_REQUIREPASS" + both),
            ((), {"WEIR_PRIMARY_PASSWORD": ""}, "the variable WEIR_PRIMARY_PASSWORD is empty"),
            (("--requirepass-file", empty), {},
             f"option 'requirepass-file': the first line of '{empty}' is empty"),
            (("--requirepass-file", path, "--users-file", self.write("users", "user a on\n")), {},
             "requirepass-file and users-file: give one of them; the file can set the default "
             "user's password"),
            (("--users-file", self.write("users", "user a on\n")), {"WEIR_REQUIREPASS": SECRET},
             "WEIR_REQUIREPASS and users-file: give one of them; the file can set the default "
             "user's password"),
            (("--requirepass-file", self.pipe()), {},
             f"option 'requirepass-file': '{self.pipe()}' is no regular file"),
        ):  # fmt: skip
            with self.subTest(options):
                refusal = self.refused(*options, environment=environment)
                self.assertEqual(refusal, "weir-server: " + why)

    def test_kubernetes_variables_are_no_options(self):
        server = self.start(environment={"WEIR_PORT": "tcp://10.0.0.1:7379", "WEIR_THREADS": "x"})
        self.assertEqual(self.connect(server).call("PING"), "PONG")

    # Goal: a host that guesses has one line a minute, whichever port it asks.
    def test_refused_logins_leave_one_warning_of_their_address(self):
        port = free_port()
        server = self.start("--http-port", str(port), environment={"WEIR_REQUIREPASS": SECRET})
        for _ in range(3):
            self.assertEqual(self.tries(server, "wrong"), WRONGPASS)
        self.assertEqual(self.asks_over_http(port, "wrong"), 401)
        self.assertEqual(self.tries(server, SECRET), "OK")
        self.assertEqual(server.stop(), 0)  # so that the log is whole
        self.assertEqual(server.log().count("refused client 127.0.0.1:"), 1)


if __name__ == "__main__":
    unittest.main()
