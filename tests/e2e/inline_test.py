"""Commands typed into a raw socket, however the bytes and the connection are cut."""

import unittest

from weir_e2e import NEVER, ServerTest, encode, scaled

# Every reply is the same each time, since requests that cost 0 change nothing.
SCRIPT = (
    b"PING\r\n"
    b"\r\n"
    b'ECHO "a\\x41 b"\n'
    b"RL.ALLOW user:42 10/s 1000/h COST 0\r\n"
    + encode("ECHO", b"\r\n\0")
    + b"*0\r\n"
    b"ECHO 'it\\'s'\r\n"
)
REPLIES = (
    b"+PONG\r\n"
    b"$4\r\naA b\r\n"
    b"*5\r\n:1\r\n:10\r\n:0\r\n:0\r\n:0\r\n"
    b"$3\r\n\r\n\0\r\n"
    b"$4\r\nit's\r\n"
)
HTTP_POST = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 14\r\n\r\nRL.RESET key\r\n"
HTTP_GET = b"GET / HTTP/1.1\r\n\r\nPING\r\n"


class InlineTest(ServerTest):
    # Goal: where TCP cuts the bytes changes no reply. Method: one thread serves all connections in
    # the order in which they have something to read, so a reply on another connection means that
    # the first piece has been read.
    def test_a_cut_anywhere_changes_nothing(self):
        server = self.start("--threads", "1")
        other = self.connect(server)
        for cut in range(len(SCRIPT) + 1):
            with self.subTest(cut=cut), self.connect(server) as client:
                client.send(SCRIPT[:cut])
                self.assertEqual(other.call("PING"), "PONG")
                client.send(SCRIPT[cut:])
                client.half_close()
                self.assertEqual(client.rest(), REPLIES)

    def test_a_byte_at_a_time_changes_nothing(self):
        server = self.start("--threads", "1")
        other = self.connect(server)
        client = self.connect(server)
        for i in range(len(SCRIPT)):
            client.send(SCRIPT[i : i + 1])
            self.assertEqual(other.call("PING"), "PONG")
        client.half_close()
        self.assertEqual(client.rest(), REPLIES)

    # Goal: half-closing is how `nc` ends its input; all complete requests are answered, then the
    # server closes. Method: the last request has an end, none, or is cut in its middle.
    def test_a_half_closed_socket_is_answered_and_closed(self):
        server = self.start()
        for unfinished in (b"", b"PING", b"*1\r\n$4\r\nPI", b"*2\r\n"):
            with self.subTest(unfinished), self.connect(server) as client:
                client.send(SCRIPT * 1000 + unfinished)
                client.half_close()
                self.assertEqual(client.rest(), REPLIES * 1000)

    def test_quit_answers_and_closes(self):
        server = self.start()
        for quit in (b"QUIT\r\n", encode("quit")):
            client = self.connect(server)
            client.send(b"PING\r\n" + quit + b"PING\r\n")
            self.assertEqual(client.rest(), b"+PONG\r\n+OK\r\n")

    # Goal: a browser that is lured to this port executes nothing and learns nothing.
    def test_http_is_closed_without_a_word(self):
        server = self.start()
        self.assertEqual(self.connect(server).call("RL.ALLOW", "key", f"5/{NEVER}")[:2], [1, 4])
        for request in (HTTP_POST, HTTP_GET, b"Host: x\r\nPING\r\n"):
            with self.subTest(request):
                client = self.connect(server)
                client.send(request)
                self.assertEqual(client.rest(), b"")
        self.assertEqual(self.connect(server).call("RL.ALLOW", "key", f"5/{NEVER}")[:2], [1, 3])

    # Goal: an error of the protocol is answered, ends the connection, and concerns no other client.
    def test_a_broken_frame_gets_an_error_and_is_closed(self):
        server = self.start()
        other = self.connect(server)
        for request, error in (
            (b"*3000000000\r\n", b"invalid multibulk length"),
            (b"*a\r\n", b"invalid multibulk length"),
            (b"*1\r\n$-1\r\n", b"invalid bulk length"),
            (b"*1\r\n$65537\r\n", b"invalid bulk length"),
            (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n", b"expected '$', got 'f'"),
            (b"*1\r\n*1\r\n$4\r\nPING\r\n", b"expected '$', got '*'"),
            (b'PING "abc\r\n', b"unbalanced quotes in request"),
            (b"A" * 70_000, b"too big inline request"),
            (b"*" + b"1" * 70_000, b"too big mbulk count string"),
        ):
            with self.subTest(request[:40]):
                client = self.connect(server)
                client.send(b"PING\r\n" + request)
                self.assertEqual(client.rest(), b"+PONG\r\n-ERR Protocol error: " + error + b"\r\n")
                self.assertEqual(other.call("PING"), "PONG")

    # Goal: a client that vanishes leaves nothing behind. Method: each is reset while the server
    # sends it replies that it does not read, or in the middle of a request.
    def test_a_reset_in_the_middle_leaves_nothing(self):
        server = self.start("--threads", "1")
        other = self.connect(server)
        other.call("PING")
        descriptors = server.descriptors()
        for i in range(scaled(200)):
            client = self.connect(server, receive_buffer_bytes=4096)
            if i % 2:
                client.send(b"COMMAND DOCS\r\n" * 50)
                client.socket.recv(1)
            else:
                client.send(b"PING\r\n*2\r\n$4\r\nEC")
                client.reply()
            client.reset()
        self.await_equal(lambda: self.info(other)["connected_clients"], 1)
        self.await_equal(server.descriptors, descriptors)


if __name__ == "__main__":
    unittest.main()
