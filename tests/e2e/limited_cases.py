"""The cases of limited_cases.txt, and a server that answers every request with one line."""

import contextlib
import socket
import threading
from pathlib import Path


def limited_cases():
    """Pairs of "away" or "wrong" and a reply."""
    text = Path(__file__).with_name("limited_cases.txt").read_text(encoding="utf-8")
    return [line.split(" ", 1) for line in text.splitlines() if not line.startswith("#")]


def answer(client, line):
    with client, contextlib.suppress(OSError):
        while client.recv(1 << 16):
            client.sendall(line.encode() + b"\r\n")


@contextlib.contextmanager
def one_reply_server(line):
    """The port of a server that answers every request with the line."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=answer, args=(client, line), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
