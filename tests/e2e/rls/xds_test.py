"""Rules from a control plane: first ones, changes, mistakes, restarts of either side, TLS."""

import os
import signal
import socket
import ssl
import unittest

from rls_case import RlsServerTest
from tls_servers import Authority, TlsServerTest
from weir_e2e import free_port
from xds_server import RULE_TYPE, ControlPlane, response, rules

TWO = rules("shop", "test-domain", "k 2/YEAR")
FIVE = rules("shop", "test-domain", "k 5/YEAR")
BAD = rules("bad", "test-domain", "k 5/NONE")
HEALTH = "/grpc.health.v1.Health/Check"
SERVING = b"\0\0\0\0\2\x08\1"
NOT_SERVING = b"\0\0\0\0\2\x08\2"
ABOUT_RLS = b"\0\0\0\0\x0b\x0a\x09ratelimit"


class XdsServerTest(RlsServerTest):
    def plane(self, first=None, port=0, tls=None, **more):
        plane = ControlPlane(first, port, tls, **more)
        self.addCleanup(plane.close)
        return plane

    def start_following(self, port, *options, is_killed=False):
        self.http_port = free_port()
        start = self.launch if is_killed else self.start
        server = start("--port=0", f"--rls-xds=127.0.0.1:{port}", f"--http-port={self.http_port}",
                       *options)
        server.wait_for_log(r"listening on .* for HTTP")
        return server

    def field(self, redis, name):
        lines = redis.call("INFO").decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line).get(name)


