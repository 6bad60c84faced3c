"""The cost of asking over HTTP, and of watching: beside RESP, and beside nginx's own rate limit.

    http_costs.py [SECTION ...] [--server PATH]    or: ./dev bench http_costs [SECTION ...]

    check      RL.ALLOW of one limit, GET /check of the same, and nginx with limit_req
    batch      POST /v1/batch of a hundred requests
    idle       10,000 connections that have asked once, over RESP and over HTTP
    scrape     GET /metrics with 500 limits in use
    pages      ten open pages
    watched    latency of RL.ALLOW, with and without a scrape a second and ten open pages

Each request is about one of a million keys. wrk sends HTTP, redis-benchmark and open_loop send
RESP; nginx is unpacked below build/, not installed. Servers take turns, and a server is stopped
outside of its turn; figures are medians of RUNS. subject.py runs and measures the servers.
"""

import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import subject
from clients import IDLE_CLIENTS, LIMIT, connected
from resp import Client
from scale import in_turn, open_loop

ROOT = Path(__file__).parents[1]
RUNS = 5
CONNECTIONS = 50
SECONDS = 5  # of one load by wrk
RESP_REQUESTS = 300_000
ALLOW = ["RL.ALLOW", "key:__rand_int__", LIMIT]

LIMITS = 500
SCRAPES = 100
PAGES = 10
PAGE_SECONDS = 20
# The requests of a page's first view, which it repeats each second (server/page/app).
PAGE_PATHS = ("/api/now", "/api/limits", "/api/top?n=10&by=denied")
TAIL_SHARE = 0.5  # of the greatest rate

NGINX = """
daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d;
  scgi_temp_path e;
  limit_req_zone $arg_key zone=keys:256m rate=1000r/s;
  server {
    listen 127.0.0.1:{port};
    location /check { limit_req zone=keys burst=1000 nodelay; empty_gif; }
  }
}
"""

# Programs of wrk.
CHECK = """
request = function()
  return wrk.format("GET", string.format("/check?key=key:%%012d&limit=%s", math.random(1000000)))
end
"""
BATCH = """
local requests = {}
init = function()
  for i = 1, 1000 do
    local items = {}
    for j = 1, 100 do
      items[j] = string.format('{"key":"key:%%012d","limits":["%s"]}', math.random(1000000))
    end
    local body = '{"requests":[' .. table.concat(items, ",") .. ']}'
    requests[i] = wrk.format("POST", "/v1/batch", {["Content-Type"] = "application/json"}, body)
  end
end
request = function() return requests[math.random(1000)] end
"""


def weir(path, *options):
    """A weir with one I/O thread; its members `http` and `admin` are its other ports."""
    http, admin = subject.free_port(), subject.free_port()
    ports = ["--http-port", str(http), "--admin-port", str(admin)]
    server = subject.Subject(subject.weir(*ports, *options, server=path))
    server.http, server.admin = http, admin
    return server


def nginx():
    sys.path.append(str(ROOT / "tests/e2e"))
    from unpacked import unpacked  # pylint: disable=import-outside-toplevel

    os.environ.setdefault("WEIR_UNPACKED", str(ROOT / "build/unpacked"))
    server = subject.Subject(
        [unpacked("nginx", "usr/sbin/nginx"), "-p", ".", "-e", "stderr", "-c", "nginx.conf"],
        ready=(b"GET /check?key=x HTTP/1.0\r\n\r\n", (b"HTTP/1.1 200",)),
        files={"nginx.conf": NGINX},
    )
    server.http = server.port
    return server


def wrk(server, program):
    """Returns the rate of the requests, and the CPU seconds of the server for a million."""
    with tempfile.NamedTemporaryFile("w", encoding="ascii", suffix=".lua") as file:
        file.write(program % LIMIT)
        file.flush()
        before = server.cpu_seconds()
        address = f"http://127.0.0.1:{server.http}/"
        command = ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", str(SECONDS), "-s", file.name]
        run = subprocess.run(
            subject.pinned(subject.LOAD_CORE, [*command, address]),
            check=True, text=True, stdout=subprocess.PIPE,
        )
    if "Non-2xx" in run.stdout or "Socket errors" in run.stdout:
        raise SystemExit(run.stdout)
    requests = int(re.search(r"(\d+) requests in", run.stdout).group(1))
    return requests / SECONDS, (server.cpu_seconds() - before) * 1e6 / requests


def allow(server):
    load = server.load(RESP_REQUESTS, CONNECTIONS, 1, ALLOW)
    return load.rate, load.cpu_seconds


def ask_check(server):
    return wrk(server, CHECK)


def check(path):
    with weir(path) as resp, weir(path) as http, nginx() as peer:
        rows = {
            "RL.ALLOW, 1 limit": (resp, allow),
            "GET /check, 1 limit": (http, ask_check),
            "nginx limit_req": (peer, ask_check),
        }
        results = in_turn(rows, lambda server, load: load(server))
    print(f"\none request at a time on each of {CONNECTIONS} connections")
    typical = {name: [statistics.median(c) for c in zip(*runs)] for name, runs in results.items()}
    first, *_ = typical.values()
    for name, (rate, cpu) in typical.items():
        print(
            f"  {name:20} {rate:10,.0f} requests/s   {cpu:7.3f} CPU s a million"
            f"   {cpu / first[1]:5.2f} x"
        )


