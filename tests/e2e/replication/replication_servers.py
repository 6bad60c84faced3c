"""Primaries and replicas that tests start, and the comparison of what two servers know.

A server's time is not the test's, so times in replies are compared by what may lie between two
looks at the other server. A replica's clock is behind that of its primary by the delay of a frame,
on a busy machine by SLACK_MS at most.
"""

import time

from weir_e2e import DEADLINE, NEVER, Client, Error, ServerTest, encode, free_port, let_others_run

SLACK_MS = 1000
PARTITIONS = 4096
LIMIT = f"100/{NEVER}"
# The positions of times in replies.
PEEK_TIMES = (2, 3)
INSPECT_TIMES = (2, 4)
HOLD_TIMES = (1,)


def fields(client, section="replication"):
    """The fields of a section of INFO, as text."""
    lines = client.call("INFO", section).decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)


def replica_fields(client, index=0):
    """The parts of slave<index> in INFO, as text."""
    return dict(part.split("=") for part in fields(client)[f"slave{index}"].split(","))


def role_of(client):
    return client.call("ROLE")[0]


def link_state(client):
    """The state of a replica's link, in the word of ROLE; an empty word for a primary."""
    role = client.call("ROLE")
    return role[3].decode() if role[0] == b"slave" else ""


def is_exact(client):
    """Whether a replica has the whole state of its primary, but for what is on its way."""
    shown = fields(client)
    return (
        link_state(client) == "connected"
        and shown["master_link_status"] == "up"
        and shown["complete"] == "1"
        and shown["sync_partitions_left"] == "0"
    )


def await_true(probe, what, seconds=DEADLINE):
    end = time.monotonic() + seconds
    while not probe():
        if time.monotonic() > end:
            raise AssertionError(f"never: {what() if callable(what) else what}")
        let_others_run()


def await_in_sync(primary, *replicas):
    """Waits until the replicas have all changes of a primary that is quiet."""
    for replica in replicas:
        await_true(lambda one=replica: is_exact(one), lambda one=replica: fields(one))

        def has_all(one=replica):
            head = fields(primary)["master_repl_offset"]
            return is_exact(one) and fields(one)["slave_read_repl_offset"] == head

        # A change that was made just now is in the stream after the next tick.
        await_true(lambda: marked(primary, replica), "a mark of the primary on the replica")
        await_true(has_all, lambda one=replica: (fields(primary), fields(one)))


def marked(primary, replica):
    """Changes something on the primary, and waits until the replica shows it.

    False if the primary refuses it for want of a replica.
    """
    asked = (f"mark:{time.monotonic_ns()}", f"1/{NEVER}")
    reply = primary.call("RL.ALLOW", *asked)
    if isinstance(reply, Error):
        assert reply.startswith(("NOREPLICAS ", "NOACK ")), reply
        return False
    assert reply[0] == 1
    await_true(lambda: replica.call("RL.PEEK", *asked)[0] == 0, "a mark")
    return True


def ask_all(client, requests, at_once=500):
    """The replies to all requests, which are sent in pieces."""
    replies = []
    for begin in range(0, len(requests), at_once):
        piece = requests[begin : begin + at_once]
        client.send(b"".join(encode(*words) for words in piece))
        replies += [client.reply() for _ in piece]
    return replies


def without_times(reply, times, passing=()):
    """The rows without times, in a fixed order; and the times in the same order.

    Rows that begin with a word of `passing` are left out.
    """
    if not isinstance(reply, list):
        return [reply], []
    rows = reply if not reply or isinstance(reply[0], list) else [reply]
    rows = [row for row in rows if row[0] not in passing]
    ordered = sorted(rows, key=lambda row: repr([x for i, x in enumerate(row) if i not in times]))
    rest = [[x for i, x in enumerate(row) if i not in times] for row in ordered]
    return rest, [row[i] for row in ordered for i in times]


class ReplicationTest(ServerTest):
    """A test that starts primaries and replicas."""

    def start_mortal(self, *options):
        """A server that the test kills."""
        server = self.launch("--port", str(free_port()), *options)
        server.port  # waits until it listens
        return server

    def start_replica(self, primary, *options, wait=True, mortal=False):
        """A replica of a server, or of a port, that has the whole state unless `wait` is False."""
        port = primary if isinstance(primary, int) else primary.port
        start = self.start_mortal if mortal else self.start
        replica = start("--replicaof", f"127.0.0.1 {port}", *options)
        if wait:
            client = self.connect(replica)
            await_true(lambda: is_exact(client), lambda: (fields(client), replica.log()))
        return replica

    def follow(self, client, server):
        """Makes a server a replica, and waits until it has the whole state of the other."""
        self.assertEqual(client.call("REPLICAOF", "127.0.0.1", server.port), "OK")
        # The role changes after the reply, so the state of a link may still be that of the last.
        await_true(
            lambda: fields(client).get("master_port") == str(server.port), lambda: fields(client)
        )
        await_true(lambda: is_exact(client), lambda: fields(client))

    def promote(self, client):
        self.assertEqual(client.call("REPLICAOF", "NO", "ONE"), "OK")
        await_true(lambda: role_of(client) == b"master", lambda: client.call("ROLE"))

    def remaining(self, client, key, limit=LIMIT):
        return client.call("RL.PEEK", key, limit, "COST", 0)[1]

    def assert_equal_replies(self, primary, replica, requests, times, passing=()):
        """Both servers give the same replies; times may differ by what passes between looks.

        The replica is asked between two looks at the primary. Requests whose rows differ between
        these, as a hold has expired meanwhile, are asked again.
        """
        while requests:
            looks = [ask_all(server, requests) for server in (primary, replica, primary)]
            expired = []
            for words, *replies in zip(requests, *looks):
                rows, spans = zip(*(without_times(reply, times, passing) for reply in replies))
                first, ours, last = replies
                if rows[0] != rows[2]:
                    expired.append(words)
                    continue
                self.assertEqual(rows[1], rows[0], f"{words} on the replica: {ours}, not {first}")
                for early, here, late in zip(*spans):
                    self.assertLessEqual(here, early + SLACK_MS, f"{words}: {first} {ours} {last}")
                    self.assertGreaterEqual(
                        here, late - SLACK_MS, f"{words}: {first} {ours} {last}"
                    )
            requests = expired

    def assert_same_buckets(self, primary, replica, keys, limits=(), passing=()):
        """Both servers show the same buckets and holds of the keys, and the same policies.

        `passing`: limits that refill meanwhile.
        """
        peeks = [("RL.PEEK", key, limit, "COST", 0) for key in keys for limit in limits]
        self.assert_equal_replies(primary, replica, peeks, PEEK_TIMES)
        inspects = [("RL.INSPECT", key) for key in keys]
        names = [limit.encode() for limit in passing]
        self.assert_equal_replies(primary, replica, inspects, INSPECT_TIMES, names)
        holds = [("RL.INSPECT", key, "HOLDS") for key in keys]
        self.assert_equal_replies(primary, replica, holds, HOLD_TIMES)
        self.assert_same_policies(primary, replica)

    def assert_same_policies(self, primary, replica):
        names = primary.call("RL.POLICY", "LIST")
        self.assertEqual(replica.call("RL.POLICY", "LIST"), names)
        for name in names:
            for look in ("GET", "OVERRIDES"):
                words = ("RL.POLICY", look, name)
                self.assertEqual(replica.call(*words), primary.call(*words), words)


def call_on(server, *words):
    """The reply to a command, sent on a new connection."""
    with Client(server.port) as client:
        return client.call(*words)
