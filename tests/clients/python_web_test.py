"""Limits applications of FastAPI, Starlette, Flask and plain ASGI and WSGI with the middleware of
weir_client, against a real server.

The applications are called as a web server calls them, without one.
"""

import asyncio
import http.client
import json
import unittest
from wsgiref.util import setup_testing_defaults

import fastapi
import flask
from starlette.responses import PlainTextResponse

import weir_client
import weir_client.aio
import weir_client.asgi
import weir_client.fastapi
import weir_client.wsgi
from weir_client import Mistake
from weir_e2e import DEADLINE, NEVER, ServerTest, free_port

LIMIT = f"3/{NEVER},fixed,name=few"
PREFLIGHT = {"access-control-request-method": "POST"}


class MiddlewareTests:
    """Tests of one middleware. A subclass has `protect`, which makes an application with it that
    answers "hello", with the status in X-Status, and `request`."""

    def limiter(self, **options):
        options.setdefault("deadline", DEADLINE)
        limiter = self.limiter_class(f"redis://127.0.0.1:{self.server.port}", **options)
        self.addCleanup(lambda: self.do(limiter.close()))
        return limiter

    limiter_class = weir_client.Limiter

    def do(self, result):
        return result

    def setUp(self):
        super().setUp()
        self.server = self.launch("--port", str(free_port()))
        self.server.port

    def protected(self, limiter_options=None, **options):
        options.setdefault("limits", [LIMIT])
        limiter = self.limiter(**(limiter_options or {}))
        self.protect(limiter, **options)
        return limiter

    def statuses(self, times, **request):
        return [self.request(**request)[0] for _ in range(times)]

    def test_three_of_ten(self):
        self.protected()
        answers = [self.request() for _ in range(10)]
        self.assertEqual([answer[0] for answer in answers], 3 * [200] + 7 * [429])
        _, headers, body = answers[0]
        self.assertEqual(body, b"hello few 2")
        self.assertEqual(headers["ratelimit"], '"few";r=2')
        self.assertEqual(headers["ratelimit-policy"], '"few";q=3')
        self.assertNotIn("retry-after", headers)
        _, headers, body = answers[3]
        self.assertRegex(headers["ratelimit"], r'^"few";r=0;t=\d+$')
        self.assertEqual(headers["ratelimit-policy"], '"few";q=3')
        self.assertEqual(headers["retry-after"], headers["ratelimit"].rpartition("=")[2])
        self.assert_problem(headers, body)

    def assert_problem(self, headers, body):
        self.assertEqual(headers["content-type"], "application/problem+json")
        self.assertEqual(json.loads(body)["violated-policies"], ["few"])

    def test_each_address_has_its_own(self):
        self.protected()
        self.assertEqual(self.statuses(4, peer="192.0.2.7"), [200, 200, 200, 429])
        self.assertEqual(self.statuses(1, peer="192.0.2.8"), [200])
        self.assertEqual(self.statuses(3, peer="2001:db8::1"), [200, 200, 200])
        self.assertEqual(self.statuses(1, peer="2001:db8::2"), [429])

    def test_trusted_hops(self):
        self.protected(trusted_hops=1)
        forwarded = {"x-forwarded-for": "203.0.113.9, 192.0.2.7"}
        self.assertEqual(self.statuses(4, headers=forwarded), [200, 200, 200, 429])
        forwarded = {"x-forwarded-for": "192.0.2.7, 192.0.2.8"}
        self.assertEqual(self.statuses(1, headers=forwarded), [200])
        self.assert_mistake("X-Forwarded-For")

    def test_the_key_of_the_program(self):
        self.protected(key=lambda request: request.headers.get("x-user"))
        self.assertEqual(self.statuses(4, headers={"x-user": "ann"}), [200, 200, 200, 429])
        self.assertEqual(self.statuses(1, headers={"x-user": "bob"}), [200])
        self.assert_mistake("one bucket for all callers")

    def assert_mistake(self, text):
        with self.assertRaisesRegex(Mistake, text):
            self.request()

    def test_cost_and_legacy_headers(self):
        self.protected(cost=lambda request: int(request.headers["x-cost"]), legacy_headers=True)
        status, headers, _ = self.request(headers={"x-cost": "2"})
        self.assertEqual((status, headers["x-ratelimit-limit"]), (200, "3"))
        self.assertEqual(headers["x-ratelimit-remaining"], "1")
        self.assertEqual(self.statuses(1, headers={"x-cost": "2"}), [429])

    def test_preflights_pass(self):
        self.protected()
        self.assertNotIn(429, self.statuses(5, method="OPTIONS", headers=PREFLIGHT))
        self.assertEqual(self.statuses(4), [200, 200, 200, 429])

    def test_skip(self):
        self.protected(skip=lambda request: "x-health" in request.headers)
        self.assertEqual(self.statuses(5, headers={"x-health": "1"}), 5 * [200])

    # Goal: without weir a closed Limiter answers 503, an open one passes, and each tells it once.
    def test_without_weir(self):
        self.server.kill()
        for fail, status in (("open", 200), ("closed", 503)):
            told = []
            self.protected({"fail": fail, "on_unavailable": told.append, "deadline": 0.05})
            answered, headers, _ = self.request()
            self.assertEqual((answered, told), (status, ["connection"]))
            self.assertNotIn("ratelimit", headers)
            self.assertNotIn("retry-after", headers)


