"""Goal: a core dump of the server contains no password, whichever way it was sent or set.

Method: all writable memory of the process is read, as for a dump; other input of clients is
found there as long as it is no secret, so that the search is known to find something.
"""

import re
import signal
import unittest

from weir_e2e import ServerTest, encode, sanitized

SHORT, LONG = "hunter2-x9", "correct-horse-battery-staple-1961"  # within a std::string, and beyond


def memory(server):
    """The writable memory of the process, without code and mapped files."""
    regions = []
    with open(f"/proc/{server.pid}/maps", encoding="ascii") as maps:
        for line in maps:
            begin, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if rights.startswith("rw"):
                regions.append((int(begin, 16), int(end, 16)))
    contents = []
    with open(f"/proc/{server.pid}/mem", "rb", buffering=0) as memory_file:
        for begin, end in regions:
            try:
                memory_file.seek(begin)
                contents.append(memory_file.read(end - begin) or b"")
            except OSError:  # not readable
                continue
    return b"\0".join(contents)


@unittest.skipIf(sanitized(), "the sanitizers keep what is freed")
class SecretsTest(ServerTest):
    def assert_nowhere(self, server, *secrets):
        """Waits until the secrets are gone: an option is overwritten once the server listens.

        The search is for the end of a secret: the allocator overwrites the beginning of blocks.
        """
        self.assertIn(b"weir", memory(server))
        for secret in secrets:
            tail = secret[len(secret) // 2 :].encode()
            self.await_equal(lambda tail=tail: memory(server).count(tail), 0)

    def launch_with(self, password):
        config = self.write("weir.conf", f'requirepass = "{password}"\n')
        return self.start("--config", config)

    def test_password_of_the_options(self):
        for password in (SHORT, LONG):
            with self.subTest(password):
                server = self.launch_with(password)
                self.assert_nowhere(server, password)
                server.stop()

    def test_password_of_a_file_and_of_a_variable(self):
        path = self.write("password", LONG + "\n")
        server = self.start("--requirepass-file", path)
        self.assert_nowhere(server, LONG)
        self.write("password", SHORT + "\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("received SIGHUP: read requirepass-file again")
        self.assert_nowhere(server, SHORT)
        server = self.start(environment={"WEIR_REQUIREPASS": LONG})
        self.assert_nowhere(server, LONG)

    def test_password_without_an_environment(self):
        """A long text is copied by vector registers, which a new thread begins with.

        Whether they reach its stack depends on what runs between, and so on the environment.
        """
        path = self.write("password", LONG + "\n")
        for starter in ((), ("env", "-i")):
            with self.subTest(starter):
                server = self.start("--requirepass-file", path, starter=starter)
                self.assert_nowhere(server, LONG)
                server.stop()

    def test_passwords_that_clients_say(self):
        server = self.launch_with(LONG)
        wrong = "almost-" + SHORT
        with self.connect(server) as client:
            client.call("AUTH", LONG)
            client.call("ECHO", "said-aloud-and-kept")
            self.assertIn(b"said-aloud-and-kept", memory(server))
            client.call("AUTH", "default", LONG)
            client.call("HELLO", "3", "AUTH", "default", LONG)
            client.call("MULTI")
            client.call("AUTH", LONG)
            client.call("DISCARD")
            client.call("AUTH", "a", "b", LONG)
            client.call("HELLO", "3", "AUTH", LONG)
        with self.connect(server) as client:
            client.send(f"AUTH {LONG}\r\n".encode())
            client.reply()
            client.send(f'AUTH "{LONG}"\r\n'.encode())
            client.reply()
            client.send(f'auth "{wrong}\\x21"\r\n'.encode())
            client.reply()
            client.send(f"AUTH {wrong}\r\nPING\r\n".encode())
            client.reply()
            client.reply()
            client.send(f'AUTH "{wrong}-long-and-longer"\r\nPING "x"\r\n'.encode())
            client.reply()
            client.reply()
            client.send(f"QUIT\r\nAUTH {wrong}\r\n".encode())
            client.rest()
        with self.connect(server) as client:
            client.send(f'AUTH "{wrong}\r\n'.encode())  # a protocol error
            client.rest()
        # In pieces; and never to its end.
        with self.connect(server) as client:
            *pieces, last = re.findall(b".{1,16}", encode("AUTH", LONG), re.DOTALL)
            for i, piece in enumerate(pieces):
                client.send(piece)
                sent = b"".join(pieces[: i + 1])
                self.await_equal(lambda sent=sent: sent in memory(server), True)
            client.send(last)
            client.reply()
        with self.connect(server) as client:
            client.send(encode("AUTH", LONG)[:-1])
            self.await_equal(lambda: memory(server).count(LONG.encode()), 1)
        self.assert_nowhere(server, LONG, wrong)


if __name__ == "__main__":
    unittest.main()
