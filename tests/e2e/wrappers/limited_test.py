"""The wrappers of clients/: against a server that answers as the cases in *_cases.txt say, and the
real one, which answers, is stopped, comes back, or does not exist.

    limited_test.py [NAME ...]    all wrappers of limited_wrappers.py, or those whose names begin so
"""

import re
import socket
import sys
import tempfile
import time
import unittest

import limited_wrappers
from conversation import Program, ScriptedServer, read_cases, read_errors
from weir_e2e import DEADLINE, NEVER, ServerTest

PATIENT_MS = str(int(DEADLINE * 1000))  # a deadline that is long enough for a busy machine

# The most seconds that a call may take on a busy machine, with the default deadline of 50 ms.
BOUND_SECONDS = 2

DENIALS_MAX = 10_000

class WrapperTests:
    """The tests of one wrapper; a subclass has its name."""

    wrapper = ""

    @classmethod
    def setUpClass(cls):
        cls.prepared = tempfile.TemporaryDirectory(prefix="weir_limited_")
        cls.addClassCleanup(cls.prepared.cleanup)
        command = limited_wrappers.WRAPPERS[cls.wrapper](cls.prepared.name)
        cls.command = [command] if isinstance(command, str) else command

    def open_gate(self, port, down="closed", deadline_ms=PATIENT_MS):
        program = self.start_program()
        self.assertEqual(program.call(f"gate {port} {down} {deadline_ms}"), "ok")
        return program

    # --- Against a script -------------------------------------------------------------------------

    def start_program(self):
        program = Program(self.command, self.directory)
        self.addCleanup(lambda: self.assertEqual(program.end(), 0))
        return program

    def play(self, program, server, call, exchanges, wanted):
        """Takes a step. A call that finds no connection is repeated: some clients take a while."""
        if call:
            program.send(call)
        said = None
        for request, reply in exchanges:
            while (event := program.events.get(timeout=DEADLINE))[0] == "said":
                said = event[1]
                if call and self.lost:
                    program.send(call)
                    said = None
            asked, connection = event[1]
            self.assert_asks(asked, request)
            server.reply(connection, reply)
            self.lost = reply == "lost"
        if not call:
            return
        said = said or program.next_said()
        if wanted.startswith("mistake "):  # some clients cut off the first word
            self.assertTrue(said.startswith("mistake ") and wanted.endswith(said[8:]), said)
        elif wanted.endswith("*"):
            self.assertTrue(said.startswith(wanted[:-1]), said)
        else:
            self.assertEqual(said, wanted)

    def assert_asks(self, asked, request):
        """Names in the request, such as $a, stand for ids, each for one."""
        if hold := re.search(r"HOLD (\S+)", asked):
            name = re.search(r"HOLD (\S+)", request)[1]
            self.assertRegex(hold[1], r"^[0-9a-f]{32}$")
            self.assertEqual(self.ids.setdefault(name, hold[1]), hold[1])
            self.assertEqual(len(set(self.ids.values())), len(self.ids))
            request = request.replace(name, hold[1])
        self.assertEqual(asked, request)

    def test_cases(self):
        cases = read_cases("limited_cases.txt") | read_cases("hold_cases.txt")
        self.assertGreater(len(cases), 20)
        program = self.start_program()
        for name, steps in cases.items():
            with self.subTest(name), ScriptedServer(program.events) as server:
                self.lost = False
                self.ids = {}
                for call, exchanges, said in steps:
                    if call.startswith("gate "):
                        down, *timer = call[5:].split()
                        call = " ".join((f"gate {server.port} {down} {PATIENT_MS}", *timer))
                    self.play(program, server, call, exchanges, said)
                self.assertTrue(program.events.empty())

    def test_every_error_is_an_outage_or_a_mistake(self):
        self.lost = False
        errors = read_errors()
        self.assertGreater(len(errors), 10)
        program = self.start_program()
        with ScriptedServer(program.events) as server:
            for kind, error in errors:
                for down, away in (("open", "to ann"), ("closed", "limited*")):
                    with self.subTest(error, down=down):
                        program.call(f"gate {server.port} {down} {PATIENT_MS}")
                        exchanges = [("RL.ALLOW mail:ann 1/h", error)]
                        wanted = away if kind == "away" else f"mistake {error[1:]}"
                        self.play(program, server, "mail ann 1/h", exchanges, wanted)

    # --- Against the server -----------------------------------------------------------------------

    def test_calls_as_often_as_allowed(self):
        program = self.open_gate(self.start().port)
        for call in ("mail ann 2/h 9/d", "mail ann 2/h 9/d"):
            self.assertEqual(program.call(call), "to ann")
        limited, key, ms = program.call("check mail:ann 2/h 9/d").split()
        self.assertEqual((limited, key), ("limited", "mail:ann"))
        self.assertGreater(int(ms), 1_000_000)
        self.assertLessEqual(int(ms), 1_800_000)
        self.assertEqual(program.call("mail bob 2/h 9/d"), "to bob")
        self.assertIn("unknown unit 'x'", program.call("check k 2/x"))

    def test_the_denied_key_of_several(self):
        program = self.open_gate(self.start().port)
        check = "check user:1 5/h 9/h AND team:7 3/h AND ip:1 9/h"
        self.assertEqual([program.call(check) for _ in range(3)], ["passes"] * 3)
        self.assertRegex(program.call(check), r"^limited team:7 \d+$")
        program.call("slice 5 60000 user:1 5/h AND ip:1 9/h")
        self.assertEqual([program.call("spend") for _ in range(2)], ["passes"] * 2)
        self.assertRegex(program.call("spend"), r"^limited user:1 \d+$")

    # Goal: the cache keeps 10,000 denials and no more. Method: the server counts the requests.
    def test_the_denials_that_are_kept_are_bounded(self):
        server = self.start()
        program = self.open_gate(server.port)
        with self.connect(server) as client:

            def asked(keys):
                before = client.call("RL.STATS")[0][2]
                self.assertEqual(program.call(f"flood {keys}"), "0")
                return client.call("RL.STATS")[0][2] - before

            self.assertEqual(asked(DENIALS_MAX), DENIALS_MAX)
            self.assertEqual(asked(DENIALS_MAX), 0)
            self.assertEqual(asked(DENIALS_MAX + 1), 1)
            self.assertGreater(asked(DENIALS_MAX + 1), 0)

    # Goal: a settlement replaces the estimate, and a lease is kept and freed, on a real server.
    def test_holds(self):
        server = self.start()
        program = self.open_gate(server.port)
        limit = f"1000/{NEVER},fixed"
        words = f"600 60000 team:7 2,held {limit},cost={{}}"
        with self.connect(server) as client:

            def left(limit, key="team:7"):
                return client.call("RL.PEEK", key, limit, "COST", 0)[1]

            self.assertEqual(program.call(f"reserve {words}"), "passes")
            self.assertEqual(left(limit), 400)
            self.assertRegex(program.call(f"scope leaves {words}"), r"^limited team:7 \d+$")
            self.assertEqual(program.call("settle 900"), "settled")
            self.assertEqual((left(limit), left("2,held")), (100, 2))
            scope = f"scope leaves {words.replace('600', '100')}"
            self.assertEqual(program.call(scope), "left")
            self.assertEqual((left(limit), left("2,held")), (100, 2))
            self.assertEqual(program.call("lease 60000 team:7 2,held"), "passes")
            program.call("clock 30000")  # for a heartbeat
            self.assertEqual((left("2,held"), program.call("lost")), (1, "held"))
            self.assertEqual(program.call("release"), "freed")
            self.assertEqual(left("2,held"), 2)
            self.assertEqual(program.call("lease 60000 team:7 2,held"), "passes")
            client.call("DEL", "team:7")
            self.assertEqual(program.call("release"), "not held")
            program.call(f"reserve {words.replace('60000 team:7', '1 team:8')}")
            self.await_equal(lambda: left(limit, "team:8"), 1000)  # it has expired
            self.assertEqual(program.call("settle_or_charge 300"), "not settled")
            self.assertEqual(left(limit, "team:8"), 700)

    def test_threads_share_a_gate(self):
        program = self.open_gate(self.start().port)
        self.assertEqual(program.call(f"crowd 8 20 work 100/{NEVER},fixed"), "100")

    # Goal: threads get all tokens and no more, and what they leave is given back.
    def test_threads_share_a_slice(self):
        server = self.start()
        program = self.open_gate(server.port)
        program.call(f"slice 7 60000 work 100/{NEVER},fixed")
        self.assertEqual(program.call("crowd 8 10"), "80")
        self.assertEqual(program.call("give_back"), "ok")
        with self.connect(server) as client:
            self.assertEqual(client.call("RL.PEEK", "work", f"100/{NEVER},fixed")[1], 19)
        self.assertEqual(program.call("crowd 8 10"), "20")

    def assert_fails_as_chosen(self, port):
        for down, said in (("open", "passes"), ("closed", "limited k -")):
            program = self.open_gate(port, down, "0")
            begin = time.monotonic()
            self.assertEqual(program.call("check k 1/h"), said)
            program.call("slice 5 60000 k 1/h")
            self.assertEqual(program.call("spend"), said)
            self.assertEqual(program.call("reserve 1 60000 k 5,held"), said)
            self.assertEqual(program.call("lease 60000 k 5,held"), said)
            self.assertLess(time.monotonic() - begin, 4 * BOUND_SECONDS)

    def test_a_server_that_is_stopped(self):
        server = self.start()
        server.pause()
        self.addCleanup(server.resume)
        self.assert_fails_as_chosen(server.port)

    def test_no_server_at_all(self):
        with socket.socket() as unheard:
            unheard.bind(("127.0.0.1", 0))  # and does not listen
            self.assert_fails_as_chosen(unheard.getsockname()[1])

    # Goal: the deadline holds while the wrapper connects. Method: a full queue of connections.
    def test_a_server_that_accepts_no_connection(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            with socket.create_connection(full.getsockname()):
                self.assert_fails_as_chosen(full.getsockname()[1])

    # Goal: a request is not sent once its caller was told that weir does not answer. Method: a full
    # queue of connections, which a server accepts only then.
    def test_a_late_request_is_not_sent(self):
        program = self.start_program()
        full = socket.create_server(("127.0.0.1", 0), backlog=0)
        with socket.create_connection(full.getsockname()):
            program.call(f"gate {full.getsockname()[1]} closed 0")
            self.assertEqual(program.call("check late 1/h"), "limited late -")
            with ScriptedServer(program.events, full) as server:
                kind = "said"
                while kind == "said":  # until it is connected
                    program.send("check k 1/h")
                    kind, asked = program.events.get(timeout=DEADLINE)
                # On a busy host the deadline of one check may pass while its request is on its way;
                # then the next one has been asked, too.
                while kind != "said":
                    self.assertEqual(asked[0], "RL.ALLOW k 1/h")
                    server.reply(asked[1], "[1, 0, 0, 900, 0]")
                    kind, asked = program.events.get(timeout=DEADLINE)

    def test_a_server_that_stops_while_it_is_asked(self):
        server = self.start()
        program = self.open_gate(server.port, "closed", "0")
        check = "check k 100/h,cost=0"
        self.await_equal(lambda: program.call(check), "passes")
        server.pause()
        self.addCleanup(server.resume)
        self.assertEqual(program.call(check), "limited k -")
        server.resume()
        self.await_equal(lambda: program.call(check), "passes")

    def test_a_server_that_comes_back(self):
        first = self.start()
        port = first.port
        program = self.open_gate(port, "closed")
        self.assertEqual(program.call("check k 1/h"), "passes")
        self.assertEqual(first.stop(), 0)
        self.assertEqual(program.call("check k 1/h"), "limited k -")
        self.launch("--port", str(port)).port  # waits until it listens
        # The state was only in memory.
        self.await_equal(lambda: program.call("check k 1/h"), "passes")


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(
        loader.loadTestsFromTestCase(type(name, (WrapperTests, ServerTest), {"wrapper": name}))
        for name in chosen()
    )


def chosen():
    """The names of the wrappers to test."""
    names = tuple(sys.argv[1:]) or ("",)
    return [name for name in limited_wrappers.WRAPPERS if name.startswith(names)]


if __name__ == "__main__" and chosen():
    unittest.main(argv=sys.argv[:1])
