"""A middleware that limits a WSGI application: Flask, Django and others.

    app.wsgi_app = RateLimit(app.wsgi_app, limiter=Limiter(os.environ["WEIR_URL"]), limits=["10/s"])

core/rules.py has the options. `key`, `skip`, `cost` and `denied` get a Request; `denied` returns a
WSGI application, as Flask's responses are. The Decision is in environ["weir"].
"""

import functools
from http.client import responses

from .core.rules import Answered, Rules


class Request:
    """A request: `headers` has its names in lower case, `environ` is that of WSGI."""

    def __init__(self, environ):
        self.environ = environ
        self.method = environ["REQUEST_METHOD"]
        self.path = environ.get("PATH_INFO", "")
        self.headers = {
            name[5:].replace("_", "-").lower(): value
            for name, value in environ.items() if name.startswith("HTTP_")
        }


class RateLimit:
    def __init__(self, app, *, limiter, limits, **options):
        self._app = app
        self._limiter = limiter
        self._rules = Rules(limits, **options)

    def __call__(self, environ, start_response):
        rules, request = self._rules, Request(environ)
        if rules.skip(request):
            return self._app(environ, start_response)
        key, cost = self._key_and_cost(request)
        decision = self._limiter.allow(*rules.question(key, cost), details=True)
        environ["weir"] = decision
        more, status = rules.headers(decision), [500, []]

        def start(line, headers, *exception):
            status[:] = int(line.partition(" ")[0]), headers
            return start_response(line, [*headers, *more], *exception)

        if decision.allowed:
            if rules.charge_when is None:
                return self._app(environ, start)
            charge = functools.partial(self._charge, key, cost, status)
            try:
                return _Charged(self._app(environ, start), charge)
            except BaseException:
                charge()
                raise
        if rules.denied is not None:
            return rules.denied(request, decision)(environ, start)
        code, headers, text = rules.refusal(decision)
        start_response(f"{code} {responses[code]}", [*headers, ("Content-Length", str(len(text)))])
        return [text]

    def _key_and_cost(self, request):
        rules = self._rules
        if rules.key is None:
            environ = request.environ
            forwarded = environ.get("HTTP_X_FORWARDED_FOR")
            key = rules.default_key(
                environ.get("REMOTE_ADDR", ""), () if forwarded is None else (forwarded,)
            )
        else:
            key = rules.key(request)
        return key, None if rules.cost is None else rules.cost(request)

    def _charge(self, key, cost, answered):
        status, headers = answered
        lower = {name.lower(): value for name, value in headers}
        if self._rules.charge_when(Answered(status, lower)):
            self._limiter.charge(*self._rules.charge(key, cost))


class _Charged:
    """The body of a response, which is charged when it ends."""

    def __init__(self, body, charge):
        self._body = body
        self._charge = charge

    def __iter__(self):
        return iter(self._body)

    def close(self):
        try:
            if hasattr(self._body, "close"):
                self._body.close()
        finally:
            self._charge()