class ChargingTests:
    """The tests of what a dependency does not have."""

    # Goal: only failures count. Method: six right answers, then failures.
    def test_responses_that_are_charged(self):
        self.protected(charge_when=lambda response: response.status == 401)
        self.assertEqual(self.statuses(6), 6 * [200])
        self.assertEqual(self.statuses(4, headers={"x-status": "401"}), [401, 401, 401, 429])
        self.assertEqual(self.statuses(1), [429])

    def test_a_response_of_the_program(self):
        self.protected(denied=self.slow_down)
        status, headers, body = [self.request() for _ in range(4)][3]
        self.assertEqual((status, body), (420, b"slow down, few"))
        self.assertIn("retry-after", headers)


class AsgiTest(MiddlewareTests, ChargingTests, ServerTest):
    limiter_class = weir_client.aio.Limiter

    def setUp(self):
        super().setUp()
        self.runner = asyncio.Runner()
        self.addCleanup(self.runner.close)

    def do(self, result):
        return self.runner.run(result)

    def protect(self, limiter, **options):
        async def hello(scope, _receive, send):
            headers = dict(scope["headers"])
            status = int(headers.get(b"x-status", b"200"))
            await send({"type": "http.response.start", "status": status, "headers": []})
            (row,) = scope["state"]["weir"].limits if "state" in scope else (None,)
            body = f"hello {row.name} {row.remaining}" if row else "hello"
            await send({"type": "http.response.body", "body": body.encode()})

        async def app(scope, receive, send):
            try:
                await hello(scope, receive, send)
            except ValueError:  # without weir there are no rows
                await send({"type": "http.response.body", "body": b"hello"})

        self.app = weir_client.asgi.RateLimit(app, limiter=limiter, **options)

    async def slow_down(self, request, decision):
        self.assertEqual(request.method, "GET")
        return PlainTextResponse(f"slow down, {decision.limits[0].name}", 420)

    def request(self, method="GET", peer="192.0.2.1", headers=None):
        scope = {
            "type": "http", "method": method, "path": "/", "raw_path": b"/", "query_string": b"",
            "http_version": "1.1", "scheme": "http", "root_path": "", "client": (peer, 4711),
            "server": ("localhost", 80),
            "headers": [(k.encode(), v.encode()) for k, v in (headers or {}).items()],
        }
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        self.do(self.app(scope, receive, send))
        start, *bodies = sent
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return start["status"], found, b"".join(each.get("body", b"") for each in bodies)


class FastApiTest(AsgiTest):
    """FastAPI with the middleware."""

    def protect(self, limiter, **options):
        self.app = fastapi.FastAPI()
        self.app.add_middleware(weir_client.asgi.RateLimit, limiter=limiter, **options)
        self.app.add_api_route("/", self.hello, methods=["GET"])

    @staticmethod
    async def hello(request: fastapi.Request):
        limits = request.state.weir.limits if hasattr(request.state, "weir") else ()
        text = "".join(f" {row.name} {row.remaining}" for row in limits)
        return PlainTextResponse(f"hello{text}", int(request.headers.get("x-status", 200)))


