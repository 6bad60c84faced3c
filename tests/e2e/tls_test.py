"""TLS end to end: redis-cli --tls, mutual authentication, certificates that change."""

import os
import re
import signal
import socket
import ssl
import unittest

from tls_servers import Authority, TlsServerTest
from weir_e2e import Client, encode, free_port

MAPPING_BYTES_MAX = 2**30  # the most of a server's memory that is searched
REFUSED = 1  # the exit status of redis-cli that cannot talk to its server


class TlsTest(TlsServerTest):
    def test_redis_cli_with_mutual_authentication(self):
        server = self.start_tls()
        self.assertEqual(self.ping(server, *self.client_files), "PONG\n")
        # Beside it the plain port serves on.
        self.assertEqual(self.redis_cli(server, "PING"), "PONG\n")

    def test_clients_without_the_right_certificate_are_refused(self):
        expired = self.authority.issue("late", days=-1)
        stranger = Authority(self.directory, "stranger").issue("client")
        for files, reason in (
            ((), "peer did not return a certificate"),
            (expired, "certificate verify failed: certificate has expired"),
            (stranger, "certificate verify failed: unable to get local issuer certificate"),
        ):
            with self.subTest(reason):
                server = self.start_tls()
                self.ping(server, *files, status=REFUSED)
                server.wait_for_log(f"TLS error: {reason}")
                self.assertEqual(self.ping(server, *self.client_files), "PONG\n")

    def test_clients_may_need_no_certificate(self):
        for word in ("no", "optional"):
            with self.subTest(word):
                server = self.start_tls(f"--tls-auth-clients={word}")
                self.assertEqual(self.ping(server), "PONG\n")
                self.assertEqual(self.ping(server, *self.client_files), "PONG\n")

    def test_tls_only_leaves_no_other_door(self):
        port = free_port()
        server = self.start(*self.tls_options(port), "--tls-only")
        self.assertEqual(server.port, port)
        self.assertEqual(server.log().count("listening on"), 1)
        server.tls_port = port
        self.assertEqual(self.ping(server, *self.client_files), "PONG\n")

    # A ping of weir-server has no certificate: a server that asks for one has answered, too.
    def test_a_ping_speaks_tls_where_the_options_do(self):
        for authentication in ("--tls-auth-clients=yes", "--tls-auth-clients=no"):
            port = free_port()
            options = (*self.tls_options(port), "--tls-only", authentication)
            server = self.start(*options)
            no_answer = f"weir-server: no answer from 127.0.0.1:{port}: "
            self.assertEqual(self.ping_server(*options), "")
            self.assertEqual(self.ping_server(f"127.0.0.1:{port}", options[0]), "")
            plain = self.ping_server(f"127.0.0.1:{port}", status=1)
            self.assertTrue(plain.startswith(no_answer), plain)
            self.assertEqual(server.stop(), 0)
            self.assertEqual(
                self.ping_server(*options, status=1), f"{no_answer}Connection refused\n")
        plain = f"127.0.0.1:{self.start().port}"
        reason = self.ping_server(plain, f"--tls-port={plain[10:]}", status=1)
        self.assertTrue(reason.startswith(f"weir-server: no answer from {plain}: "), reason)

    def test_a_plain_client_on_the_tls_port_is_closed(self):
        server = self.start_tls()
        with Client(server.tls_port) as plain:
            plain.send(encode("PING"))
            self.assertNotIn(b"PONG", plain.rest())
        with Client(server.tls_port) as browser:
            browser.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertNotIn(b"HTTP", browser.rest())
        server.wait_for_log("TLS error: ")
        self.assertEqual(self.ping(server, *self.client_files), "PONG\n")

    def test_many_requests_at_once(self):
        client = self.connect_tls(self.start_tls())
        count = 5_000
        client.send(b"".join(encode("ECHO", i) for i in range(count)))
        for i in range(count):
            self.assertEqual(client.reply(), b"%d" % i)

    def test_clients_are_listed_by_their_address(self):
        server = self.start_tls()
        client = self.connect_tls(server)
        listed = client.call("CLIENT", "LIST").decode()
        self.assertIn(f"laddr=127.0.0.1:{server.tls_port} ", listed)

    def test_sigterm_answers_received_requests(self):
        server = self.start_tls("--threads", "1")
        client, other = self.connect_tls(server), self.connect_tls(server)
        count = 1000
        client.send(encode("ECHO", "x") * count)
        other.call("PING")  # so that all of it has been received
        self.assertEqual(server.stop(), 0)
        self.assertEqual(client.rest(), b"$1\r\nx\r\n" * count)
        self.assertEqual(other.rest(), b"")