class XdsTest(XdsServerTest):
    def test_the_first_rules_are_accepted_and_decide(self):
        plane = self.plane(response("1", TWO))
        server = self.start_following(
            plane.port, "--rls-xds-node=edge-7", "--rls-xds-node-metadata=zone=a,tier=free",
            "--rls-xds-headers=X-Token:secret")
        first, ack = plane.request(), plane.request()
        self.assertEqual((first.version, first.nonce, first.error), ("", "", None))
        self.assertEqual(first.type_url, RULE_TYPE)
        self.assertEqual(first.node[1], [b"edge-7"])
        self.assertEqual(first.node[6], [b"weir"])
        self.assertEqual((ack.version, ack.nonce, ack.error), ("1", "n1", None))
        self.assertEqual(plane.headers["x-token"], "secret")
        self.assertEqual(plane.headers[":path"], "/envoy.service.discovery.v3."
                         "AggregatedDiscoveryService/StreamAggregatedResources")
        client, redis = self.client(), self.connect(server)
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r1 | OK")
        self.assertEqual(client.call(HEALTH, ABOUT_RLS), (SERVING, "0"))
        self.assertEqual(self.field(redis, "rls_config_source"), "xds")
        self.assertEqual(self.field(redis, "rls_xds_connected"), "1")
        self.assertEqual(self.field(redis, "rls_xds_version"), "1")
        self.assertEqual(self.field(redis, "rls_xds_error"), "")
        self.assertEqual(redis.call("CONFIG", "GET", "rls-xds-headers"), [b"rls-xds-headers", b""])

    def test_without_rules_calls_are_errors_and_health_is_not_serving(self):
        plane = self.plane()
        self.start_following(plane.port)
        plane.request()
        client = self.client()
        answer = client.ask("k=a", "test-domain")
        self.assertEqual(str(answer), "!14")
        self.assertIn("no rules yet", answer.text)
        self.assertEqual(client.call(HEALTH, ABOUT_RLS), (NOT_SERVING, "0"))
        plane.send(response("1"))
        self.assertEqual(plane.request().version, "1")
        self.assertEqual(str(client.ask("k=a", "test-domain")), "- | OK")  # no domain is known
        self.assertEqual(client.call(HEALTH, ABOUT_RLS), (SERVING, "0"))

    def test_rules_that_change_keep_their_counts(self):
        plane = self.plane(response("1", TWO))
        self.start_following(plane.port)
        plane.request(), plane.request()
        client = self.client()
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r1 | OK")
        plane.send(response("2", FIVE))
        self.assertEqual(plane.request().version, "2")
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r3 | OK")

    def test_a_mistake_refuses_the_whole_and_the_rules_stay(self):
        plane = self.plane(response("1", TWO))
        server = self.start_following(plane.port)
        plane.request(), plane.request()
        client, redis = self.client(), self.connect(server)
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r1 | OK")
        plane.send(response("2", FIVE, BAD))
        nack = plane.request()
        self.assertEqual((nack.version, nack.nonce), ("1", "n2"))
        self.assertTrue(nack.error.startswith("bad: k: unknown unit '99' ("), nack.error)
        plane.send(response("3", FIVE, rules("other", "test-domain")))
        self.assertIn("other: domain 'test-domain' stands in shop, too", plane.request().error)
        plane.send(response("4", FIVE, type_url=b"x"))
        self.assertIn("unknown type 'x'", plane.request().error)
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r0 | OK")
        self.assertIn("unknown type 'x'", self.field(redis, "rls_xds_error"))
        self.await_equal(lambda: self.field(redis, "health_reasons"), "rules_old")
        self.assertEqual(self.field(redis, "rls_xds_version"), "1")
        plane.send(response("5", FIVE))
        ack = plane.request()
        self.assertEqual((ack.version, ack.nonce, ack.error), ("5", "n5", None))
        self.assertEqual(self.field(redis, "rls_xds_error"), "")
        self.await_equal(lambda: self.field(redis, "health_reasons"), "")
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r2 | OK")

    def test_a_control_plane_that_repeats_what_was_refused_is_held_back(self):
        plane = self.plane(response("1", BAD))
        server = self.start_following(plane.port)
        plane.request()
        self.assertIsNotNone(plane.request().error)
        for _ in range(2):
            plane.send(response("1", BAD))
            self.assertIsNotNone(plane.request().error)
        self.assertEqual(server.log().count("is refused, and the rules are unchanged"), 1)

    def test_a_control_plane_that_starts_again_is_followed(self):
        plane = self.plane(response("7", TWO))
        server = self.start_following(plane.port)
        plane.request(), plane.request()
        client, redis = self.client(), self.connect(server)
        plane.close()
        self.await_equal(lambda: self.field(redis, "rls_xds_connected"), "0")
        self.assertNotEqual(self.field(redis, "rls_xds_error"), "")
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r1 | OK")
        # Its versions begin again.
        again = self.plane(response("1", FIVE), port=plane.port)
        first, ack = again.request(), again.request()
        self.assertEqual((first.version, first.nonce), ("", ""))
        self.assertEqual((ack.version, ack.nonce), ("1", "n1"))
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r3 | OK")
        self.assertEqual(self.field(redis, "rls_xds_error"), "")

    def test_the_fields_of_the_next_call_are_read_again_at_sighup(self):
        plane = self.plane(response("1", TWO))
        path = self.write("fields", "X-Token:one\n")
        server = self.start_following(plane.port, f"--rls-xds-headers-file={path}")
        plane.request(), plane.request()
        self.assertEqual(plane.headers["x-token"], "one")
        self.write("fields", "te:gzip\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("SIGHUP: rls-xds-headers is unchanged: must be name:value")
        self.write("fields", "X-Token:two\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("SIGHUP: read rls-xds-headers-file again")
        plane.close()
        again = self.plane(response("1", FIVE), port=plane.port)
        again.request()
        self.assertEqual(again.headers["x-token"], "two")

    def test_the_last_rules_are_in_force_without_a_control_plane(self):
        data = os.path.join(self.directory, "data")
        plane = self.plane(response("1", TWO))
        server = self.start_following(plane.port, f"--data-dir={data}", is_killed=True)
        plane.request(), plane.request()
        kept = os.path.join(data, "rls-xds.last")
        self.await_equal(lambda: os.path.exists(kept), True)
        server.kill()
        plane.close()
        server = self.start_following(plane.port, f"--data-dir={data}")
        client, redis = self.client(), self.connect(server)
        self.await_equal(lambda: str(client.ask("k=b", "test-domain")), "r1 | OK")
        self.assertEqual(self.field(redis, "rls_config_source"), "xds-saved")
        self.assertEqual(self.field(redis, "rls_xds_version"), "1")
        self.assertEqual(client.call(HEALTH, ABOUT_RLS), (SERVING, "0"))
        again = self.plane(response("2", FIVE), port=plane.port)
        again.request(), again.request()
        self.await_equal(lambda: self.field(redis, "rls_config_source"), "xds")
        self.assertEqual(str(client.ask("k=b", "test-domain")), "r3 | OK")

    def test_a_damaged_file_is_a_warning(self):
        data = os.path.join(self.directory, "data")
        plane = self.plane(response("1", TWO))
        server = self.start_following(plane.port, f"--data-dir={data}")
        plane.request(), plane.request()
        kept = os.path.join(data, "rls-xds.last")
        self.await_equal(lambda: os.path.exists(kept), True)
        server.stop()
        plane.close()
        with open(kept, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"?")
        server = self.start_following(plane.port, f"--data-dir={data}")
        server.wait_for_log("no rules until the control plane sends them: .*is damaged")
        server.wait_for_log("loaded .* buckets")
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "!14")

    def test_garbage_and_what_is_too_long_end_the_connection(self):
        plane = self.plane(response("1", TWO))
        server = self.start_following(plane.port)
        plane.request(), plane.request()
        client = self.client()
        plane.send(b"\xff\xff")
        server.wait_for_log("no connection to the control plane .*: not a DiscoveryResponse")
        plane.request(), plane.request()  # of the next connection
        plane.send_body(b"\0" + (17 * 1024 * 1024).to_bytes(4, "big") + bytes(100_000))
        server.wait_for_log("no connection to the control plane .*: a response has more than 16")
        plane.request(), plane.request()
        plane.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        server.wait_for_log("no connection to the control plane .*HTTP/2")
        plane.request(), plane.request()
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r1 | OK")

    def test_an_answer_that_is_no_grpc_is_named(self):
        plane = self.plane(b"<html>", content_type="text/html; charset=utf-8")
        server = self.start_following(plane.port)
        server.wait_for_log("no connection to the control plane .*: it answers with text/html; "
                            "charset=utf-8, not with gRPC")

    def test_a_response_of_many_rules_comes_whole(self):
        many = [f"k={i} 3/YEAR" for i in range(9000)]
        plane = self.plane(response("1", rules("shop", "test-domain", *many)))
        self.start_following(plane.port)
        plane.request(), plane.request()
        self.assertEqual(str(self.client().ask("k=8999", "test-domain")), "r2 | OK")

    def test_a_server_that_says_nothing_is_left(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        server = self.start_following(silent.getsockname()[1])
        server.wait_for_log("no connection to the control plane .*: timed out")

    def test_an_address_that_is_dead_hides_no_other(self):
        silent = socket.create_server(("127.0.0.1", 0))  # the system names it first
        self.addCleanup(silent.close)
        plane = self.plane(response("1", TWO), silent.getsockname()[1], host="127.0.0.2")
        hosts = self.write("hosts", "127.0.0.1 plane\n127.0.0.2 plane\n")
        with_hosts = ("unshare", "--map-root-user", "--mount", "sh", "-c",
                      f'mount --bind {hosts} /etc/hosts && exec "$0" "$@"')
        self.start("--port=0", f"--http-port={free_port()}", f"--rls-xds=plane:{plane.port}",
                   starter=with_hosts)
        self.assertEqual((plane.request().version, plane.request().version), ("", "1"))

    def test_saved_rules_that_cannot_take_effect_are_a_warning(self):
        data = os.path.join(self.directory, "data")
        plane = self.plane(response("1", TWO))
        server = self.start_following(plane.port, f"--data-dir={data}")
        plane.request(), plane.request()
        self.await_equal(lambda: os.path.exists(os.path.join(data, "rls-xds.last")), True)
        server.stop()
        plane.close()
        other = self.start("--port=0", f"--data-dir={data}")
        other.wait_for_log(r"loaded \d+ buckets")
        redis = self.connect(other)
        self.assertEqual(redis.call("RL.POLICY", "DEL", "rls:test-domain.k"), "OK")
        self.assertEqual(redis.call("RL.POLICY", "SET", "rls:test-domain.k", "5/m"), "OK")
        other.stop()
        server = self.start_following(plane.port, f"--data-dir={data}")
        server.wait_for_log("the last rules of the control plane are not in force: .*RL.POLICY DEL")
        redis = self.connect(server)
        health = lambda: self.client().call(HEALTH, ABOUT_RLS)
        self.assertEqual(health(), (NOT_SERVING, "0"))
        self.assertEqual(redis.call("RL.POLICY", "DEL", "rls:test-domain.k"), "OK")
        self.await_equal(health, (SERVING, "0"))
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "r1 | OK")

    def test_a_replica_follows_a_control_plane_too(self):
        plane = self.plane(response("1", TWO))
        server = self.start_following(plane.port)
        plane.request(), plane.request()
        client, redis = self.client(), self.connect(server)
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r1 | OK")
        redis.call("REPLICAOF", "127.0.0.1", str(free_port()))
        self.await_equal(lambda: self.client().call(HEALTH, ABOUT_RLS), (NOT_SERVING, "0"))
        plane.send(response("2", FIVE))
        self.assertEqual(plane.request().version, "2")
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "!14")
        redis.call("REPLICAOF", "NO", "ONE")
        self.await_equal(lambda: self.client().call(HEALTH, ABOUT_RLS), (SERVING, "0"))
        self.assertEqual(str(self.client().ask("k=b", "test-domain")), "r4 | OK")

    def test_mistakes_in_the_options_end_the_start(self):
        path = self.write("rules.yaml", "domain: a\n")
        http = f"--http-port={free_port()}"
        self.assertIn("needs an http-port", self.refused("--rls-xds=a:1"))
        self.assertIn("does not go with rls-config",
                      self.refused("--rls-xds=a:1", f"--rls-config={path}", http))
        self.assertIn("more than one server", self.refused("--rls-xds=a:1,b:1", http))
        self.assertIn("must be key=value",
                      self.refused("--rls-xds=a:1", "--rls-xds-node-metadata=a", http))
        self.assertIn("must be name:value",
                      self.refused("--rls-xds=a:1", "--rls-xds-headers=te:gzip", http))
        self.assertIn("option 'rls-xds-ca': cannot use",
                      self.refused("--rls-xds=a:1", "--rls-xds-tls", "--rls-xds-ca=missing", http))


