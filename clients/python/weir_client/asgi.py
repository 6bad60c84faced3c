"""A middleware that limits an ASGI application: FastAPI, Starlette and others.

    app.add_middleware(RateLimit, limiter=aio.Limiter(os.environ["WEIR_URL"]), limits=["10/s"])

core/rules.py has the options. `key`, `skip`, `cost` and `denied` get Starlette's Request where it
is installed, else one with some of its attributes; they may be coroutine functions. `denied`
returns an ASGI application, as Starlette's responses are. The Decision is in request.state.weir.
"""

import inspect
from types import SimpleNamespace

from .core.rules import Answered, Rules

try:
    from starlette.requests import Request
except ImportError:

    class Request:
        """The attributes of Starlette's Request that most keys are made of."""

        def __init__(self, scope):
            self.scope = scope
            self.method = scope["method"]
            self.headers = headers_of(scope)
            self.client = SimpleNamespace(host=client_of(scope))
            self.url = SimpleNamespace(path=scope["path"])


class RateLimit:
    def __init__(self, app, *, limiter, limits, **options):
        self._app = app
        self._limiter = limiter
        self._rules = Rules(limits, **options)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        rules, request = self._rules, Request(scope)
        if await asked(rules.skip, request):
            await self._app(scope, receive, send)
            return
        key, cost = await key_and_cost(rules, request)
        decision = await self._limiter.allow(*rules.question(key, cost), details=True)
        scope.setdefault("state", {})["weir"] = decision
        response = _Response(send, rules.headers(decision))
        if decision.allowed:
            try:
                await self._app(scope, receive, response.send)
            finally:
                charge_when = rules.charge_when
                if charge_when is not None and await asked(charge_when, response.answered()):
                    await self._limiter.charge(*rules.charge(key, cost))
        elif rules.denied is not None:
            answer = await asked(rules.denied, request, decision)
            await answer(scope, receive, response.send)
        else:
            status, headers, body = rules.refusal(decision)
            await send({
                "type": "http.response.start", "status": status, "headers": encoded(headers),
            })
            await send({"type": "http.response.body", "body": body})


class _Response:
    """Sends a response with more headers, and remembers its status."""

    def __init__(self, send, headers):
        self._send = send
        self._headers = encoded(headers)
        self._start = {"status": 500, "headers": []}  # that of an application that fails

    async def send(self, message):
        if message["type"] == "http.response.start":
            self._start = message
            message = {**message, "headers": [*message.get("headers", ()), *self._headers]}
        await self._send(message)

    def answered(self):
        return Answered(self._start["status"], headers_of(self._start))


async def key_and_cost(rules, request):
    """The key and the cost of a request."""
    if rules.key is None:
        forwarded = [value.decode("latin-1") for name, value in request.scope["headers"]
                     if name == b"x-forwarded-for"]
        key = rules.default_key(client_of(request.scope), forwarded)
    else:
        key = await asked(rules.key, request)
    return key, None if rules.cost is None else await asked(rules.cost, request)


async def asked(function, *arguments):
    """The answer of a function, or of a coroutine function."""
    answer = function(*arguments)
    return await answer if inspect.isawaitable(answer) else answer


def client_of(scope):
    """The address of the connection; empty for a Unix socket."""
    return (scope.get("client") or ("",))[0] or ""


def headers_of(scope):
    """The headers, their names in lower case."""
    return {name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope.get("headers", ())}


def encoded(headers):
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