class ReloadTest(TlsServerTest):
    def test_sighup_shows_the_new_certificate(self):
        server = self.start_tls()
        connected = self.connect_tls(server)
        before = self.shown_serial(server)
        self.authority.issue("server", prefix="server")
        self.assertEqual(self.shown_serial(server), before)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("received SIGHUP: read the TLS files again")
        self.assertNotEqual(self.shown_serial(server), before)
        self.assertEqual(connected.call("PING"), "PONG")

    # A reload is all or nothing: the new key without its certificate changes nothing.
    def test_a_bad_reload_changes_nothing(self):
        server = self.start_tls()
        before = self.shown_serial(server)
        certificate, key = self.authority.issue("other")
        os.replace(key, self.server_files[1])
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("the TLS certificate is unchanged: .*it is not the key of the cert")
        self.assertEqual(self.shown_serial(server), before)
        os.replace(certificate, self.server_files[0])
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("received SIGHUP: read the TLS files again")
        self.assertNotEqual(self.shown_serial(server), before)

    # The next connection has to show its certificate again: nothing of the old one is resumed.
    def test_an_authority_can_be_replaced(self):
        server = self.start_tls("--tls-auth-clients", "yes")
        context = self.context(self.client_files)
        with self.connect_tls(server, context) as client:
            self.assertEqual(client.call("PING"), "PONG")
            session = client.socket.session
        other = Authority(self.directory, "other")
        os.replace(other.certificate, self.authority.certificate)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("received SIGHUP: read the TLS files again")
        client = Client(server.tls_port)
        self.addCleanup(client.close)
        with self.assertRaises((ssl.SSLError, OSError, EOFError)):
            client.socket = context.wrap_socket(
                client.socket, server_hostname="127.0.0.1", session=session
            )
            client.call("PING")


class StartTest(TlsServerTest):
    def test_missing_or_wrong_files_are_named(self):
        port = free_port()
        options = self.tls_options(port)
        for given, said in (
            (("--tls-only",), "option 'tls-only': needs a tls-port"),
            (options[:1], "option 'tls-cert': TLS needs a certificate"),
            (options[:2], "option 'tls-key': TLS needs the certificate's key"),
            (options[:3], "option 'tls-auth-clients': yes needs the authority"),
            ((*options, "--tls-ca=none"), "'tls-ca': cannot use 'none': No such file"),
            ((*options, "--tls-key=none"), "'tls-key': cannot use 'none': No such file"),
        ):
            with self.subTest(said):
                self.assertIn(said, self.refused(*given))

    def test_an_expired_certificate_is_warned_of(self):
        self.server_files = self.authority.issue("old", days=-1)
        self.start_tls().wait_for_log("the TLS certificate .* has expired")


class DumpTest(TlsServerTest):
    # Goal: no core dump has the server's private key. Method: look for its number, in either order
    # of bytes, and for its text, in all memory that a dump would have (smaps tells: "dd").
    def test_the_key_lies_where_no_dump_is_made_of(self):
        server = self.start_tls()
        for _ in range(3):
            self.assertEqual(self.ping(server, *self.client_files), "PONG\n")
        with open(self.server_files[1], encoding="ascii") as file:
            text = file.read()
        key = self.server_files[1]
        shown, _ = self.run_client("openssl", "pkey", "-in", key, "-noout", "-text")
        digits = re.search(r"priv:\s+([0-9a-f:\s]+)pub:", shown).group(1)
        number = bytes.fromhex(re.sub(r"[:\s]", "", digits))[-32:]
        secrets = (number[:16], number[::-1][:16], text.splitlines()[1][:48].encode())
        found = {False: 0, True: 0}
        for is_dumped, memory in self.memory_of(server):
            found[is_dumped] += sum(memory.count(secret) for secret in secrets)
        self.assertEqual(found[True], 0)
        self.assertGreater(found[False], 0, "the method finds nothing")

    @staticmethod
    def memory_of(server):
        """(whether a core dump has it, its bytes) of each mapping that can be read.

        But for those of terabytes, in which a sanitizer keeps its books.
        """
        with open(f"/proc/{server.pid}/smaps", encoding="ascii") as smaps:
            described = smaps.read()
        mappings = re.findall(
            r"^([0-9a-f]+)-([0-9a-f]+) rw.*\n(?:.*\n)*?VmFlags: (.*)$", described, re.MULTILINE
        )
        with open(f"/proc/{server.pid}/mem", "rb", buffering=0) as memory:
            for first, last, flags in mappings:
                begin, size = int(first, 16), int(last, 16) - int(first, 16)
                if size > MAPPING_BYTES_MAX:
                    continue
                memory.seek(begin)
                yield "dd" not in flags.split(), memory.read(size)


if __name__ == "__main__":
    unittest.main()
