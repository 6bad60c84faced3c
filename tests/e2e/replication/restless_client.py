"""Clients that ask all the time, and connect again when their server is gone."""

import contextlib
import socket
import threading

from weir_e2e import Client


class World:
    """The port of the primary, as clients believe; whether they go on; and what went wrong."""

    def __init__(self, port):
        self.port = port
        self.ended = threading.Event()
        self.errors = []


class RestlessClient:
    """Calls ask(client) again and again on a thread, until the world has ended."""

    def __init__(self, world):
        self.port = world.port  # of the server that it asks
        self._world = world
        self._client = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def leave(self):
        """Gives up the present connection and the replies that it waits for."""
        if self._client:
            with contextlib.suppress(OSError):
                self._client.socket.shutdown(socket.SHUT_RDWR)

    def join(self):
        self._thread.join()

    def ask(self, client):
        raise NotImplementedError

    def _run(self):
        try:
            while not self._world.ended.is_set():
                self._ask_until_the_end()
        except Exception as error:  # pylint: disable=broad-except
            self._world.errors.append(error)

    def _ask_until_the_end(self):
        with contextlib.suppress(EOFError, OSError):
            self.port = self._world.port
            with Client(self.port) as self._client:
                while not self._world.ended.is_set():
                    self.ask(self._client)
