"""/bin/ratelimit of the image: the environment of envoyproxy/ratelimit becomes options."""

import json
import os
import subprocess
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from weir_e2e import ServerTest, free_port

SCRIPT = Path(__file__).parents[2] / "contrib/container/ratelimit"

# Each variable of the reference's settings (envoyproxy/ratelimit, src/settings/settings.go), with a
# value that is not its default.
SETTINGS = dict(line.split(" ", 1) for line in """\
HOST 127.0.0.1
PORT 9080
DEBUG_HOST 127.0.0.1
DEBUG_PORT 6071
GRPC_UDS /tmp/ratelimit.sock
GRPC_HOST 0.0.0.1
GRPC_PORT 9081
GRPC_MAX_CONNECTION_AGE 1m30s
GRPC_MAX_CONNECTION_AGE_GRACE 2h
GRPC_SERVER_USE_TLS true
GRPC_SERVER_TLS_CERT cert.pem
GRPC_SERVER_TLS_KEY key.pem
GRPC_CLIENT_TLS_CACERT ca.pem
GRPC_CLIENT_TLS_SAN client
LOG_LEVEL debug
LOG_FORMAT json
CONFIG_TYPE GRPC_XDS_SOTW
FORCE_START_WITHOUT_INITIAL_CONFIG true
CONFIG_GRPC_XDS_NODE_ID node
CONFIG_GRPC_XDS_NODE_METADATA a=b
CONFIG_GRPC_XDS_SERVER_URL xds:1
CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL 4s
CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS a:b
CONFIG_GRPC_XDS_SERVER_USE_TLS true
CONFIG_GRPC_XDS_CLIENT_TLS_CERT cert.pem
CONFIG_GRPC_XDS_CLIENT_TLS_KEY key.pem
CONFIG_GRPC_XDS_SERVER_TLS_CACERT ca.pem
CONFIG_GRPC_XDS_SERVER_TLS_SAN xds
XDS_CLIENT_BACKOFF_INITIAL_INTERVAL 1s
XDS_CLIENT_BACKOFF_MAX_INTERVAL 2s
XDS_CLIENT_BACKOFF_RANDOM_FACTOR 0.1
XDS_CLIENT_BACKOFF_JITTER false
XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES 1000
USE_DOG_STATSD true
USE_DOG_STATSD_MOGRIFIERS a
USE_STATSD false
STATSD_HOST statsd
STATSD_PORT 1
EXTRA_TAGS a:b
STATS_FLUSH_INTERVAL 1s
DISABLE_STATS true
USE_PROMETHEUS true
PROMETHEUS_ADDR :9999
PROMETHEUS_PATH /stats
PROMETHEUS_MAPPER_YAML map.yaml
RUNTIME_ROOT /root
RUNTIME_SUBDIRECTORY sub
RUNTIME_APPDIRECTORY app
RUNTIME_IGNOREDOTFILES true
RUNTIME_WATCH_ROOT false
EXPIRATION_JITTER_MAX_SECONDS 1
LOCAL_CACHE_SIZE_IN_BYTES 1
NEAR_LIMIT_RATIO 0.7
CACHE_KEY_PREFIX a
BACKEND_TYPE memcache
STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT true
LIMIT_RESPONSE_HEADERS_ENABLED true
LIMIT_LIMIT_HEADER a
LIMIT_REMAINING_HEADER b
LIMIT_RESET_HEADER c
HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED true
REDIS_SOCKET_TYPE tcp
REDIS_TYPE CLUSTER
REDIS_URL redis:6379
REDIS_POOL_SIZE 1
REDIS_AUTH secret
REDIS_TLS true
REDIS_TLS_CLIENT_CERT a
REDIS_TLS_CLIENT_KEY a
REDIS_TLS_CACERT a
REDIS_TLS_SKIP_HOSTNAME_VERIFICATION true
REDIS_PIPELINE_WINDOW 1s
REDIS_PIPELINE_LIMIT 1
REDIS_USE_EXPLICIT_PIPELINE true
REDIS_SENTINEL_AUTH a
REDIS_TIMEOUT 1s
REDIS_POOL_ON_EMPTY_BEHAVIOR ERROR
REDIS_HEALTH_CHECK_ACTIVE_CONNECTION true
REDIS_PERSECOND true
REDIS_PERSECOND_SOCKET_TYPE tcp
REDIS_PERSECOND_TYPE CLUSTER
REDIS_PERSECOND_URL a
REDIS_PERSECOND_POOL_SIZE 1
REDIS_PERSECOND_AUTH a
REDIS_PERSECOND_TLS true
REDIS_PERSECOND_SENTINEL_AUTH a
REDIS_PERSECOND_PIPELINE_WINDOW 1s
REDIS_PERSECOND_PIPELINE_LIMIT 1
REDIS_PERSECOND_USE_EXPLICIT_PIPELINE true
REDIS_PERSECOND_TIMEOUT 1s
REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR ERROR
MEMCACHE_HOST_PORT a:1
MEMCACHE_MAX_IDLE_CONNS 1
MEMCACHE_SRV a
MEMCACHE_SRV_REFRESH 1s
MEMCACHE_TLS true
MEMCACHE_TLS_CLIENT_CERT a
MEMCACHE_TLS_CLIENT_KEY a
MEMCACHE_TLS_CACERT a
MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION true
SHADOW_MODE true
QUOTA_MODE true
RESPONSE_DYNAMIC_METADATA true
MERGE_DOMAIN_CONFIG true
TRACING_ENABLED true
TRACING_SERVICE_NAME a
TRACING_SERVICE_NAMESPACE a
TRACING_SERVICE_INSTANCE_ID a
TRACING_EXPORTER_PROTOCOL grpc
TRACING_SAMPLING_RATE 0.5""".splitlines())

