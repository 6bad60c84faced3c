"""A proxy in front of the server that loses the reply to RL.ALLOW of the key `lost`.

The server has received and charged that request; the client sees its connection end. A client
library that then automatically sends the request again is charged twice.
"""

import socket
import threading

from weir_e2e import free_port


class LossyPort:
    def __init__(self, server_port):
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)  # which wakes accept()
        self._listener.close()

    def _listen(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self._server_port)) as server:
            lost = threading.Event()

            def pass_replies():
                while (replies := _receive(server)) and not lost.is_set():
                    client.sendall(replies)
                _end(client)

            thread = threading.Thread(target=pass_replies, daemon=True)
            thread.start()
            seen = b""
            while requests := _receive(client):
                seen += requests
                if b"RL.ALLOW\r\n$4\r\nlost\r\n" in seen:
                    lost.set()  # before the server knows of the request
                server.sendall(requests)
            _end(server)
            thread.join()


def _receive(stream):
    try:
        return stream.recv(1 << 16)
    except OSError:
        return b""


def _end(stream):
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended
