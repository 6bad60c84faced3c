"""The sides of redis-py that both wires need to know: quiet connections, and what its errors mean.

Versions from 4.3 on. They turn some errors of the server into classes and cut off the first word.
"""

import redis
from redis import exceptions

from ..core.exchange import Lost, Refused

# A subclass stands before its base.
_PREFIXES = (
    ("BusyLoadingError", "LOADING"),
    ("ReadOnlyError", "READONLY"),
    ("NoPermissionError", "NOPERM"),
    ("OutOfMemoryError", "OOM"),
    ("MasterDownError", "MASTERDOWN"),
    ("ClusterDownError", "CLUSTERDOWN"),
    ("TryAgainError", "TRYAGAIN"),
    ("ClusterCrossSlotError", "CROSSSLOT"),
    ("MovedError", "MOVED"),
    ("AskError", "ASK"),
    ("ExecAbortError", "EXECABORT"),
    ("NoScriptError", "NOSCRIPT"),
    ("AuthenticationError", "NOAUTH"),
)
_CLASSES = tuple(
    (getattr(exceptions, name), prefix) for name, prefix in _PREFIXES if hasattr(exceptions, name)
)
_FULL = "max number of clients reached"
# redis-py 5.1 and later make it an AuthenticationError, as NOAUTH, and cut off its first word.
_WRONGPASS = "invalid username-password pair"


def connection_options():
    """Those with which a connection sends nothing of its own, and returns bytes in RESP2."""
    if int(redis.__version__.partition(".")[0]) < 5:
        return {}
    if hasattr(redis, "DriverInfo"):
        return {"protocol": 2, "driver_info": None}
    return {"protocol": 2, "lib_name": None, "lib_version": None}


def holds_bytes(connection):
    """Whether the parser of a connection has bytes beyond the replies that it has returned."""
    parser = connection._parser
    reader = getattr(parser, "_reader", None)
    if hasattr(reader, "has_data"):  # that of hiredis
        return reader.has_data()
    return bool(getattr(getattr(parser, "_buffer", None), "length", 0))  # of redis-py 4.3 and 4.4


def outcome(error):
    """The Lost or Refused that an exception of redis-py stands for; others are raised again."""
    text = str(error)
    for kind, prefix in _CLASSES:
        if isinstance(error, kind):
            word = "WRONGPASS" if text.startswith(_WRONGPASS) else prefix
            return Refused(f"{getattr(error, 'status_code', None) or word} {text}")
    if isinstance(error, exceptions.TimeoutError):
        return Lost("timeout", text)
    if isinstance(error, exceptions.ConnectionError):
        if _FULL in text:
            return Refused(f"ERR {text}")
        below = error.__context__  # its text is better: some versions lose half of it
        return Lost("connection", str(below if isinstance(below, OSError) else text))
    if isinstance(error, exceptions.ResponseError):
        first = text.partition(" ")[0]
        return Refused(text if first.isalpha() and first.isupper() else f"ERR {text}")
    raise error
