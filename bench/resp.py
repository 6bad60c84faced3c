"""The Redis protocol (RESP2), as spoken by a client that takes no error for a reply."""

import socket


def encode(*words):
    """A request as an array of bulk strings."""
    words = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Client:
    """A connection, until the end of a `with`. An error, or its end, ends the program."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._replies = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._replies.close()
        self._socket.close()

    def ask(self, *words):
        return self.ask_all([words])[0]

    def ask_all(self, requests):
        """Sends all of them, then reads as many replies: few enough that sockets hold those."""
        self._socket.sendall(b"".join(encode(*words) for words in requests))
        return [self._read(words) for words in requests]

    def _read(self, request):
        line = self._replies.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest.decode()
        if kind == b"*":
            return [self._read(request) for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self._replies.read(int(rest) + 2)[:-2].decode()
        raise SystemExit(f"{' '.join(map(str, request))} was answered by {line!r}")
