"""An edge that reaches its primary by TLS, under the options of a replica's link."""

import unittest

from edge_servers import EdgeTest
from tls_servers import Authority, TlsServerTest
from weir_e2e import NEVER, encode, free_port


class EdgeTlsTest(EdgeTest, TlsServerTest):
    def start_tls_edge(self, port, *options):
        return self.start("--edge-of", f"127.0.0.1:{port}", "--replication-tls", *options)

    def test_an_edge_speaks_tls_to_its_primary(self):
        port = free_port()
        primary = self.start(*self.tls_options(port))
        edge = self.start_tls_edge(port, *self.link_options())
        self.await_connected(edge)
        client = self.connect(edge)
        count = 2000
        client.send(b"".join(encode("RL.ALLOW", f"k{i}", f"5/{NEVER}") for i in range(count)))
        self.assertEqual([client.reply()[:2] for _ in range(count)], [[1, 4]] * count)
        self.assertEqual(self.connect(primary).call("DBSIZE"), count)

    def test_a_certificate_of_another_authority_is_refused(self):
        port = free_port()
        self.start(*self.tls_options(port))
        other = Authority(self.directory, "other")
        edge = self.start_tls_edge(port, "--tls-ca", other.certificate)
        edge.wait_for_log("no primary: .*: TLS: ")
        self.assertRegex(self.connect(edge).call("RL.ALLOW", "k", "1/s"), "^NOPRIMARY ")

    def test_a_port_without_tls_is_refused(self):
        primary = self.start_primary()
        edge = self.start_tls_edge(primary.port, *self.link_options())
        edge.wait_for_log("no primary: ")
        self.assertRegex(self.connect(edge).call("RL.ALLOW", "k", "1/s"), "^NOPRIMARY ")

    def link_options(self):
        certificate, key = self.server_files
        return ("--tls-ca", self.authority.certificate, "--tls-cert", certificate,
                "--tls-key", key)


if __name__ == "__main__":
    unittest.main()
