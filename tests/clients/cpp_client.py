"""Limiters of the C++ library weir_client, for its tests.

Environment:
    WEIR_CPP_PROGRAM    path of the program that is built from programs/program.cc, which
                        case_programs.py describes. It has more calls: `why`, the text of the last
                        Unavailable; `wait_all CALLS MS PREFIX LIMIT`, the causes of so many calls
                        that wait at the same time; `begin CALL`, which runs it in a thread, and
                        `end`, what those have said; and `fork CALL`, what it says in a child
                        process, which closes its Limiter then. It has more options:
                        "threads": "none" makes timers fail; tls "context" is the file of the
                        authority of an SSL_CTX
"""

import os
import queue
import tempfile
from pathlib import Path

import case_programs
from cases_test import Program
from scripted_server import ScriptedServer
from tls_servers import TlsServerTest
from weir_e2e import DEADLINE

PATIENT_MS = int(DEADLINE * 1000)

OK = b"*5\r\n:1\r\n:9\r\n:0\r\n:900\r\n:0\r\n"
USERS = "user default off\nuser app on >{} ~app:* +@limit\nuser admin on >admin ~* &* +@all\n"


class CppClientTest(TlsServerTest):
    def limiter(self, **options):
        """A program with a Limiter that is patient, unless the options say otherwise."""
        directory = tempfile.TemporaryDirectory(prefix="weir_client_")
        self.addCleanup(directory.cleanup)
        command = case_programs.CLIENTS["cpp"].prepare(directory.name)
        program = Program([command], directory.name)
        self.assertRegex(program.call("limiter", {"port": 0}), "^mistake ")
        # ThreadSanitizer's own thread begins with the first other one.
        program.idle_threads = 1 + (b"__tsan_init" in Path(command).read_bytes())
        self.addCleanup(lambda: self.assertEqual(program.end(), 0))
        options.setdefault("deadline_ms", PATIENT_MS)
        if options["deadline_ms"] is None:
            del options["deadline_ms"]
        self.assertEqual(program.call("limiter", {"timer": True, **options}), "ok")
        return program

    def url(self, server, login=""):
        return f"redis://{login}127.0.0.1:{server.port}"

    def start_with_users(self):
        path = self.write("users", USERS.format("secret"))
        return self.start("--users-file", path)

    def scripted(self):
        """Returns a server that only the test answers for, and its URL."""
        server = ScriptedServer(queue.Queue())
        self.addCleanup(server.close)
        return server, self.url(server)

    def next_asked(self, server):
        """The connection of the next request."""
        _, (_, connection) = server._events.get(timeout=DEADLINE)
        return connection

    @staticmethod
    def states(limiter):
        """The states of the program's threads: {"S"} if all sleep."""
        threads = Path(f"/proc/{limiter._process.pid}/task").iterdir()
        return {(each / "stat").read_text().rpartition(")")[2].split()[0] for each in threads}

    @staticmethod
    def threads(limiter):
        return len(list(Path(f"/proc/{limiter._process.pid}/task").iterdir()))

    def change_password(self, server, password):
        self.write("users", USERS.format(password))
        with self.connect(server) as client:
            self.assertEqual(client.call("AUTH", "admin", "admin"), "OK")
            self.assertEqual(client.call("ACL", "LOAD"), "OK")

    def assert_passes(self, limiter, *words):
        self.assertEqual(limiter.call("allow", *words).partition(" ")[0], "allowed")

    def left(self, limiter, *words):
        """The tokens that are left."""
        return int(limiter.call("peek", *words, "COST", "0").split()[1])