# Those that matter only beside another.
BESIDE = {
    "GRPC_SERVER_TLS": {"GRPC_SERVER_USE_TLS": "true"},
    "GRPC_CLIENT_TLS_CACERT": {"GRPC_SERVER_USE_TLS": "true"},
    "CONFIG_GRPC_XDS_": {"CONFIG_TYPE": "GRPC_XDS_SOTW",
                         "CONFIG_GRPC_XDS_SERVER_USE_TLS": "true"},
    "CONFIG_GRPC_XDS_SERVER_USE_TLS": {"CONFIG_TYPE": "GRPC_XDS_SOTW"},
    "PROMETHEUS_ADDR": {"USE_PROMETHEUS": "true"},
    "HOST": {"GRPC_HOST": "127.0.0.1"},
    "GRPC_HOST": {"HOST": "0.0.0.1"},
}

# What Envoy Gateway 1.8 sets for its rate limit service.
ENVOY_GATEWAY = {
    "RUNTIME_ROOT": "/data", "RUNTIME_SUBDIRECTORY": "ratelimit", "RUNTIME_IGNOREDOTFILES": "true",
    "RUNTIME_WATCH_ROOT": "false", "LOG_LEVEL": "info", "USE_STATSD": "false",
    "CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL": "envoy-gateway:18001",
    "CONFIG_GRPC_XDS_NODE_ID": "envoy-ratelimit", "GRPC_SERVER_USE_TLS": "true",
    "GRPC_SERVER_TLS_CERT": "/certs/tls.crt", "GRPC_SERVER_TLS_KEY": "/certs/tls.key",
    "GRPC_SERVER_TLS_CA_CERT": "/certs/ca.crt", "CONFIG_GRPC_XDS_SERVER_USE_TLS": "true",
    "CONFIG_GRPC_XDS_CLIENT_TLS_CERT": "/certs/tls.crt",
    "CONFIG_GRPC_XDS_CLIENT_TLS_KEY": "/certs/tls.key",
    "CONFIG_GRPC_XDS_SERVER_TLS_CACERT": "/certs/ca.crt",
    "FORCE_START_WITHOUT_INITIAL_CONFIG": "true", "REDIS_SOCKET_TYPE": "tcp",
    "REDIS_URL": "redis:6379", "USE_PROMETHEUS": "true", "PROMETHEUS_ADDR": ":19001",
    "PROMETHEUS_MAPPER_YAML": "/etc/statsd-exporter/conf.yaml",
}