class FastApiDependencyTest(AsgiTest):
    """FastAPI with the dependency, which sees no response and makes none."""

    test_responses_that_are_charged = None
    test_a_response_of_the_program = None

    def protect(self, limiter, **options):
        self.app = fastapi.FastAPI()
        limit = weir_client.fastapi.RateLimit(limiter, **options)
        self.app.add_exception_handler(weir_client.fastapi.Denied, weir_client.fastapi.respond)
        self.app.add_api_route(
            "/", self.hello, methods=["GET", "OPTIONS"], dependencies=[fastapi.Depends(limit)]
        )

    @staticmethod
    async def hello(request: fastapi.Request, response: fastapi.Response):
        limits = request.state.weir.limits if hasattr(request.state, "weir") else ()
        text = "".join(f" {row.name} {row.remaining}" for row in limits)
        return fastapi.Response(f"hello{text}", headers=dict(response.headers))


class WsgiTest(MiddlewareTests, ChargingTests, ServerTest):
    def protect(self, limiter, **options):
        def hello(environ, start_response):
            limits = environ["weir"].limits if "weir" in environ else ()
            text = "".join(f" {row.name} {row.remaining}" for row in limits)
            start_response(f"{environ.get('HTTP_X_STATUS', 200)} Answer", [])
            return [f"hello{text}".encode()]

        self.app = weir_client.wsgi.RateLimit(hello, limiter=limiter, **options)

    def slow_down(self, request, decision):
        self.assertEqual(request.method, "GET")
        return flask.Response(f"slow down, {decision.limits[0].name}", 420)

    def request(self, method="GET", peer="192.0.2.1", headers=None):
        environ = {"REQUEST_METHOD": method, "REMOTE_ADDR": peer}
        setup_testing_defaults(environ)
        for name, value in (headers or {}).items():
            environ["HTTP_" + name.upper().replace("-", "_")] = value
        started = []
        body = self.app(environ, lambda status, headers, *_: started.append((status, headers)))
        text = b"".join(body)
        if hasattr(body, "close"):
            body.close()
        status, found = started[-1]
        return int(status[:3]), {name.lower(): value for name, value in found}, text


class FlaskTest(WsgiTest):
    def protect(self, limiter, **options):
        app = flask.Flask("hello")

        @app.route("/")
        def hello():
            decision = flask.request.environ.get("weir")
            text = "".join(
                f" {row.name} {row.remaining}" for row in (decision.limits if decision else ())
            )
            status = int(flask.request.headers.get("X-Status", 200))
            return f"hello{text}", status

        app.wsgi_app = weir_client.wsgi.RateLimit(app.wsgi_app, limiter=limiter, **options)
        self.app = app


class CheckTest(ServerTest):
    # Goal: a service and a proxy tell callers the same. Method: one key is denied by both.
    def test_a_denial_is_told_as_by_the_path_check(self):
        port = free_port()
        server = self.start("--http-port", str(port))
        server.wait_for_log(rf"listening on 127\.0\.0\.1:{port} for HTTP")
        limits = "1/h,name=few", "2/d,fixed,name=daily", "5/s,shadow,name=trial"

        def told_by_check():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
            connection.request("GET", "/check?key=k&limit=" + "&limit=".join(limits))
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            body = response.read().decode()
            connection.close()
            told = {name: headers.get(name) for name in ("ratelimit", "retry-after")}
            return response.status, told, body

        with weir_client.Limiter(f"redis://127.0.0.1:{server.port}", deadline=DEADLINE) as limiter:
            self.assertTrue(limiter.allow("k", *limits))

            def told_by_client():
                decision = limiter.peek("k", *limits, details=True)
                headers = {name.lower(): value for name, value in weir_client.fields(decision)}
                told = {name: headers.get(name) for name in ("ratelimit", "retry-after")}
                status, body = weir_client.problem(decision)
                return status, told, body

            # The second may end between the two.
            self.await_equal(lambda: told_by_client() == told_by_check(), True)
            self.assertEqual(told_by_client()[0], 429)


if __name__ == "__main__":
    unittest.main()
