"""Plays clients/cases.json with each client, against a server and Sentinels that answer as it says.

    cases_test.py [NAME ...]    all clients of case_programs.py, or those whose names begin so

The file has these lists:

    urls, options   [URL or OPTIONS, what `address` says, or "mistake WORD" / "type WORD" for a
                    refusal whose text has the word]
    words           [WORDS, the request that is sent, or a refusal as above]
    causes          [a reply to RL.ALLOW, its cause, or "mistake"]. "login" is a mistake before the
                    first success, and an outage after it
    fields          [WORDS, the reply to RL.ALLOW ... WITHLIMITS, what `fields` says]
    plain_fields    [WORDS, the reply to RL.ALLOW, what `plain_fields` says]
    callers         [PEER, X-Forwarded-For, TRUSTED_HOPS, the key, or "mistake"]
    conversations   {"case": its name, "steps": [[CALL, EXCHANGES, SAID] ...]}; with "needs":
                    "sentinel" or "53 bits", not played with a client that lacks it

A CALL is a list, as case_programs.py describes it; null: none, the requests come on their own. The
EXCHANGES are the requests that the server then receives, [REQUEST, REPLY]; without one the client
must not ask. A REQUEST is its words, with blanks between them; $a is an id, 32 digits of base 16,
the same wherever the name is the same, and another one for another name. [REQUEST, REPLY, "beside"]
may come before or after what is said. A REPLY is

    a JSON value            as RESP; a string that begins with - or + as an error or a status
    "lost"                  the connection is closed
    "silent"                no reply
    {"later": VALUE}        no reply now, but right before the next one
    {"trickle": VALUE}      a byte after the other, which takes seconds
    {"raw": TEXT}           these bytes

SAID is what the program prints: all of it, its beginning ("mistake*"), or what it lacks ("!word").
In a URL, $server is the server's address and $sentinel0 the first Sentinel's. If the options do not
say where weir is, the harness does, and it sets a deadline of a minute if they do not.

A step may be for the server instead: ["server", {OPTIONS}], with login and greeting as in
scripted_server.py; "drop": true closes all connections; "sentinels": what each Sentinel answers,
"server" (the server's address), null, a reply, or "gone" (it accepts no connection). The call
["sentinels"] says how often each was asked.
"""

import json
import queue
import re
import sys
import tempfile
import threading
import unittest

import case_programs
from scripted_server import ScriptedSentinel, ScriptedServer, to_resp
from weir_e2e import DEADLINE, free_port

PATIENT_MS = int(DEADLINE * 1000)  # a deadline that is long enough for a busy machine
TRICKLE_SECONDS = 0.05
OK = [1, 9, 0, 900, 0]
OK_SAID = "allowed 9 0 900 0"

CASES = json.loads((case_programs.ROOT / "clients/cases.json").read_text(encoding="utf-8"))


class Program:
    """A running program. Its lines become events ("said", line)."""

    def __init__(self, command, directory):
        self._process = case_programs.start(command, directory)
        self.events = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self.events.put(("said", line.rstrip("\n")))
        self._process.stdout.close()
        self.events.put(("said", "its end"))

    def send(self, call):
        self._process.stdin.write(json.dumps(call) + "\n")

    def call(self, *call):
        self.send(call)
        return self.next_said()

    def next_said(self):
        kind, said = self.events.get(timeout=DEADLINE)
        assert kind == "said", f"asks {said[0]} unexpectedly"
        return said

    def end(self):
        """Returns the exit status."""
        self._process.stdin.close()
        try:
            return self._process.wait(DEADLINE)
        finally:
            self._process.kill()


