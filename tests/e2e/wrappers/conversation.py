"""Conversations between a wrapper of clients/ and a server, as the cases in *_cases.txt say.

Environment, besides weir_e2e's: that of limited_wrappers.py.
"""

import contextlib
import json
import queue
import re
import socket
import threading
from pathlib import Path

import limited_wrappers
from weir_e2e import DEADLINE

FOLDER = Path(__file__).parent

# Commands that client libraries send when they connect, and their replies; HELLO's is in RESP3.
GREETINGS = {"CLIENT": b"+OK\r\n", "HELLO": b"%1\r\n+server\r\n+weir\r\n"}


def read_lines(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    return re.sub(r"\\\n *", "", text).splitlines()


def read_errors():
    """Pairs of "away" or "wrong" and an error."""
    lines = (line.split(" ", 1) for line in read_lines("limited_cases.txt"))
    return [line for line in lines if line[0] in ("away", "wrong")]


def read_cases(name):
    """The steps of each case: a call, the expected requests and their replies, and the result."""
    cases = {}
    for line in read_lines(name):
        if line.startswith("case "):
            steps = cases[line[5:]] = []
        elif cases and line and not line.startswith("#"):
            parts = line.split("|") if "|" in line else (line, "", "ok")
            call, requests, said = map(str.strip, parts)
            exchanges = [each.split(" -> ") for each in requests.split(" ; ") if each]
            steps.append((call, exchanges, said))
    return cases


def to_resp(value):
    if isinstance(value, list):
        return f"*{len(value)}\r\n" + "".join(map(to_resp, value))
    return f":{value}\r\n" if isinstance(value, int) else f"${len(value)}\r\n{value}\r\n"


class Program:
    """A running limited_program.*. Its lines become events ("said", line)."""

    def __init__(self, command, directory):
        self._process = limited_wrappers.start(command, directory)
        self.events = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self.events.put(("said", line.rstrip("\n")))
        self._process.stdout.close()
        self.events.put(("said", "its end"))

    def send(self, call):
        self._process.stdin.write(call + "\n")

    def call(self, call):
        self.send(call)
        return self.next_said()

    def next_said(self):
        kind, said = self.events.get(timeout=DEADLINE)
        assert kind == "said", f"asks {said} unexpectedly"
        return said

    def end(self):
        """Returns the exit status."""
        self._process.stdin.close()
        try:
            return self._process.wait(DEADLINE)
        finally:
            self._process.kill()


class ScriptedServer:
    """Its requests become events ("asks", (words, connection)), which `reply` answers."""

    def __init__(self, events, listener=None):
        self._events = events
        self._listener = listener or socket.create_server(("127.0.0.1", 0))
        self._connections = []
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection):
        with contextlib.suppress(OSError), connection.makefile("rb") as stream:
            while line := stream.readline():
                sizes = (int(stream.readline()[1:]) for _ in range(int(line[1:])))
                words = [stream.read(size + 2)[:-2].decode() for size in sizes]
                if words[0] in GREETINGS:
                    connection.sendall(GREETINGS[words[0]])
                else:
                    self._events.put(("asks", (" ".join(words), connection)))

    @staticmethod
    def reply(connection, reply):
        """A JSON value, an error, or `lost`: the connection is closed."""
        if reply == "lost":
            connection.shutdown(socket.SHUT_RDWR)
        else:
            text = reply + "\r\n" if reply.startswith("-") else to_resp(json.loads(reply))
            connection.sendall(text.encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
