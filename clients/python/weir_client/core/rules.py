"""The options of a middleware: what it asks weir for a request, and what it tells of the answer.

They are alike for ASGI, WSGI and FastAPI, which bring the request and send the response.

    limits          a list of limits: ["10/s", "@free"]
    key             key(request) makes the key; by default "ip:" and the address of the caller
    skip            skip(request) says which requests pass without a question; by default those by
                    which browsers ask for CORS (OPTIONS with Access-Control-Request-Method)
    cost            cost(request) is how many tokens the request takes; by default 1
    denied          denied(request, decision) makes the response to a request that is not allowed
    trusted_hops    how many proxies of yours there are: the address is that entry of
                    X-Forwarded-For, counted from the right. 0 takes that of the connection
    legacy_headers  X-RateLimit-Limit, -Remaining and -Reset, too
    charge_when     charge_when(response) says which responses are charged. Then a request passes
                    if its tokens are there, and takes them only after its response
"""

from typing import Mapping, NamedTuple

from .caller import caller_key
from .errors import Mistake
from .fields import PROBLEM_TYPE, fields, problem
from .numbers import whole_number


class Answered(NamedTuple):
    """A response, as `charge_when` sees it."""

    status: int
    headers: Mapping[str, str]  # names in lower case


class Rules:
    """The options of a middleware, checked."""

    def __init__(self, limits, *, key=None, skip=None, cost=None, denied=None, trusted_hops=0,
                 legacy_headers=False, charge_when=None):
        if isinstance(limits, (str, bytes)) or not limits:
            raise TypeError("limits is a list with at least one limit")
        whole_number(trusted_hops, "trusted_hops")
        self.limits = tuple(limits)
        self.key = key
        self.skip = skip or is_preflight
        self.cost = cost
        self.denied = denied
        self.trusted_hops = trusted_hops
        self.legacy_headers = legacy_headers
        self.charge_when = charge_when

    def default_key(self, peer, forwarded):
        """The key of a request without `key`: the address of the caller."""
        return caller_key(peer, forwarded, self.trusted_hops)

    def question(self, key, cost):
        """The words to ask with RL.ALLOW: of `charge_when`, a look."""
        if self.charge_when is None:
            return self.charge(key, cost)
        keep = 1 if cost is None else cost
        return (_checked(key), *(f"{limit},cost=0,keep={keep}" for limit in self.limits))

    def charge(self, key, cost):
        """The words to charge, for RL.CHARGE or RL.ALLOW."""
        return (_checked(key), *self.limits, *(() if cost is None else ("COST", cost)))

    def headers(self, decision):
        """The fields that go with every response."""
        return fields(decision, self.legacy_headers)

    def refusal(self, decision):
        """The status, the headers and the body for a request that is not allowed."""
        status, body = problem(decision)
        return status, [("Content-Type", PROBLEM_TYPE), *self.headers(decision)], body.encode()


def is_preflight(request):
    """Whether a browser asks by this request if it may send another one (CORS)."""
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


def _checked(key):
    """A key that is nothing would be one bucket for all callers."""
    if key is None or key in ("", b""):
        raise Mistake("key(request) answers nothing: one bucket for all callers")
    return key
