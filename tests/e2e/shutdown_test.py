"""Starts, refusals to start, and ends of the server."""

import ctypes
import json
import os
import signal
import threading
import time
import unittest

from weir_e2e import NEVER, Client, ServerTest, encode, sanitized

EXIT_SECONDS_MAX = 5.0


def thread_named(process, name):
    """The number of the process's thread with this name."""
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/comm", encoding="ascii") as comm:
            if comm.read() == name + "\n":
                return int(thread)
    raise AssertionError(f"no thread {name}")


class ShutdownTest(ServerTest):
    def assert_ends(self, server, how=signal.SIGTERM):
        begin = time.monotonic()
        self.assertEqual(server.stop(how), 0)
        self.assertLess(time.monotonic() - begin, EXIT_SECONDS_MAX)

    # Goal: in the end the answered requests are a prefix of the sent ones: no reply is lost between
    # two others, and none is cut. Method: clients send numbered requests without pause, each from
    # one thread, and read from another, until the connection ends.
    def test_sigterm_under_load_answers_a_prefix(self):
        server = self.start()
        received = [b""] * 4
        first_replies = threading.Barrier(len(received) + 1)

        def talk(index):
            with Client(server.port) as client:
                sender = threading.Thread(target=send_until_closed, args=(client,))
                sender.start()
                head = client.socket.recv(1 << 16)
                first_replies.wait()
                received[index] = head + client.rest()
                sender.join()

        clients = [threading.Thread(target=talk, args=(i,)) for i in range(len(received))]
        for client in clients:
            client.start()
        first_replies.wait()
        self.assert_ends(server)
        for client in clients:
            client.join()
        for replies in received:
            count = replies.count(b"\r\n") // 2
            self.assertGreater(count, 0)
            self.assertEqual(replies, b"".join(numbered_reply(i) for i in range(count)))

    # Goal: the same of decisions: the tokens that clients were told of are those of a prefix.
    def test_sigterm_after_a_pipeline_answers_all_of_it(self):
        server = self.start("--threads", "1")
        client, other = self.connect(server), self.connect(server)
        count = 1000
        client.send(encode("RL.ALLOW", "k", f"{count}/{NEVER}") * count + b"*2\r\n$4\r\nECHO\r\n")
        other.call("PING")  # so that all of it has been received
        self.assert_ends(server)
        for i in range(count):
            self.assertEqual(client.reply()[:2], [1, count - 1 - i])
        self.assertEqual(client.rest(), b"")

    def test_the_sender_of_a_signal_is_logged(self):
        server = self.start()
        by = f"from process {os.getpid()}, user {os.getuid()}"
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log(f"received SIGHUP {by}")
        self.assert_ends(server)
        server.wait_for_log(f"received SIGTERM {by}")

    # Goal: a server that dies names the signal, its thread and its calls, and its status is the
    # signal. Method: a signal of a fault, from outside, to one of its threads.
    @unittest.skipIf(sanitized(), "the sanitizer reports")
    def test_a_death_leaves_a_trace(self):
        server = self.launch("--port", "0", "--threads", "1")
        # The server listens before its threads have their names; an answer comes from a named one.
        with Client(server.port) as client:
            self.assertEqual(client.call("PING"), "PONG")
        io_thread = thread_named(server.pid, "weir-io-0")
        ctypes.CDLL(None).tgkill(server.pid, io_thread, signal.SIGSEGV)
        self.assertEqual(server.wait(), -signal.SIGSEGV)
        by = f"from process {os.getpid()}, user {os.getuid()}"
        server.wait_for_log(rf"SIGSEGV {by}, in thread weir-io-0 \({io_thread}\), weir ")
        server.wait_for_log(r"weir-server\(.*\) ?\[0x[0-9a-f]+\]")

    def test_any_state_of_the_clients_is_no_obstacle(self):
        for how in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(how):
                server = self.start()
                idle, halfway, deaf = (self.connect(server) for _ in range(3))
                self.assertEqual(idle.call("PING"), "PONG")
                halfway.send(b"PING\r\n*2\r\n$4\r\nECHO\r\n$5\r\nhe")
                halfway.reply()
                deaf.send(b"COMMAND DOCS\r\n" * 1000)
                deaf.socket.recv(1)
                self.assert_ends(server, how)
                self.assertEqual(idle.rest(), b"")
                self.assertEqual(halfway.rest(), b"")

    # Goal: a process manager may send SIGTERM any number of times. Method: a client that
    # has not taken its replies keeps the server from ending before the second one has come.
    def start_draining(self, how):
        server = self.launch("--port", "0")
        deaf = self.connect(server)
        deaf.send(b"COMMAND DOCS\r\n" * 1000)
        deaf.socket.recv(1)
        server.process.send_signal(how)
        server.wait_for_log("shutting down")
        return server, deaf

    def test_sigterm_while_draining_changes_nothing(self):
        for first in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(first):
                server, deaf = self.start_draining(first)
                for _ in range(3):
                    server.process.send_signal(signal.SIGTERM)
                self.assertTrue(deaf.rest().endswith(b"\r\n"))
                self.assertEqual(server.wait(), 0)

    def test_sigint_while_draining_ends_it_at_once(self):
        for first in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(first):
                server, _ = self.start_draining(first)
                server.process.send_signal(signal.SIGINT)
                self.assertEqual(server.wait(), -signal.SIGINT)

    # Goal: no signal is lost between two waits of a thread, and none interrupts a decision. Method:
    # what the system says about each thread; all kinds of them run.
    def test_signals_interrupt_no_thread(self):
        server = self.start(f"--data-dir={self.directory}/data", "--durability=always")
        server.wait_for_log("loaded 0 buckets")
        self.assertEqual(self.connect(server).call("RL.ALLOW", "k", "1/h")[0], 1)
        threads = os.listdir(f"/proc/{server.pid}/task")
        self.assertGreater(len(threads), 4)
        for thread in threads:
            with open(f"/proc/{server.pid}/task/{thread}/status", encoding="ascii") as status:
                fields = dict(line.split(":", 1) for line in status)
            blocked = int(fields["SigBlk"], 16)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self.assertTrue(blocked >> (number - 1) & 1, (fields["Name"], number))
        self.assert_ends(server)

    def test_shutdown_is_a_command(self):
        for words in (("SHUTDOWN",), ("shutdown", "nosave"), ("SHUTDOWN", "NOW", "FORCE")):
            with self.subTest(words):
                server = self.start()
                client, other = self.connect(server), self.connect(server)
                other.call("PING")
                client.send(encode("PING") + encode(*words) + encode("PING"))
                self.assertEqual(client.rest(), b"+PONG\r\n")
                self.assertEqual(other.rest(), b"")
                self.assertEqual(server.wait(), 0)

    def test_a_refused_shutdown_changes_nothing(self):
        client = self.connect(self.start())
        self.assertEqual(client.call("SHUTDOWN", "SOON"), "ERR syntax error")
        self.assertEqual(client.call("SHUTDOWN", "ABORT"), "ERR No shutdown in progress.")
        self.assertEqual(client.call("PING"), "PONG")

    def test_the_port_is_free_at_once(self):
        first = self.start()
        client = self.connect(first)
        client.call("PING")
        self.assert_ends(first)
        second = self.launch("--port", str(first.port))
        self.assertEqual(second.port, first.port)
        self.assert_ends(second)


