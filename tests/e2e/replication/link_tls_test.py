"""The link between a replica and its primary by TLS, and links that cannot be made.

Goal: under TLS the link brings what it brings without, and a link that cannot be made says why,
changes nothing, and is made once the reason is gone. Method: the tests of the plain link with
servers that speak TLS, and peers with wrong certificates, without TLS, or that are no weir.
"""

import os
import signal
import socket
import ssl
import subprocess
import threading
import types
import unittest

import replication_test
from cutting_proxy import Proxy
from replication_servers import (
    LIMIT,
    ReplicationTest,
    ask_all,
    await_in_sync,
    await_true,
    fields,
    is_exact,
    link_state,
    replica_fields,
)
from tls_servers import Authority, TlsServerTest
from weir_e2e import NEVER, Client, encode, free_port, scaled

NARROW_BYTES = 4096
USERS = """user default on >right ~* +@all
user replica on >secret resetkeys -@all +rl.sync
user reader on >secret resetkeys -@all +ping
"""


class TlsLinks(TlsServerTest):
    """Every server speaks TLS too, on server.tls_port, and follows others there."""

    def launch(self, *options, **settings):
        port = free_port()
        tls = (*self.tls_options(port), "--replication-tls")
        server = super().launch(*tls, *options, **settings)
        server.tls_port = port
        return server

    def start_replica(self, primary, *options, **settings):
        port = getattr(primary, "tls_port", primary)
        return super().start_replica(port, *options, **settings)

    def follow(self, client, server):
        super().follow(client, types.SimpleNamespace(port=server.tls_port))

    def reload_tls(self, server):
        before = server.log().count("read the TLS files again")
        server.process.send_signal(signal.SIGHUP)
        await_true(lambda: server.log().count("read the TLS files again") > before, server.log)


class TlsStateTest(TlsLinks, replication_test.ReplicationStateTest):
    test_the_first_sync_under_load = None  # test_a_link_with_little_room has a load of its own


class NarrowProxy(Proxy):
    """Forwards connections; the buffers towards both ends have room for one piece."""

    @staticmethod
    def _narrow(end):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW_BYTES)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, NARROW_BYTES)

    def connect(self):
        primary = socket.socket()
        self._narrow(primary)  # before the ends agree on a window
        primary.connect(("127.0.0.1", self.target))
        return primary

    def serve(self, replica, primary):
        self._narrow(replica)
        for way in ((replica, primary), (primary, replica)):
            threading.Thread(target=self._forward, args=way, daemon=True).start()

    @staticmethod
    def _forward(source, sink):
        try:
            while data := source.recv(NARROW_BYTES):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()


