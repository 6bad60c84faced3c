"""A Decision, as it is read from the reply to RL.ALLOW and to the commands that answer like it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from .errors import Mistake


@dataclass(frozen=True)
class LimitRow:
    """What one limit says; times are in seconds."""

    name: str
    allowed: bool
    count: int
    remaining: int
    retry_after: Optional[float]  # None: never
    reset_after: float
    group: int  # which key, from 0
    cost: int
    keep: int
    is_shadow: bool  # denies nothing; not known of a policy's labelled limits


@dataclass(frozen=True)
class Decision:
    """The answer to one call. It is true if and only if the call is allowed."""

    allowed: bool
    remaining: Optional[int] = None  # tokens left, the fewest of any limit
    retry_after: Optional[float] = None  # seconds; None: never, or not known
    reset_after: Optional[float] = None  # seconds until all buckets are full
    limit: Optional[int] = None  # the index of the limit that decided
    reason: str = "allowed"  # or "denied", "never", "unavailable"
    cause: str = ""  # why it is unavailable: one of causes.CAUSES
    limits: Tuple[LimitRow, ...] = ()  # with details, or with several keys
    granted: int = 0  # the tokens that RL.TAKE took

    def __bool__(self):
        return self.allowed


def unavailable(cause, allowed):
    """The Decision of a Limiter without an answer."""
    return Decision(allowed, reason="unavailable", cause=cause)


def read_decision(reply, request):
    """The Decision in the reply to a request of these words."""
    granted, remaining, retry_after_ms, reset_after_ms, limit, *rest = reply
    rows = tuple(_read_row(row, request) for row in rest[0]) if rest else ()
    reason = "allowed" if granted else "denied" if retry_after_ms >= 0 else "never"
    return Decision(
        bool(granted), remaining, _seconds(retry_after_ms), _seconds(reset_after_ms), limit,
        reason, limits=rows, granted=granted,
    )


def _read_row(row, request):
    if len(row) < 9:
        raise Mistake("AND needs weir 0.2 or later")
    name, allowed, count, remaining, retry_after_ms, reset_after_ms, group, cost, keep = row[:9]
    is_shadow = b"shadow" in name.split(b",")[1:] or name in request.shadow_labels(group)
    return LimitRow(
        name.decode(errors="backslashreplace"), allowed == 1, count, remaining,
        _seconds(retry_after_ms), _seconds(reset_after_ms), group, cost, keep, is_shadow,
    )


def _seconds(milliseconds):
    return None if milliseconds < 0 else milliseconds / 1000
