"""Redis 7.0 and weir give the same replies to the same bytes, for all commands that both have.

differential_cases.py lists the cases, differential_differences.py the intended differences.
"""

import contextlib
import re
import threading
import unittest

from differential_case import By, Like, Own
from differential_cases import GROUPS
from differential_differences import DIFFERENCES
from differential_replies import end_of_reply, split_replies
from redis_host import start_redis
from weir_e2e import Client, ServerTest, encode

PASSWORD = "secret"
# Clients before AUTH may do everything, as in other tests; Redis also has channels.
USERS = """\
user default on nopass ~* &* +@all
user bob on >secret ~a* -@all +del +unlink +exists +watch +multi +exec +acl|whoami
user off off >secret ~* +@all
"""
CLIENTS_MAX = "200"  # few enough for any limit on open files, which else lowers it
# A busy machine makes any command slow, and then it would be in one server's SLOWLOG.
SLOW = ["--slowlog-log-slower-than", "60000000"]
GREETING = {2: b"", 3: encode("HELLO", "3")}
CLOSED = b"(closed)"
CUT_BYTES_MAX = 300  # of a case that is sent a byte at a time, too


class RawClient(Client):
    """A connection that gives back replies as the bytes that they are."""

    def raw_reply(self):
        """The next reply, or CLOSED."""
        try:
            while (end := end_of_reply(self._unread, self._begin)) is None:
                self._receive_more()
        except (EOFError, ConnectionResetError):
            return CLOSED
        reply = bytes(self._unread[self._begin : end])
        self._begin = end
        return reply


def words_of(request):
    """The bytes to send for a request of a case."""
    if isinstance(request, Like):
        return words_of(request.request)
    if isinstance(request, bytes):
        return request
    return encode(*(request.split(" ") if isinstance(request, str) else request))


def send_quietly(client, pieces, half_close):
    """Sends the pieces; a server that closes before the end is no error, its replies count."""
    with contextlib.suppress(OSError):
        for piece in pieces:
            client.send(piece)
        if half_close:
            client.half_close()


def replies_to(port, protocol, requests, cut=False):
    """The replies to requests that are sent without waiting: in one piece, or cut at each byte."""
    sent = b"".join(words_of(request) for request in requests)
    with RawClient(port) as client:
        if protocol == 3:
            client.send(GREETING[3])
            client.raw_reply()
        pieces = [sent[i : i + 1] for i in range(len(sent))] if cut else [sent]
        half_close = requests[-1] != "QUIT"
        sender = threading.Thread(target=send_quietly, args=(client, pieces, half_close))
        sender.start()
        received = client.rest()
        sender.join()
    return split_replies(received)


class Talk:
    """A case with several connections, on which each request waits for its reply."""

    def __init__(self, port, protocol, names):
        self.clients, self.facts = {}, {}
        for name in names:
            client = self.clients[name] = RawClient(port)
            client.send(GREETING[protocol] + encode("CLIENT", "ID"))
            if protocol == 3:
                client.raw_reply()
            self.facts[name + ".id"] = client.raw_reply().strip(b":\r\n").decode()
            self.facts[name + ".addr"] = "%s:%d" % client.socket.getsockname()

    def step(self, request):
        who, request = request if isinstance(request, By) else ("a", request)
        request = request.request if isinstance(request, Like) else request
        if request is not None:
            if isinstance(request, str):
                request = re.sub(r"\{(.*?)\}", lambda match: self.facts[match.group(1)], request)
            self.clients[who].send(words_of(request))
        return self.clients[who].raw_reply()

    def close(self):
        for client in self.clients.values():
            client.close()


def of_server(server, requests):
    """The requests, with those that are the server's own: "redis" or "weir"."""

    def of(request):
        if isinstance(request, By):
            return By(request.who, of(request.request))
        return getattr(request, server) if isinstance(request, Own) else request

    return [of(request) for request in requests]


def is_talk(requests):
    texts = [r.request if isinstance(r, Like) else r for r in requests]
    return any(isinstance(text, By) or isinstance(text, str) and "{" in text for text in texts)


