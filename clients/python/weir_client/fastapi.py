"""A dependency that limits one route of FastAPI.

    app.add_exception_handler(Denied, respond)  # else the problem is within FastAPI's own form

    @app.post("/login", dependencies=[Depends(RateLimit(limiter, ["5/m"]))])
    async def login(): ...

core/rules.py has the options, but for `denied` (that is `respond`) and `charge_when` (a dependency
sees no response). The Decision is in request.state.weir.
"""

import json

from fastapi import HTTPException, Request, Response

from .asgi import asked, key_and_cost
from .core.rules import Rules


class Denied(HTTPException):
    """Raised in place of the route."""

    def __init__(self, rules, decision):
        status, headers, body = rules.refusal(decision)
        super().__init__(status, json.loads(body), dict(headers))
        self.decision = decision
        self.body = body


def respond(_request, denied):
    """The response to a Denied: the same problem as that of the middleware."""
    return Response(denied.body, denied.status_code, denied.headers)


class RateLimit:
    def __init__(self, limiter, limits, **options):
        for name in ("denied", "charge_when"):
            if name in options:
                raise TypeError(f"a dependency has no option {name}")
        self._limiter = limiter
        self._rules = Rules(limits, **options)

    async def __call__(self, request: Request, response: Response):
        rules = self._rules
        if await asked(rules.skip, request):
            return
        key, cost = await key_and_cost(rules, request)
        decision = await self._limiter.allow(*rules.question(key, cost), details=True)
        request.state.weir = decision
        if not decision.allowed:
            raise Denied(rules, decision)
        for name, value in rules.headers(decision):
            response.headers[name] = value