class LinkTest(TlsLinks, ReplicationTest):
    def setUp(self):
        super().setUp()
        self.primary = self.start()
        self.client = self.connect(self.primary)

    # Goal: what the kernel does not take is sent again as it was, and bytes that OpenSSL has read
    # ahead are not forgotten. Method: little room in the kernel, large frames, and changes all the
    # time.
    def test_a_link_with_little_room(self):
        count = scaled(30_000)
        self.client.call("RL.POLICY", "SET", "p", LIMIT)
        overrides = [("RL.POLICY", "OVERRIDE", "p", f"vip:{i}", "7/w") for i in range(count // 6)]
        ask_all(self.client, overrides)
        keys = [f"key:{i}" for i in range(count)]
        ask_all(self.client, [("RL.ALLOW", key, LIMIT) for key in keys])
        proxy = NarrowProxy(self.primary.tls_port)
        self.addCleanup(proxy.close)
        server = self.start_replica(proxy.port, "--repl-timeout", "60s", wait=False)
        replica = self.connect(server)
        while not is_exact(replica):
            ask_all(self.client, [("RL.ALLOW", key, LIMIT) for key in keys[:500]])
        for _ in range(3):
            ask_all(self.client, [("RL.ALLOW", key, LIMIT) for key in keys], at_once=count)
        await_in_sync(self.client, replica)
        peeks = [("RL.PEEK", key, LIMIT, "COST", 0) for key in keys]
        wanted = [reply[1] for reply in ask_all(self.client, peeks)]
        self.assertEqual([reply[1] for reply in ask_all(replica, peeks)], wanted)
        self.assert_same_policies(self.client, replica)
        self.assertEqual(server.log().count("no link to the primary"), 0)

    def test_roles_change(self):
        self.client.call("RL.ALLOW", "k", LIMIT, "COST", 30)
        server = self.start_replica(self.primary)
        # A replica announces its TLS port: others reach it there, too.
        self.assertEqual(replica_fields(self.client)["port"], str(server.tls_port))
        replica = self.connect(server)
        await_in_sync(self.client, replica)
        self.promote(replica)
        self.assertEqual(replica.call("RL.ALLOW", "k", LIMIT, "COST", 30)[:2], [1, 40])
        self.client.call("CONFIG", "SET", "replica-announce-port", "7777")
        self.follow(self.client, server)
        self.await_equal(lambda: replica_fields(replica)["port"], "7777")
        await_in_sync(replica, self.client)
        self.assertEqual(self.remaining(self.client, "k"), 40)

    # The link that is up stays, the next one shows and checks the new certificates.
    def test_a_reload_holds_for_the_next_connection(self):
        server = self.start_replica(self.primary)
        replica = self.connect(server)
        other = Authority(self.directory, "other")
        for here, there in zip(other.issue("server"), self.server_files):
            os.replace(here, there)
        os.replace(other.certificate, self.authority.certificate)
        self.reload_tls(server)
        self.client.call("RL.ALLOW", "k", LIMIT, "COST", 30)
        await_in_sync(self.client, replica)
        self.assertEqual(server.log().count("no link to the primary"), 0)
        self.promote(replica)
        self.assertEqual(replica.call("REPLICAOF", "127.0.0.1", self.primary.tls_port), "OK")
        server.wait_for_log("no link to the primary .*: TLS: certificate verify failed")
        self.reload_tls(self.primary)
        self.await_equal(lambda: link_state(replica), "connected")
        self.assertEqual(self.remaining(replica, "k"), 70)

    # The user of docs/high-availability.md.
    def test_a_user_for_the_link_alone(self):
        primary = self.start("--users-file", self.write("users", USERS))
        at = self.connect(primary)
        self.assertEqual(at.call("AUTH", "right"), "OK")
        at.call("RL.ALLOW", "k", LIMIT, "COST", 30)
        server = self.start_replica(primary, "--primary-user=replica", wait=False)
        replica = self.connect(server)
        server.wait_for_log("no link to the primary .*: it answers: NOAUTH")
        replica.call("CONFIG", "SET", "primary-password", "wrong")
        server.wait_for_log("no link to the primary .*: it answers: WRONGPASS")
        primary.wait_for_log("refused client 127.0.0.1:.* as user 'replica': wrong password")
        replica.call("CONFIG", "SET", "primary-user", "reader", "primary-password", "secret")
        server.wait_for_log("no link to the primary .*: it answers: NOPERM .*'rl.sync'")
        denied = at.call("ACL", "LOG", 1)[0]
        self.assertEqual((denied[3], denied[7], denied[9]), (b"command", b"rl.sync", b"reader"))
        replica.call("CONFIG", "SET", "primary-user", "replica")
        self.await_equal(lambda: link_state(replica), "connected")
        self.assertEqual(self.remaining(replica, "k"), 70)
        for log in (server.log(), primary.log()):
            self.assertNotIn("secret ", log.replace("another secret", ""))


class TlsPeer:
    """A server that speaks TLS and is no weir: it answers each piece with the next answer."""

    def __init__(self, files, *answers):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*files)
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.served = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                with self._context.wrap_socket(connection, server_side=True) as link:
                    for answer in self._answers:
                        link.recv(1 << 16)
                        link.sendall(answer)
                    link.recv(1 << 16)
                    self.served += 1
            except OSError:
                pass

    def close(self):
        self._listener.close()


class FailedTlsLinksTest(TlsServerTest, ReplicationTest):
    """A server with a state of its own is told to follow what it cannot."""

    def start_own(self, *options):
        """The server that is to follow."""
        self.server = self.start("--repl-timeout", "300ms", *options)
        self.own = self.connect(self.server)
        self.own.call("RL.ALLOW", "k", LIMIT, "COST", 30)

    def link_options(self, files=None, authority=None):
        certificate, key = files or self.client_files
        authority = (authority or self.authority).certificate
        files = (f"--tls-cert={certificate}", f"--tls-key={key}", f"--tls-ca={authority}")
        return ("--replication-tls", *files)

    def start_primary(self, *options):
        """A primary by TLS with 40 tokens left of the key."""
        primary = self.start_tls(*options)
        with Client(primary.port) as client:
            client.call("RL.ALLOW", "k", LIMIT, "COST", 60)
        return primary

    def follow_in_vain(self, port, reason):
        """Follows a port without success; the state stays."""
        self.assertEqual(self.own.call("REPLICAOF", "127.0.0.1", port), "OK")
        self.server.wait_for_log(rf"no link to the primary 127\.0\.0\.1:{port}: {reason}")
        self.assertEqual(self.remaining(self.own, "k"), 70)
        self.assertEqual(fields(self.own)["master_link_status"], "down")

    def await_link(self):
        """The reason is gone: the next attempt succeeds."""
        await_true(lambda: is_exact(self.own), lambda: (fields(self.own), self.server.log()))
        self.assertEqual(self.remaining(self.own, "k"), 40)

    def reload_tls(self, server):
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("received SIGHUP: read the TLS files again")

    def promote_unchanged(self):
        self.promote(self.own)
        self.assertEqual(self.own.call("RL.ALLOW", "k", LIMIT)[:2], [1, 69])

    def test_options_that_do_not_go_together(self):
        certificate, key = self.client_files
        ca = f"--tls-ca={self.authority.certificate}"
        link = "--replication-tls"
        for given, said in (
            ((link,), "'replication-tls': needs the authority of the primary's certificate"),
            ((link, ca, f"--tls-cert={certificate}"), "'tls-key': TLS needs the certificate's key"),
            ((link, ca, f"--tls-key={key}"), "'tls-cert': TLS needs a certificate"),
            ((link, "--tls-ca=none"), "'tls-ca': cannot use 'none': No such file"),
        ):
            with self.subTest(said):
                line = self.refused(*given)
                self.assertIn(f"option {said}", line)

    def test_plain_text_to_a_port_of_tls(self):
        primary = self.start_primary()
        self.start_own()
        self.follow_in_vain(
            primary.tls_port, "it has closed the connection without an answer, as a TLS port does"
        )
        primary.wait_for_log("closed client 127.0.0.1:.*TLS error: ")
        self.promote_unchanged()

    # Both ends look at the certificate of the other, and read their files again at SIGHUP.
    def test_certificates_that_are_not_good_enough(self):
        self.server_files = self.authority.issue("server", days=-1, prefix="server")
        primary = self.start_primary()

        def refuse(what, told, *options):
            self.start_own(*options)
            self.follow_in_vain(primary.tls_port, f"TLS: {what}")
            primary.wait_for_log(f"TLS error: {told}")

        # A primary whose certificate has expired.
        refuse("certificate verify failed: certificate has expired", ".*alert certificate expired",
               *self.link_options())  # fmt: skip
        self.authority.issue("server", prefix="server")
        self.reload_tls(primary)
        self.await_link()
        # A primary of an unknown authority.
        stranger = Authority(self.directory, "stranger")
        refuse("certificate verify failed: self-signed", "tlsv1 alert unknown ca",
               *self.link_options(authority=stranger))  # fmt: skip
        os.replace(self.authority.certificate, stranger.certificate)
        self.authority.certificate = stranger.certificate
        self.reload_tls(self.server)
        self.await_link()
        # A replica of an unknown authority.
        files = Authority(self.directory, "other").issue("replica", prefix="replica")
        refuse("tlsv1 alert unknown ca", "certificate verify failed: unable to get local issuer",
               *self.link_options(files=files))  # fmt: skip
        self.authority.issue("replica", prefix="replica")
        self.reload_tls(self.server)
        self.await_link()
        # A replica without a certificate.
        refuse("tlsv13 alert certificate required", "peer did not return a certificate",
               "--replication-tls", f"--tls-ca={self.authority.certificate}")  # fmt: skip
        other = self.start_primary("--tls-auth-clients=optional")
        self.assertEqual(self.own.call("REPLICAOF", "127.0.0.1", other.tls_port), "OK")
        self.await_link()

    def test_peers_that_are_no_weir_of_this_version(self):
        old = b"-ERR weir speaks replication 3 to 4, you 2 to 2\r\n"
        accepted = b"*8\r\n:2\r\n:1\r\n$40\r\n" + b"a" * 40
        accepted += b"\r\n:0\r\n:0\r\n:1\r\n$0\r\n\r\n$5\r\nfresh\r\n"
        redis = self.start_redis()
        self.start_own(*self.link_options())
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        port = silent.getsockname()[1]
        self.follow_in_vain(port, "it does not answer the TLS handshake: timed out")
        self.follow_in_vain(redis, "it answers: ERR unknown command")
        for answers, reason in (
            ((b"+PONG\r\n", old), "it answers: ERR weir speaks replication 3 to 4, you 2 to 2"),
            ((b"garbage\r\n" * 9,) * 2, "it answers: ERR unexpected reply"),
            ((b"+PONG\r\n", b"+OK\r\n"), "it does not answer RL.SYNC as weir does"),
            ((), "it has closed the connection"),
        ):
            with self.subTest(reason):
                peer = TlsPeer(self.server_files, *answers)
                self.addCleanup(peer.close)
                self.follow_in_vain(peer.port, reason)
                await_true(lambda one=peer: one.served > 2, "a third attempt")
                self.promote(self.own)
        peer = TlsPeer(self.server_files, b"+PONG\r\n", accepted + b"HTTP" * 100)
        self.addCleanup(peer.close)
        self.assertEqual(self.own.call("REPLICAOF", "127.0.0.1", peer.port), "OK")
        self.server.wait_for_log("no link to the primary .*: it sends ")

    def start_redis(self):
        """The port of a Redis that speaks TLS."""
        certificate, key = self.server_files
        port = free_port()
        words = ["redis-server", "--port", "0", "--tls-port", str(port), "--save", ""]
        words += ["--tls-cert-file", certificate, "--tls-key-file", key]
        words += ["--tls-ca-cert-file", self.authority.certificate]
        redis = subprocess.Popen(words, cwd=self.directory, stdout=subprocess.DEVNULL)
        self.addCleanup(redis.wait)
        self.addCleanup(redis.terminate)
        return port

    def test_tls_to_a_plain_port(self):
        primary = self.start_primary()
        self.start_own(*self.link_options())
        self.follow_in_vain(primary.port, "TLS: wrong version number")
        self.assertEqual(self.own.call("REPLICAOF", "127.0.0.1", primary.tls_port), "OK")
        self.await_link()


if __name__ == "__main__":
    unittest.main()
