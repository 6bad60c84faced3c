"""Clients that ask all the time, and connect again when their server is gone."""

import contextlib
import threading

from weir_e2e import Client


class RestlessClient:
    """Calls ask(client) again and again on a thread, until the world has ended.

    The world has `port`, where the primary is at present, and `ended`, an event.
    """

    def __init__(self, world):
        self._world = world
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self):
        self._thread.join()

    def ask(self, client):
        raise NotImplementedError

    def _run(self):
        while not self._world.ended.is_set():
            with contextlib.suppress(EOFError, OSError):
                with Client(self._world.port) as client:
                    while not self._world.ended.is_set():
                        self.ask(client)