def talk(port, protocol, requests):
    names = {"a"} | {request.who for request in requests if isinstance(request, By)}
    with contextlib.closing(Talk(port, protocol, sorted(names))) as conversation:
        return [conversation.step(request) for request in requests]


def comparable(requests, replies):
    """The replies, with shapes in place of those that may differ; errors are kept as they are."""
    if len(replies) != len(requests):
        return replies

    def of(request, reply):
        if isinstance(request, Own) or isinstance(request, By) and isinstance(request.request, Own):
            return b""
        return request.shape(reply) if isinstance(request, Like) and reply[:1] != b"-" else reply

    return [of(request, reply) for request, reply in zip(requests, replies)]


class DifferentialTest(ServerTest):
    def start_both(self, *options, password=False, users=False):
        options = [*options, *(["--requirepass", PASSWORD] if password else [])]
        if SLOW[0] not in options:
            options += SLOW
        users_of = {"redis": [], "weir": []}
        if users:
            path = self.write("users", USERS)
            users_of = {"redis": ["--aclfile", path], "weir": ["--users-file", path]}
        redis = start_redis(self, "--maxclients", CLIENTS_MAX, *options, *users_of["redis"])
        weir = self.start("--max-clients", CLIENTS_MAX, *options, *users_of["weir"])
        return redis.port, weir.port

    def assert_same(self, requests, redis, weir):
        redis, weir = comparable(requests, redis), comparable(requests, weir)
        if redis == weir:
            return
        rows = zip(requests, redis, weir)
        if len(redis) != len(requests) or len(weir) != len(requests):
            rows = [(requests, redis, weir)]
        rows = [row for row in rows if row[1] != row[2]]
        self.fail("\n".join(f"{row[0]}\n  Redis {row[1]}\n  weir  {row[2]}" for row in rows))

    def compare(self, ports, protocol, requests):
        """Sends the same to both servers and compares the replies."""
        say = talk if is_talk(requests) else replies_to
        ours = of_server("weir", requests)
        redis = say(ports[0], protocol, of_server("redis", requests))
        self.assert_same(requests, redis, say(ports[1], protocol, ours))
        if say is talk or protocol == 3 or sum(len(words_of(r)) for r in ours) > CUT_BYTES_MAX:
            return
        self.assert_same(requests, redis, replies_to(ports[1], protocol, ours, cut=True))

    def compare_groups(self, password=False, users=False):
        kind = (password, users)
        groups = [g for g in GROUPS if (g.password, g.users) == kind]
        ports = {
            options: self.start_both(*options, password=password, users=users)
            for options in {group.options for group in groups}
        }
        for group in groups:
            for case in group.cases:
                for protocol in group.protocols:
                    with self.subTest(f"{group.title}: {case.name}, RESP{protocol}"):
                        self.compare(ports[group.options], protocol, case.requests)

    # Goal: a client of Redis can speak to weir. Method: the same bytes to both, in RESP2 and RESP3,
    # in one piece and a byte at a time; the replies are compared byte for byte.
    def test_weir_answers_as_redis_does(self):
        self.compare_groups()

    def test_weir_answers_as_redis_does_with_a_password(self):
        self.compare_groups(password=True)

    def test_weir_answers_as_redis_does_with_users(self):
        self.compare_groups(users=True)

    # Goal: each intended difference still exists, and is exactly as listed.
    def test_these_differences_are_meant(self):
        ports = {password: self.start_both(password=password) for password in (False, True)}
        for row in DIFFERENCES:
            expected = {2: row.replies, 3: row.replies3 or row.replies}
            for protocol in (2,) if row.password else (2, 3):  # HELLO 3 needs the password
                with self.subTest(f"{row.requests}, RESP{protocol}: {row.why}"[:200]):
                    redis, weir = (
                        comparable(row.requests, replies_to(port, protocol, row.requests))
                        for port in ports[row.password]
                    )
                    self.assertEqual(weir, expected[protocol])
                    self.assertNotEqual(redis, expected[protocol])

    def test_each_group_has_a_title_of_its_own(self):
        titles = [group.title for group in GROUPS]
        self.assertEqual(len(set(titles)), len(titles))


if __name__ == "__main__":
    unittest.main()
