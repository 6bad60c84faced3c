"""Certificates of an authority of the test's own, and servers that speak TLS with them."""

import datetime
import os
import ssl
import subprocess

from weir_e2e import DEADLINE, Client, ServerTest, free_port


class Authority:
    """A certificate authority, which uses the program openssl."""

    def __init__(self, directory, name):
        self._directory = directory
        self.name = name
        self.certificate = self._path(f"{name}.pem")
        self._key = self._path(f"{name}.key")
        named = ("-subj", f"/CN={name}", "-days", "1", "-addext", "keyUsage=critical,keyCertSign")
        self._openssl("req", "-x509", *self._new_key(self._key), *named, "-out", self.certificate)

    def issue(self, name, days=1, prefix=None):
        """The paths of a certificate for 127.0.0.1 and of its key."""
        stem = prefix or f"{self.name}-{name}"
        certificate, key, asked = (self._path(f"{stem}.{end}") for end in ("pem", "key", "csr"))
        named = ("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1")
        self._openssl("req", "-new", *self._new_key(key), *named, "-out", asked)
        signed = ("-CA", self.certificate, "-CAkey", self._key, "-copy_extensions", "copy")
        self._openssl("x509", "-req", "-in", asked, *signed, *self._until(days), "-out",
                      certificate)
        return certificate, key

    def _until(self, days):
        # From version 3.4 on openssl takes no negative days, but an end.
        if days >= 0 or b"-not_after" not in self._openssl("x509", "-help"):
            return "-days", str(days)
        now = datetime.datetime.now(datetime.timezone.utc)
        ends = (now + datetime.timedelta(days=n) for n in (days - 1, days))
        begin, end = (time.strftime("%Y%m%d%H%M%SZ") for time in ends)
        return "-not_before", begin, "-not_after", end

    def _path(self, name):
        return os.path.join(self._directory, name)

    @staticmethod
    def _new_key(path):
        return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path

    @staticmethod
    def _openssl(*words):
        done = subprocess.run(("openssl", *words), check=True, capture_output=True,
                              timeout=DEADLINE)
        return done.stdout + done.stderr


class TlsServerTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.directory, "ca")
        self.server_files = self.authority.issue("server", prefix="server")
        self.client_files = self.authority.issue("client")

    def start_tls(self, *options):
        """A server that speaks TLS, on server.tls_port."""
        port = free_port()
        server = self.start(*self.tls_options(port), *options)
        server.wait_for_log(rf"listening on 127\.0\.0\.1:{port} for TLS")
        server.tls_port = port
        return server

    def tls_options(self, port):
        certificate, key = self.server_files
        authority = self.authority.certificate
        files = (f"--tls-cert={certificate}", f"--tls-key={key}", f"--tls-ca={authority}")
        return (f"--tls-port={port}", *files)

    def context(self, files=None, authority=None):
        context = ssl.create_default_context(cafile=(authority or self.authority).certificate)
        if files:
            context.load_cert_chain(*files)
        return context

    def connect_tls(self, server, context=None):
        client = Client(server.tls_port)
        self.addCleanup(client.close)
        context = context or self.context(self.client_files)
        client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
        return client

    def ping(self, server, *files, status=0):
        """The output of redis-cli --tls, with this certificate and key, or without."""
        words = ["redis-cli", "-p", str(server.tls_port), "--tls"]
        words += ["--cacert", self.authority.certificate]
        if files:
            words += ["--cert", files[0], "--key", files[1]]
        stdout, stderr = self.run_client(*words, "PING", status=status)
        return stdout + stderr

    def shown_serial(self, server):
        """The serial number of the certificate that a new client sees."""
        client = self.connect_tls(server)
        with client:
            self.assertEqual(client.call("PING"), "PONG")
            return client.socket.getpeercert()["serialNumber"]
