"""A client of the Redis protocol (RESP2) that ends the program when a reply is an error."""

import socket


def encode(*words):
    """A request as an array of bulk strings."""
    words = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Client:
    """A connection, closed at the end of a `with`. An error reply or its loss ends the program."""

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
        """Sends all requests, then reads the replies, which must fit the sockets' buffers."""
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