class Conversation:
    """A server, Sentinels, and the client that talks to them."""

    def __init__(self, test, program):
        self._test = test
        self._program = program
        self._server = ScriptedServer(program.events)
        self._sentinels = []
        self._ids = {}
        self._late = None  # (connection, reply)

    def play(self, steps):
        for step in steps:
            if step[0] == "server":
                self._set_server(**step[1])
            else:
                with self._test.subTest(call=step[0]):
                    self._step(*step)

    def close(self):
        for listener in (self._server, *self._sentinels):
            if listener is not None:
                listener.close()

    def _set_server(self, drop=False, sentinels=None, **settings):
        for name, value in settings.items():
            setattr(self._server, name, value)
        if drop:
            self._server.drop_all()
        for i, answer in enumerate(sentinels or ()):
            if i == len(self._sentinels):
                self._sentinels.append(None if answer == "gone" else ScriptedSentinel(None))
            if answer == "server":
                answer = ["127.0.0.1", str(self._server.port)]
            if self._sentinels[i] is not None:
                self._sentinels[i].primary = answer

    def _step(self, call, exchanges, wanted):
        if call == ["sentinels"]:
            asked = (0 if each is None else each.asked for each in self._sentinels)
            self._test.assertEqual("asked " + " ".join(map(str, asked)), wanted)
            return
        if call:
            self._program.send(self._filled(call) if call[0] == "limiter" else call)
        said = None
        for request, reply, *beside in exchanges:
            kind, event = self._program.events.get(timeout=DEADLINE)
            if beside and kind == "said" and said is None:
                said = event
                kind, event = self._program.events.get(timeout=DEADLINE)
            self._test.assertEqual(kind, "asks", f"{event!r} without asking {request}")
            words, connection = event
            self._assert_asks(words, request)
            self._answer(connection, reply)
        if call:
            self.assert_said(self._program.next_said() if said is None else said, wanted)

    def assert_said(self, said, wanted):
        if wanted.startswith("!"):
            self._test.assertNotIn(wanted[1:], said)
        elif wanted.endswith("*"):
            self._test.assertTrue(said.startswith(wanted[:-1]), f"{said!r}, not {wanted!r}")
        else:
            self._test.assertEqual(said, wanted)

    def _filled(self, call):
        options = dict(call[1])
        if not {"url", "host", "unix_socket", "sentinels"} & options.keys():
            options["url"] = "redis://$server"
        options.setdefault("deadline_ms", PATIENT_MS)
        if "url" in options:
            options["url"] = re.sub(r"\$(\w+)", self._place, options["url"])
        return ["limiter", options]

    def _place(self, match):
        if match[1] == "server":
            return f"127.0.0.1:{self._server.port}"
        sentinel = self._sentinels[int(match[1].removeprefix("sentinel"))]
        return f"127.0.0.1:{free_port() if sentinel is None else sentinel.port}"

    def _assert_asks(self, words, request):
        asked = " ".join(words)
        if hold := re.search(r"HOLD (\S+)", asked):
            name = re.search(r"HOLD (\S+)", request)[1]
            self._test.assertRegex(hold[1], r"^[0-9a-f]{32}$")
            self._test.assertEqual(self._ids.setdefault(name, hold[1]), hold[1])
            self._test.assertEqual(len(set(self._ids.values())), len(self._ids))
            request = request.replace(name, hold[1])
        self._test.assertEqual(asked, request)

    def _answer(self, connection, reply):
        if self._late is not None:
            late, self._late = self._late, None
            try:
                self._server.reply(*late)
            except OSError:
                pass  # the client has closed the connection
        if isinstance(reply, dict) and "later" in reply:
            self._late = connection, reply["later"]
        elif isinstance(reply, dict) and "trickle" in reply:
            slowly = (connection, reply["trickle"])
            threading.Thread(target=_trickle, args=slowly, daemon=True).start()
        else:
            self._server.reply(connection, reply)


def _trickle(connection, reply):
    pace = threading.Event()
    try:
        for byte in to_resp(reply).encode():
            connection.sendall(bytes([byte]))
            pace.wait(TRICKLE_SECONDS)
    except OSError:
        pass  # the client has closed the connection


def _refusal(wanted):
    """("mistake", a word of its text), or None if nothing is refused."""
    kind, _, word = wanted.partition(" ")
    return (kind, word) if kind in ("mistake", "type") else None


