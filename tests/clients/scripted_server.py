"""A server that a test plays, and Sentinels that name it."""

import contextlib
import socket
import threading

from weir_e2e import free_port

CLOSED = "lost"  # a reply: the connection is closed
SILENT = "silent"  # a reply: none


def to_resp(value):
    """A JSON value as RESP2; a string that begins with + or - as a status or an error."""
    if value is None:
        return "*-1\r\n"
    if isinstance(value, list):
        return f"*{len(value)}\r\n" + "".join(map(to_resp, value))
    if isinstance(value, int):
        return f":{value}\r\n"
    if value[:1] in ("+", "-"):
        return value + "\r\n"
    return f"${len(value.encode())}\r\n{value}\r\n"


class Listener:
    """Accepts connections; for each one `serve` runs in a thread."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self._connections = []
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection):
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
            self.serve(connection, stream)

    def serve(self, connection, stream):
        raise NotImplementedError

    @staticmethod
    def requests(stream):
        """The words of each request."""
        while line := stream.readline():
            sizes = (int(stream.readline()[1:]) for _ in range(int(line[1:])))
            yield [stream.read(size + 2)[:-2].decode(errors="backslashreplace") for size in sizes]

    @staticmethod
    def reply(connection, reply):
        """Sends a reply, unless the client has hung up."""
        with contextlib.suppress(OSError):
            if reply == CLOSED:
                connection.shutdown(socket.SHUT_RDWR)
            elif isinstance(reply, dict):
                connection.sendall(reply["raw"].encode())
            elif reply != SILENT:
                connection.sendall(to_resp(reply).encode())

    def drop_all(self):
        """Closes the connections that are open."""
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._connections.clear()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_all()


class ScriptedServer(Listener):
    """Its requests become events ("asks", (words, connection)), which `reply` answers.

    A login, by AUTH or HELLO, is answered as `login` says: None admits all; [user, password] admits
    that one, and others are not served; a string is the reply. `greeting`, if not empty, is sent to
    each connection, which is then closed.
    """

    def __init__(self, events):
        self._events = events
        self.login = None
        self.greeting = ""
        super().__init__()

    def serve(self, connection, stream):
        if self.greeting:
            connection.sendall(to_resp(self.greeting).encode())
            connection.shutdown(socket.SHUT_RDWR)
            return
        is_known = not isinstance(self.login, list)
        for words in self.requests(stream):
            name = words[0].upper()
            if (login := self._login_of(words)) is not None:
                answer = self._answer_to(login)
                is_known = is_known or answer == "+OK"
                if name == "HELLO" and answer == "+OK":
                    answer = {"raw": "%1\r\n+server\r\n+weir\r\n"}
                self.reply(connection, answer)
            elif not is_known:
                self.reply(connection, "-NOAUTH Authentication required.")
            elif name == "HELLO":
                self.reply(connection, {"raw": "%1\r\n+server\r\n+weir\r\n"})
            elif name == "CLIENT":
                self.reply(connection, "+OK")
            else:
                self._events.put(("asks", (words, connection)))

    @staticmethod
    def _login_of(words):
        """The user and the password of a login, or None."""
        upper = [word.upper() for word in words]
        if upper[0] == "AUTH":
            return words[1:] if len(words) == 3 else ["default", *words[1:]]
        if upper[0] == "HELLO" and "AUTH" in upper:
            at = upper.index("AUTH")
            return words[at + 1 : at + 3]
        return None

    def _answer_to(self, login):
        if isinstance(self.login, str):
            return self.login
        if self.login is None or self.login == login:
            return "+OK"
        return "-WRONGPASS invalid username-password pair or user is disabled."


class ScriptedSentinel(Listener):
    """Answers where the primary is: `primary` is a list of host and port, None, or a reply."""

    def __init__(self, primary):
        self.primary = primary
        self.asked = 0
        super().__init__()

    def serve(self, connection, stream):
        for words in self.requests(stream):
            name = words[0].upper()
            if name == "SENTINEL" and words[1].upper() == "GET-MASTER-ADDR-BY-NAME":
                self.asked += 1
                self.reply(connection, self.primary)
            else:
                self.reply(connection, {"raw": "%1\r\n+server\r\n+redis\r\n"}
                           if name == "HELLO" else "+OK")