def numbered_reply(number):
    text = b"%d" % number
    return b"$%d\r\n%s\r\n" % (len(text), text)


def send_until_closed(client):
    number = 0
    try:
        while True:
            client.send(b"".join(encode("ECHO", i) for i in range(number, number + 100)))
            number += 100
    except OSError:
        pass


class StartTest(ServerTest):
    def test_a_port_in_use_is_said(self):
        first = self.start()
        line = self.refused("--port", str(first.port), status=1)
        self.assertIn(f"127.0.0.1:{first.port}", line)
        self.assertIn("Address already in use", line)
        self.assertEqual(self.connect(first).call("PING"), "PONG")

    def test_a_foreign_address_is_said(self):
        line = self.refused("--port", "0", "--bind", "192.0.2.1", status=1)
        self.assertIn("192.0.2.1", line)
        self.assertIn("Cannot assign requested address", line)

    def test_a_limit_on_open_files_that_leaves_no_room_is_said(self):
        line = self.refused("--port", "0", status=1, descriptors_max=64)
        self.assertIn("ulimit -n", line)

    def test_a_bad_command_line_names_the_option(self):
        for options, words in (
            (["--port", "70000"], ["port", "'70000'", "0 to 65535"]),
            (["--port", "x"], ["port", "'x'"]),
            (["--port", ""], ["port", "''"]),
            (["--port"], ["port"]),
            (["--bind", "localhost"], ["bind", "'localhost'"]),
            (["--threads", "-1"], ["threads", "'-1'"]),
            (["--log-level", "loud"], ["log-level", "'loud'", "debug, info, warning, error"]),
            (["--max-wait", "1y"], ["max-wait", "'1y'"]),
            (["--nonsense"], ["--nonsense", "--help"]),
            (["--help", "lsten"], ["'lsten'", "--help listen"]),
            (["nonsense"], ["'nonsense'", "--help"]),
            (["--config", "absent.toml"], ["config", "absent.toml", "No such file"]),
            (["--config", "."], ["config", "Is a directory"]),
        ):
            with self.subTest(options):
                line = self.refused(*options, status=2)
                for word in words:
                    self.assertIn(word, line)

    def test_help_and_version_are_printed(self):
        printed, _ = self.run_client(os.environ["WEIR_SERVER"], "--help")
        for option in ("--port", "--bind", "--threads", "--max-clients", "--config", "--log-level"):
            self.assertIn(option, printed)
        self.assertIn("--port NUMBER=7379 ", printed)
        group, _ = self.run_client(os.environ["WEIR_SERVER"], "--help", "state")
        self.assertTrue(group.startswith("State and durability (--help state)\n"), group)
        self.assertIn(f"\n\n{group}\n", printed)
        printed, _ = self.run_client(os.environ["WEIR_SERVER"], "--version")
        self.assertRegex(printed, r"^weir \d+\.\d+\.\d+\n$")

    # The health check of a container. (With TLS: tls_test.py.)
    def test_a_ping_exits_by_the_answer(self):
        server = self.start("--requirepass=secret", "--unix-socket=weir.sock")
        place = f"127.0.0.1:{server.port}"
        config = self.write("weir.toml", f"port = {server.port}\nrequirepass = secret\n")
        for words in ((place,), ("--config", config), ("./weir.sock",), ("--port", place[10:])):
            self.assertEqual(self.ping_server(*words), "")
        reason = self.ping_server("localhost", status=2)
        self.assertRegex(reason, r"\Aweir-server: --ping 'localhost': must be HOST:PORT.*\n\Z")
        no_answer = f"weir-server: no answer from {place}: "
        server.pause()
        self.assertEqual(self.ping_server(place, status=1), f"{no_answer}timed out\n")
        server.resume()
        self.assertEqual(server.stop(), 0)
        for words in ((place,), ("--config", config)):
            self.assertEqual(self.ping_server(*words, status=1), f"{no_answer}Connection refused\n")
        self.assertIn("'./weir.sock': No such file", self.ping_server("./weir.sock", status=1))

    def test_every_line_of_a_log_in_json_is_an_object(self):
        server = self.launch("--log-format=json", "--port=0", "--policies=absent.toml")
        self.assertEqual(server.wait(), 1)
        lines = [json.loads(line) for line in server.log().splitlines()]
        self.assertEqual([line["level"] for line in lines], ["info", "error"])
        self.assertIn("absent.toml", lines[-1]["message"])

    def test_a_file_is_read_and_the_command_line_wins(self):
        path = self.write(
            "weir.toml",
            '# comments too\nport = 1\nbind = ["127.0.0.1", "::1"]\nmax-wait = "5s"\n'
            "allow-explicit-time = true\nthreads = 2\nmax-clients = 77\n",
        )
        server = self.start("--config", path, "--threads", "3")
        client = self.connect(server)
        self.assertEqual(client.call("CONFIG", "GET", "max-clients")[1], b"77")
        self.assertEqual(client.call("CONFIG", "GET", "max-wait")[1], b"5s")
        self.assertEqual(client.call("CONFIG", "GET", "bind")[1], b"127.0.0.1,::1")
        self.assertEqual(client.call("CONFIG", "GET", "threads")[1], b"3")
        self.assertEqual(client.call("RL.ALLOW", "k", "10/s", "AT", 10**18), [1, 9, 0, 100, 0])
        server.wait_for_log(r"listening on \[?::1\]?:\d+")

    def test_a_bad_file_is_refused(self):
        for text, words in (
            ("prot = 7379\n", ["'prot'"]),
            ("port = 70000\n", ["'port'", "'70000'", "0 to 65535"]),
            ("port = 1\nport = 2\n", ["'port'", "given twice"]),
            ("bind = '127.0.0.1'\nbind = '::1'\n", ["'bind'", "given twice"]),
            ("[server]\nport = 1\n", ["'server'"]),
            ("port = [1, 2]\n", ["'port'"]),
            ("config = 'other.toml'\n", ["'config'"]),
            ("allow-explicit-time = maybe\n", ["'allow-explicit-time'", "'maybe'"]),
            ("port\n", ["port"]),
            ("\0\xff = \n", []),
        ):
            with self.subTest(text):
                line = self.refused("--config", self.write("weir.toml", text), status=2)
                for word in ["weir.toml", *words]:
                    self.assertIn(word, line)

    def test_every_thread_count_serves(self):
        for threads in ("0", "1", "7", "64"):
            with self.subTest(threads):
                server = self.start("--threads", threads)
                clients = [self.connect(server) for _ in range(70)]
                for client in clients:
                    self.assertEqual(client.call("PING"), "PONG")


if __name__ == "__main__":
    unittest.main()
