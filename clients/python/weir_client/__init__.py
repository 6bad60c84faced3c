"""A client of weir, the rate-limit server: Limiter here, the same for asyncio in weir_client.aio.

    from weir_client import Limiter

    limiter = Limiter("redis://app:secret@weir.internal:7379")
    if not limiter.allow("user:42", "10/s", "1000/h"):
        ...
"""

from .core.counters import Counts
from .core.decision import Decision, LimitRow
from .core.errors import Limited, Mistake, Unavailable
from .core.fields import fields, problem
from .limiter import Limiter

__all__ = [
    "Counts", "Decision", "LimitRow", "Limited", "Limiter", "Mistake", "Unavailable", "fields",
    "problem",
]