class EntryPointTest(ServerTest):
    def run_script(self, environment, *words, server="printf '%s\\n' \"$@\""):
        """Runs the script with a weir-server that prints its words; returns it when it ended."""
        stub = Path(self.write("weir-server", f"#!/bin/sh\n{server}\n"))
        stub.chmod(0o755)
        path = f"{stub.parent}:{os.environ['PATH']}"
        return subprocess.run([SCRIPT, *words], env={"PATH": path, **environment}, text=True,
                              capture_output=True, check=False)

    def options(self, environment, *words):
        ended = self.run_script(environment, *words)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.splitlines()

    def error(self, environment):
        ended = self.run_script(environment)
        self.assertEqual((ended.returncode, ended.stdout), (1, ""), environment)
        return ended.stderr

    DEFAULT = ["--http-port=8081,8080", "--http-bind=0.0.0.0",
               "--rls-config=/srv/runtime_data/current/config", "--protected-mode=false"]

    def test_without_a_variable_the_ports_and_the_folder_are_those_of_the_reference(self):
        ended = self.run_script({})
        self.assertEqual(ended.stdout.splitlines(), self.DEFAULT)
        self.assertIn("neither users nor certificates of clients are set", ended.stderr)

    def test_each_variable_of_the_reference_has_an_effect_or_is_named(self):
        for name, value in SETTINGS.items():
            begin = max((begin for begin in BESIDE if name.startswith(begin)), key=len, default="")
            beside = {other: word for other, word in BESIDE.get(begin, {}).items() if other != name}
            with self.subTest(name):
                shown = "echo \"$@\"; env | grep '^WEIR_'; true"
                without, with_it = (self.run_script(environment, server=shown)
                                    for environment in (beside, {**beside, name: value}))
                changed = without.stdout != with_it.stdout
                self.assertTrue(changed or name in with_it.stderr, with_it)

    def test_each_row_of_the_table(self):
        rows = [
            ({"PORT": "1", "GRPC_PORT": "2"}, ["--http-port=2,1"]),
            ({"HOST": "::1", "GRPC_HOST": "[::1]"}, ["--http-bind=::1"]),
            ({"HOST": "localhost", "GRPC_HOST": "127.0.0.1"}, ["--http-bind=127.0.0.1"]),
            ({"GRPC_UDS": "/run/it's"}, ["--http-unix-socket=/run/it's", "--http-port=8080"]),
            ({"RUNTIME_ROOT": "/a b", "RUNTIME_SUBDIRECTORY": "c", "RUNTIME_APPDIRECTORY": "d"},
             ["--rls-config=/a b/c/d"]),
            ({"GRPC_SERVER_USE_TLS": "T", "GRPC_SERVER_TLS_CERT": "c", "GRPC_SERVER_TLS_KEY": "k"},
             ["--http-tls-port=8081", "--http-port=8080", "--tls-cert=c", "--tls-key=k",
              "--tls-auth-clients=no", "--protected-mode=false"]),
            ({"GRPC_SERVER_USE_TLS": "1", "GRPC_CLIENT_TLS_CACERT": "ca"},
             ["--tls-ca=ca", "--tls-auth-clients=yes"]),
            ({"CONFIG_TYPE": "GRPC_XDS_SOTW"}, ["--rls-xds=localhost:18000"]),
            ({"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL": "dns:///h:1"},
             ["--rls-xds=h:1"]),
            ({"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL": "passthrough:///h:1"},
             ["--rls-xds=h:1"]),
            ({"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL": "h:1",
              "CONFIG_GRPC_XDS_NODE_ID": "n", "CONFIG_GRPC_XDS_NODE_METADATA": "a=b,c=d",
              "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": "a:b,c:d",
              "CONFIG_GRPC_XDS_SERVER_USE_TLS": "true", "CONFIG_GRPC_XDS_CLIENT_TLS_CERT": "c",
              "CONFIG_GRPC_XDS_CLIENT_TLS_KEY": "k", "CONFIG_GRPC_XDS_SERVER_TLS_CACERT": "ca",
              "CONFIG_GRPC_XDS_SERVER_TLS_SAN": "s"},
             ["--rls-xds=h:1", "--rls-xds-node=n", "--rls-xds-node-metadata=a=b,c=d",
              "--rls-xds-tls=true", "--rls-xds-ca=ca", "--rls-xds-cert=c", "--rls-xds-key=k",
              "--rls-xds-san=s"]),
            ({"SHADOW_MODE": "t", "QUOTA_MODE": "TRUE", "RESPONSE_DYNAMIC_METADATA": "True",
              "MERGE_DOMAIN_CONFIG": "true", "LIMIT_RESPONSE_HEADERS_ENABLED": "1"},
             ["--rls-shadow=true", "--rls-quota=true", "--rls-metadata=true",
              "--rls-merge-domains=true", "--rls-headers=reference"]),
            ({"USE_PROMETHEUS": "true"},
             ["--admin-bind=0.0.0.0", "--admin-port=9090", "--rls-metrics=reference"]),
            ({"USE_PROMETHEUS": "true", "PROMETHEUS_ADDR": "127.0.0.1:1"},
             ["--admin-bind=127.0.0.1", "--admin-port=1"]),
            ({"LOG_LEVEL": "WARN", "LOG_FORMAT": "json"},
             ["--log-level=warning", "--log-format=json"]),
            ({"LOG_LEVEL": "trace"}, ["--log-level=debug"]),
            ({"GRPC_MAX_CONNECTION_AGE": "24h"}, ["--http-max-connection-age=86400000ms"]),
            ({"GRPC_MAX_CONNECTION_AGE": "+1m1.5s2us"}, ["--http-max-connection-age=61501ms"]),
            ({"GRPC_MAX_CONNECTION_AGE": "9000h"}, ["--http-max-connection-age=2592000000ms"]),
        ]
        for environment, wanted in rows:
            with self.subTest(environment):
                self.assertLessEqual(set(wanted), set(self.options(environment)))
        for word in ("0", "f", "F", "FALSE", "false", "False"):
            self.assertEqual(self.options({"SHADOW_MODE": word, "USE_PROMETHEUS": word}),
                             self.DEFAULT)

    def test_what_the_reference_would_not_start_with_is_an_error(self):
        rows = [
            ({"SHADOW_MODE": "yes"}, "SHADOW_MODE='yes': must be true or false"),
            ({"SHADOW_MODE": ""}, "SHADOW_MODE=''"),
            ({"GRPC_PORT": "80x"}, "GRPC_PORT='80x': must be a port"),
            ({"PORT": "65536"}, "PORT='65536'"),
            ({"CONFIG_TYPE": "file"}, "CONFIG_TYPE='file'"),
            ({"LOG_LEVEL": "loud"}, "LOG_LEVEL='loud'"),
            ({"GRPC_MAX_CONNECTION_AGE": "24"}, "GRPC_MAX_CONNECTION_AGE='24': must be a duration"),
            ({"USE_PROMETHEUS": "true", "PROMETHEUS_ADDR": "9090"}, "PROMETHEUS_ADDR='9090'"),
            ({"GRPC_CLIENT_TLS_SAN": "a"}, "GRPC_CLIENT_TLS_SAN='a'"),
            ({"HOST": "10.0.0.1"}, "--http-bind"),
            ({"GRPC_UDS": "s", "GRPC_SERVER_USE_TLS": "true"}, "no TLS on Unix sockets"),
        ]
        for environment, wanted in rows:
            with self.subTest(environment):
                self.assertIn(wanted, self.error(environment))
        for duration in ("0", "-1s", "+0h"):
            self.assertEqual(self.options({"GRPC_MAX_CONNECTION_AGE": duration}), self.DEFAULT)

    def test_an_option_of_the_user_is_left_out_of_those_made(self):
        own = "--http-port=1 --rls-config a  --protected-mode=true"
        self.assertEqual(self.options({"WEIR_OPTIONS": own}),
                         ["--http-bind=0.0.0.0", "--http-port=1", "--rls-config", "a",
                          "--protected-mode=true"])
        self.assertEqual(self.options({}, "--http-bind=::", "--config", "a b"),
                         [*self.DEFAULT[:1], self.DEFAULT[2], "--http-bind=::", "--config", "a b"])

    # A command line is for every user of the host to read.
    def test_fields_of_the_call_become_a_variable_and_no_option(self):
        fields = "authorization:Bearer 'a $b"
        environment = {"CONFIG_TYPE": "GRPC_XDS_SOTW",
                       "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": fields}
        ended = self.run_script(environment, server="env; echo \"$@\"")
        self.assertIn(f"WEIR_RLS_XDS_HEADERS={fields}\n", ended.stdout)
        self.assertEqual(ended.stdout.count("Bearer"), 1, ended.stdout)
        ended = self.run_script(environment, "--rls-xds-headers-file=f", server="env")
        self.assertNotIn("Bearer", ended.stdout)

    def test_protected_mode_stays_where_clients_are_known(self):
        for environment in ({"WEIR_REQUIREPASS": "secret"}, {"WEIR_OPTIONS": "--users-file=u"},
                            {"WEIR_OPTIONS": "--requirepass-file u"},
                            {"GRPC_SERVER_USE_TLS": "true", "GRPC_CLIENT_TLS_CACERT": "ca"}):
            self.assertNotIn("--protected-mode=false", self.options(environment), environment)

    def test_the_status_is_that_of_the_server(self):
        self.assertEqual(self.run_script({}, server="exit 7").returncode, 7)

    def test_what_envoy_gateway_sets_becomes_options(self):
        ended = self.run_script(ENVOY_GATEWAY)
        self.assertEqual(ended.stdout.splitlines(), [
            "--http-tls-port=8081", "--http-port=8080", "--http-bind=0.0.0.0",
            "--tls-cert=/certs/tls.crt", "--tls-key=/certs/tls.key", "--tls-auth-clients=no",
            "--admin-bind=0.0.0.0", "--admin-port=19001", "--rls-metrics=reference",
            "--rls-xds=envoy-gateway:18001", "--rls-xds-node=envoy-ratelimit",
            "--rls-xds-tls=true", "--rls-xds-ca=/certs/ca.crt", "--rls-xds-cert=/certs/tls.crt",
            "--rls-xds-key=/certs/tls.key", "--log-level=info", "--protected-mode=false"])
        for name in ("GRPC_SERVER_TLS_CA_CERT", "PROMETHEUS_MAPPER_YAML", "REDIS_URL",
                     "FORCE_START_WITHOUT_INITIAL_CONFIG"):
            self.assertIn(f" {name}", ended.stderr)

    # Method: the rules of a file in the place of the control plane, which another test has; ports
    # that are free; without the certificates of the cluster.
    def test_the_server_serves_with_the_environment_of_envoy_gateway(self):
        os.makedirs(os.path.join(self.directory, "ratelimit/config"))
        self.write("ratelimit/config/rules.yaml", "domain: shop\ndescriptors:\n"
                   "- {key: user, rate_limit: {unit: year, requests_per_unit: 2}}\n")
        grpc, port, admin = free_port(), free_port(), free_port()
        server = self.start(environment={
            **ENVOY_GATEWAY, "CONFIG_TYPE": "FILE", "RUNTIME_ROOT": self.directory,
            "GRPC_SERVER_USE_TLS": "false", "HOST": "127.0.0.1", "GRPC_HOST": "127.0.0.1",
            "PORT": str(port), "GRPC_PORT": str(grpc), "PROMETHEUS_ADDR": f"127.0.0.1:{admin}",
            "PATH": f"{self.path_with_server()}:{os.environ['PATH']}",
        }, program=SCRIPT)
        server.wait_for_log(f"listening on 127.0.0.1:{admin} ")
        call = {"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": "7"}]}]}
        codes = [self.ask(each, call) for each in (grpc, port, grpc)]
        self.assertEqual(codes, [200, 200, 429])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthcheck") as answer:
            self.assertEqual(answer.status, 200)
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics") as page:
            self.assertIn(b'rate_limit_total_hits{domain="shop",key1="user"} 3', page.read())

    def path_with_server(self):
        folder = os.path.join(self.directory, "bin")
        os.mkdir(folder)
        server = Path(self.write("bin/weir-server", '#!/bin/sh\nexec "$WEIR_SERVER" "$@"\n'))
        server.chmod(0o755)
        return folder

    def ask(self, port, call):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/json", json.dumps(call).encode())
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code


if __name__ == "__main__":
    unittest.main()
