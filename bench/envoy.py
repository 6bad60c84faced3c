"""The CPU that calls of Envoy's rate limit service cost: weir, and the reference with its Redis.

    envoy.py [--calls N] [--server PATH] [--reference]    or: ./dev bench envoy [OPTION ...]

Each call has two descriptors, which rules limit. h2load makes the calls on 50 connections, one at a
time on each, and on 4 connections, 50 at a time. CPU seconds are those of all processes of the
service for a million calls; figures are medians of RUNS. `--reference` builds envoyproxy/ratelimit
by Go's module proxy, below build/, and measures it in turn with weir.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import subject

ROOT = Path(__file__).parents[1]
RUNS = 5
LOADS = ((50, 1), (4, 50))  # connections, and streams of each
METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
REFERENCE = "github.com/envoyproxy/ratelimit"
VERSION = "v1.4.1-0.20260122083618-3fb702589d36"  # the newest that the proxy has
RULES = """domain: shop
descriptors:
- key: user
  rate_limit: {unit: hour, requests_per_unit: 1000000000}
  descriptors:
  - {key: path, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
"""


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def entry(key, value):
    return field(1, field(1, key) + field(2, value))


def call():
    """The message of a call, with the prefix of gRPC."""
    user = entry(b"user", b"12345678")
    message = field(1, b"shop") + field(2, user) + field(2, user + entry(b"path", b"/api/orders"))
    return b"\0" + len(message).to_bytes(4, "big") + message


class Weir(subject.Subject):
    """A weir, with one I/O thread."""

    def __init__(self, server):
        self.grpc_port = subject.free_port()
        options = ["--http-port", str(self.grpc_port), "--rls-config", "rules.yaml"]
        super().__init__(subject.weir(*options, server=server), files={"rules.yaml": RULES})

    def cpu(self):
        return self.cpu_seconds()


class Reference:
    """An envoyproxy/ratelimit and its Redis, on one core."""

    def __init__(self, program):
        self.redis = subject.Subject(subject.redis(), ready=(b"PING\r\n", (b"+PONG",)))
        self.grpc_port, self.port = subject.free_port(), subject.free_port()
        self.directory = tempfile.TemporaryDirectory(prefix="weir_bench_")
        folder = Path(self.directory.name, "limits", "config")
        folder.mkdir(parents=True)
        (folder / "rules.yaml").write_text(RULES)
        environment = {
            **os.environ, "GOMAXPROCS": "1", "USE_STATSD": "false", "LOG_LEVEL": "error",
            "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": f"127.0.0.1:{self.redis.port}",
            "RUNTIME_ROOT": self.directory.name, "RUNTIME_SUBDIRECTORY": "limits",
            "RUNTIME_WATCH_ROOT": "false", "GRPC_PORT": str(self.grpc_port),
            "PORT": str(self.port), "DEBUG_PORT": str(subject.free_port())}
        self.process = subprocess.Popen(
            subject.pinned(subject.SERVER_CORE, [program]), env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.is_ready():
            if self.process.poll() is not None:
                raise SystemExit(f"{program} has ended before it listened")
            time.sleep(0.05)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthcheck") as answer:
                return answer.status == 200
        except OSError:
            return False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait()
        self.redis.__exit__(*error)
        self.directory.cleanup()

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            times = stat.read().rpartition(")")[2].split()
        own = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
        return own + self.redis.cpu_seconds()


def build_reference():
    folder = ROOT / "build" / "envoy-ratelimit"
    program = folder / "service_cmd"
    if not program.exists():
        subprocess.run(["go", "install", f"{REFERENCE}/src/service_cmd@{VERSION}"], check=True,
                       env={**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"})
    return str(program)


def measure(service, body, calls, connections, streams):
    """CPU seconds a million calls, and calls a second."""
    before = service.cpu()
    run = subprocess.run(
        subject.pinned(subject.LOAD_CORE, [
            "h2load", "-n", str(calls), "-c", str(connections), "-m", str(streams), "-d", body,
            "-H", "content-type: application/grpc", "-H", "te: trailers",
            f"http://127.0.0.1:{service.grpc_port}{METHOD}"]),
        check=True, text=True, stdout=subprocess.PIPE)
    seconds = (service.cpu() - before) * 1e6 / calls
    succeeded = int(re.search(r"(\d+) succeeded", run.stdout).group(1))
    if succeeded != calls:
        raise SystemExit(f"{calls - succeeded} of {calls} calls have failed\n{run.stdout}")
    return seconds, float(re.search(r"([\d.]+) req/s", run.stdout).group(1))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--calls", type=int, default=300_000)
    parser.add_argument("--server", default=subject.SERVER)
    parser.add_argument("--reference", action="store_true")
    asked = parser.parse_args()
    services = {"weir": lambda: Weir(asked.server)}
    if asked.reference:
        program = build_reference()
        services["ratelimit and Redis"] = lambda: Reference(program)
    with tempfile.NamedTemporaryFile(prefix="weir_bench_") as body:
        body.write(call())
        body.flush()
        print(f"{'':22}{'connections':>12}{'streams':>8}{'CPU s/million':>15}{'calls/s':>10}")
        for connections, streams in LOADS:
            figures = {name: [] for name in services}
            for _ in range(RUNS):
                for name, start in services.items():
                    with start() as service:
                        figures[name].append(
                            measure(service, body.name, asked.calls, connections, streams))
            for name, runs in figures.items():
                cpu, rate = (statistics.median(column) for column in zip(*runs))
                print(f"{name:22}{connections:12}{streams:8}{cpu:15.1f}{rate:10.0f}", flush=True)


if __name__ == "__main__":
    main()