class XdsTlsTest(XdsServerTest, TlsServerTest):
    def context(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.server_files)
        context.set_alpn_protocols(["h2"])
        return context

    def test_a_control_plane_is_reached_by_tls(self):
        context = self.context()
        context.load_verify_locations(self.authority.certificate)
        context.verify_mode = ssl.CERT_REQUIRED
        plane = self.plane(response("1", TWO), tls=context)
        certificate, key = self.authority.issue("weir")
        self.start_following(plane.port, "--rls-xds-tls",
                             f"--rls-xds-ca={self.authority.certificate}",
                             f"--rls-xds-cert={certificate}", f"--rls-xds-key={key}")
        plane.request(), plane.request()
        self.assertEqual(plane.headers[":scheme"], "https")
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "r1 | OK")

    def test_a_certificate_of_another_authority_or_name_is_refused(self):
        plane = self.plane(response("1", TWO), tls=self.context())
        other = Authority(self.directory, "other")
        for wrong in ((f"--rls-xds-ca={other.certificate}",),
                      (f"--rls-xds-ca={self.authority.certificate}", "--rls-xds-san=else.example")):
            server = self.start_following(plane.port, "--rls-xds-tls", *wrong)
            server.wait_for_log("no connection to the control plane .*: TLS: .*certificate")
        self.assertTrue(plane.requests.empty())


if __name__ == "__main__":
    unittest.main()