def batch(path):
    with weir(path) as server:
        results = [wrk(server, BATCH) for _ in range(RUNS)]
    rate, cpu = (statistics.median(column) for column in zip(*results))
    print("\nPOST /v1/batch of 100 requests of one limit")
    print(f"  {100 * rate:10,.0f} decisions/s   {cpu / 100:7.3f} CPU s a million decisions")


def idle(path):
    print(f"\n{IDLE_CLIENTS:,} idle connections that have asked once")
    requests = {
        "RESP": ("port", b"PING\r\n"),
        "HTTP": ("http", b"GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n"),
    }
    for name, (port, request) in requests.items():
        with weir(path, "--max-clients", str(IDLE_CLIENTS + 1000)) as server:
            before = server.resident_bytes()
            clients = [connected(getattr(server, port)) for _ in range(IDLE_CLIENTS)]
            for client in clients:
                client.sendall(request)
                client.recv(4096)
            grown = server.resident_bytes() - before
            allow_beside = statistics.median(allow(server)[1] for _ in range(RUNS))
            for client in clients:
                client.close()
            left = server.left_bytes(before)
        print(
            f"  {name}   {grown / IDLE_CLIENTS:7,.0f} bytes each, {left / 1e6:.1f} MB left after"
            f" them   RL.ALLOW beside them {allow_beside:.2f} CPU s a million"
        )


class HttpClient:
    """A connection that asks for a path and reads the whole answer, whose length it must tell."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._answers = self._socket.makefile("rb")

    def get(self, path):
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        status = self._answers.readline()
        if b" 200 " not in status:
            raise SystemExit(f"{path} was answered by {status!r}")
        while (line := self._answers.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return self._answers.read(length)

    def close(self):
        self._answers.close()
        self._socket.close()


def use_limits(server):
    """Asks about LIMITS limits with names, so that each of them is counted one by one."""
    with Client(server.port) as client:
        for i in range(LIMITS):
            client.ask("RL.ALLOW", f"key:{i % 50}", f"{i + 1}/1h,name=limit-{i}")


def scrape(path):
    with weir(path) as server:
        use_limits(server)
        client, taken = HttpClient(server.admin), []
        for _ in range(RUNS):
            before = server.cpu_seconds()
            for _ in range(SCRAPES):
                size = len(client.get("/metrics"))
            taken.append((server.cpu_seconds() - before) * 1e3 / SCRAPES)
        client.close()
    print(f"\nGET /metrics with {LIMITS} limits in use")
    print(f"  {statistics.median(taken):.2f} ms of CPU, {size:,} bytes")


class Watchers(threading.Thread):
    """Pages that ask once a second, spread over it, and one scraper of the metrics."""

    def __init__(self, server, pages, scraper):
        super().__init__()
        self._clients = [HttpClient(server.admin) for _ in range(pages + scraper)]
        self._paths = [PAGE_PATHS] * pages + [("/metrics",)] * scraper
        self._stopped = threading.Event()

    def run(self):
        begin = time.monotonic()
        while not self._stopped.is_set():
            for i, (client, paths) in enumerate(zip(self._clients, self._paths)):
                due = begin + i / len(self._clients)
                if self._stopped.wait(max(0, due - time.monotonic())):
                    break
                for path in paths:
                    client.get(path)
            begin += 1

    def __enter__(self):
        self.start()

    def __exit__(self, *_):
        self._stopped.set()
        self.join()
        for client in self._clients:
            client.close()


def pages(path):
    shares = []
    with weir(path) as server:
        use_limits(server)
        for _ in range(RUNS):
            idle_before = server.cpu_seconds()
            time.sleep(PAGE_SECONDS)
            before = server.cpu_seconds()
            with Watchers(server, PAGES, 0):
                time.sleep(PAGE_SECONDS)
            alone, watched = before - idle_before, server.cpu_seconds() - before
            shares.append((watched - alone) / PAGE_SECONDS)
    print(f"\n{PAGES} open pages of a server with {LIMITS} limits in use")
    print(f"  {100 * statistics.median(shares):.2f} % of a core")


def watched(path):
    with weir(path) as server:
        use_limits(server)
        rate = int(TAIL_SHARE * server.load(RESP_REQUESTS, CONNECTIONS, 1, ALLOW).rate)
        results = {False: [], True: []}
        for _ in range(RUNS):
            results[False].append(open_loop(server, rate, LIMIT))
            with Watchers(server, PAGES, 1):
                results[True].append(open_loop(server, rate, LIMIT))
    print(f"\nRL.ALLOW, {rate:,} requests/s whatever the server does")
    for with_them, runs in results.items():
        p50, p99, p999, longest, late = (statistics.median(column) for column in zip(*runs))
        what = f"scraped, {PAGES} pages open" if with_them else "alone"
        print(
            f"  {what:24} p50 {p50:7.1f} us   p99 {p99:7.1f} us   p99.9 {p999:7.1f} us"
            f"   longest {longest:9.1f} us   of which sent late, p99.9 {late:7.1f} us"
        )


def main():
    sections = {
        "check": check, "batch": batch, "idle": idle,
        "scrape": scrape, "pages": pages, "watched": watched,
    }
    subject.become_load()
    subject.measure_sections(__doc__, sections)


if __name__ == "__main__":
    main()
