"""A TCP proxy between a replica and its primary that cuts, stalls and delays by a seeded random."""

import contextlib
import random
import select
import socket
import threading

PIECE = 1 << 16
BYTES_MAX = 200_000  # of a connection that will be cut, at most


class Proxy:
    """Serves each connection with one of its own to `target`, a port, which may change."""

    def __init__(self, target):
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.target))

    def serve(self, replica, primary):
        raise NotImplementedError

    def _accept(self):
        while True:
            try:
                replica, _ = self._listener.accept()
            except OSError:
                return
            try:
                primary = self.connect()
            except OSError:
                replica.close()
                continue
            self.serve(replica, primary)


class CuttingProxy(Proxy):
    """Forwards connections.

    Until calm() is called, two of three connections end after a random number of bytes from the
    primary, and a third of them moves bytes in small or late pieces.
    """

    def __init__(self, target, seed):
        self.cuts = 0
        self.cut_before = None  # bytes of the primary that the replica shall not get
        self.rewrite = None  # a function of the replica's bytes: what the primary gets
        self._random = random.Random(seed)
        self._calm = threading.Event()
        self._moves = threading.Event()
        self._moves.set()
        self._lock = threading.Lock()
        self._pairs = set()
        super().__init__(target)

    def calm(self):
        """Makes no more trouble. Connections that were to be cut are cut now."""
        self._calm.set()
        self.cut()

    def cut(self):
        """Cuts all connections."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            self._end(pair)
        self._moves.set()

    def hold(self):
        """Moves nothing more, not even the end of a connection, until cut() is called."""
        self._moves.clear()

    def close(self):
        super().close()
        self.calm()

    def serve(self, replica, primary):
        pair = (replica, primary)
        with self._lock:
            self._pairs.add(pair)
            plan = self._plan()
        threading.Thread(target=self._forward, args=(pair, plan), daemon=True).start()

    def _plan(self):
        """(bytes until the cut or None, largest piece, longest delay of a piece)."""
        if self._calm.is_set():
            return None, PIECE, 0.0
        # As often in the first hundred bytes as between ten and a hundred thousand.
        cut = int(BYTES_MAX ** self._random.random()) if self._random.random() < 0.67 else None
        piece = self._random.choice((1, 7, 1000, PIECE, PIECE, PIECE))
        return cut, piece, self._random.choice((0.0, 0.0, 0.002, 0.05))

    def _forward(self, pair, plan):
        cut, piece, delay = plan
        replica, primary = pair
        moved = 0
        with contextlib.suppress(OSError, ValueError):
            while True:
                ready, _, _ = select.select(pair, (), ())
                self._moves.wait()
                for source in ready:
                    data = source.recv(piece if not self._calm.is_set() else PIECE)
                    if not data:
                        return self._end(pair)
                    if source is replica and self.rewrite:
                        data = self.rewrite(data)
                    if source is primary:
                        if self.cut_before and self.cut_before in data:
                            replica.sendall(data[: data.index(self.cut_before)])
                            self.cut_before = None
                            self.cuts += 1
                            return self._end(pair)
                        moved += len(data)
                        if cut is not None and moved >= cut:
                            replica.sendall(data[: len(data) - (moved - cut)])
                            self.cuts += 1
                            return self._end(pair)
                        if delay:
                            self._calm.wait(self._random.random() * delay)
                    (replica if source is primary else primary).sendall(data)
        return self._end(pair)

    def _end(self, pair):
        with self._lock:
            self._pairs.discard(pair)
        for one in pair:
            # Wakes the thread that waits for this socket; close() alone does not.
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