class CaseTests:
    """The tests of one client; a subclass has its name."""

    client = ""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.prepared = tempfile.TemporaryDirectory(prefix="weir_client_")
        cls.addClassCleanup(cls.prepared.cleanup)
        command = case_programs.CLIENTS[cls.client].prepare(cls.prepared.name)
        cls.command = [command] if isinstance(command, str) else command

    def start(self):
        directory = tempfile.TemporaryDirectory(prefix="weir_client_")
        self.addCleanup(directory.cleanup)
        program = Program(self.command, directory.name)
        self.addCleanup(lambda: self.assertEqual(program.end(), 0))
        return program

    def play(self, program, *steps):
        conversation = Conversation(self, program)
        try:
            conversation.play(steps)
        finally:
            conversation.close()

    def rows(self, name):
        """The rows of a list that the client can play, each in a subtest."""
        client = case_programs.CLIENTS[self.client]
        for row in CASES[name]:
            if name != "words" or client.can_pass(row[0]):
                with self.subTest(name, row=row):
                    yield row

    def test_conversations(self):
        program = self.start()
        lacks = case_programs.CLIENTS[self.client].lacks
        for conversation in CASES["conversations"]:
            if conversation.get("needs") not in lacks:
                with self.subTest(conversation["case"]):
                    self.play(program, *conversation["steps"])

    def test_urls_and_options(self):
        program = self.start()
        rows = [[{"url": url}, wanted] for url, wanted in CASES["urls"]] + CASES["options"]
        client = case_programs.CLIENTS[self.client]
        for options, wanted in rows:
            if not client.can_have(options, wanted):
                continue
            with self.subTest(options=options):
                said = program.call("limiter", options)
                if (refusal := _refusal(wanted)) is None:
                    self.assertEqual(said, "ok")
                    self.assertEqual(program.call("address"), wanted)
                    said = program.call("text")
                else:
                    self.assertEqual(said.partition(" ")[0], refusal[0])
                    self.assertIn(refusal[1], said)
                self.assertNotIn("s3cret", said)

    def test_words(self):
        program = self.start()
        for words, wanted in self.rows("words"):
            make = [["limiter", {"fail": "open"}], [], "ok"]
            refusal = _refusal(wanted)
            if refusal is None:
                self.play(program, make, [["allow", *words], [[wanted, OK]], OK_SAID])
            else:
                self.play(program, make)
                said = program.call("allow", *words)
                self.assertEqual(said.partition(" ")[0], refusal[0])
                self.assertIn(refusal[1], said)

    def test_causes(self):
        program = self.start()
        for reply, cause in self.rows("causes"):
            mistake = f"mistake {reply[1:]}"
            away = f"unavailable {cause} allowed"
            before = mistake if cause in ("mistake", "login") else away
            after = mistake if cause == "mistake" else away

            def ask(reply, said):
                return [["allow", "k", "1/h"], [["RL.ALLOW k 1/h", reply]], said]

            make = [["limiter", {"fail": "open"}], [], "ok"]
            self.play(program, make, ask(reply, before), ask(OK, OK_SAID), ask(reply, after))

    def test_fields(self):
        program = self.start()
        for name, more in (("fields", " WITHLIMITS"), ("plain_fields", "")):
            for words, reply, wanted in self.rows(name):
                request = " ".join(["RL.ALLOW", *words]) + more
                make = [["limiter", {}], [], "ok"]
                self.play(program, make, [[name, *words], [[request, reply]], wanted])

    def test_callers(self):
        if "callers" in case_programs.CLIENTS[self.client].lacks:
            self.skipTest("has no middleware")
        program = self.start()
        for *call, wanted in self.rows("callers"):
            said = program.call("caller", *call)
            self.assertEqual("mistake" if said.startswith("mistake ") else said, wanted)


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(
        loader.loadTestsFromTestCase(type(name, (CaseTests, unittest.TestCase), {"client": name}))
        for name in chosen()
    )


def chosen():
    """The names of the clients to test."""
    names = tuple(sys.argv[1:]) or ("",)
    return [name for name in case_programs.CLIENTS if name.startswith(names)]


if __name__ == "__main__" and chosen():
    unittest.main(argv=sys.argv[:1])
