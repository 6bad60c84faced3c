"""The HTTP fields and the body that tell a caller of its limits, as weir's own /check writes them.

    RateLimit-Policy: "burst";q=40
    RateLimit: "burst";r=0;t=1
    Retry-After: 1

The first two have the form of draft-ietf-httpapi-ratelimit-headers-11, which is not settled: it is
in this file only. A denial lists in RateLimit the limits that denied, with the time to wait for
`t`. A row of a Decision does not say whether its limit is a bucket or a window, so an admission has
no `t`, and a policy no `w`. Shadow limits are never listed, and at most 8 limits are.
"""

from __future__ import annotations

import json
import math
from typing import List, NamedTuple, Tuple

from .decision import Decision

ITEMS_MAX = 8
NUMBER_MAX = 999_999_999_999_999  # an Integer of RFC 9651 has at most 15 digits
PROBLEM_TYPE = "application/problem+json"

_QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"


class Problem(NamedTuple):
    """The status and the body (RFC 9457) for a call that is not allowed."""

    status: int
    body: str


def fields(decision: Decision, legacy: bool = False) -> List[Tuple[str, str]]:
    """A list of (name, value); empty if weir is unavailable. `legacy`: X-RateLimit-*, too."""
    if decision.reason == "unavailable":
        return []
    rows = _listed(decision)
    found = []
    if rows:
        found.append(("RateLimit-Policy", ", ".join(_policy(row) for row in rows)))
    if limits := _limits(decision, rows):
        found.append(("RateLimit", limits))
    if legacy and rows:
        found += [
            ("X-RateLimit-Limit", str(rows[0].count)),
            ("X-RateLimit-Remaining", str(_remaining(rows[0]))),
            ("X-RateLimit-Reset", str(_ceil(rows[0].reset_after))),
        ]
    if decision.reason == "denied":
        found.append(("Retry-After", str(max(1, _ceil(decision.retry_after)))))
    return found


def problem(decision: Decision) -> Problem:
    """The Problem of a Decision that is not allowed: 429, or 503 if weir is unavailable."""
    if decision.reason == "unavailable":
        return Problem(503, _json({"title": "Service Unavailable"}))
    body = {
        "type": _QUOTA_EXCEEDED,
        "title": "Request cannot be satisfied as assigned quota has been exceeded",
    }
    if violated := [row.name for row in _listed(decision) if not row.allowed]:
        body["violated-policies"] = violated
    return Problem(429, _json(body))


def _listed(decision):
    """The rows that a caller is told of, first the one that decided."""
    rows = list(decision.limits)
    if rows:
        rows.insert(0, rows.pop(decision.limit))
    seen, listed = set(), []
    for row in rows:
        if row.is_shadow or row.count > NUMBER_MAX or (row.group, row.name) in seen:
            continue
        seen.add((row.group, row.name))
        listed.append(row)
    return listed[:ITEMS_MAX]


def _policy(row):
    return f"{_quoted(row.name)};q={row.count}"


def _limits(decision, rows):
    if not decision.limits:
        return _item("limit", decision.remaining, decision.retry_after, decision.allowed)
    return ", ".join(
        _item(row.name, _remaining(row), row.retry_after, row.allowed)
        for row in rows
        if decision.allowed or not row.allowed
    )


def _item(name, remaining, retry_after, allowed):
    number = f";r={remaining}" if remaining <= NUMBER_MAX else ""
    time = "" if allowed or retry_after is None else f";t={_ceil(retry_after)}"
    return f"{_quoted(name)}{number}{time}"


def _remaining(row):
    return max(0, row.remaining - row.keep)


def _ceil(seconds):
    """Whole seconds, rounded up, but for an error in the last digits of a binary fraction."""
    return math.ceil(round(seconds, 6))


def _quoted(text):
    """A String of RFC 9651. Bytes that it cannot have are written as those of a Display String."""
    written = []
    for byte in text.encode():
        if byte < 0x20 or byte > 0x7E or byte == ord("%"):
            written.append(f"%{byte:02x}")
        else:
            written.append("\\" + chr(byte) if byte in b'"\\' else chr(byte))
    return f'"{"".join(written)}"'


def _json(body):
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)
