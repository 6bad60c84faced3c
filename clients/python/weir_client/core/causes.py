"""The meaning of an error of the server: an outage that passes, or a mistake to be mended.

    LOADING weir is loading its state from disk      an outage, "loading"
    NOPERM this user has no permissions ...          a mistake; after the first success of this
                                                     Limiter an outage, "login": passwords change
    ERR invalid limit '10/x': ...                    a mistake
"""

CAUSES = (
    "timeout", "connection", "loading", "readonly", "noreplicas", "noack", "misconf", "oom",
    "busy", "masterdown", "clusterdown", "full", "login", "unblocked", "noprimary",
)

_OUTAGES = {
    "LOADING": "loading",
    "READONLY": "readonly",
    "NOREPLICAS": "noreplicas",
    "NOACK": "noack",
    "MISCONF": "misconf",
    "OOM": "oom",
    "BUSY": "busy",
    "MASTERDOWN": "masterdown",
    "CLUSTERDOWN": "clusterdown",
    "UNBLOCKED": "unblocked",
    "NOPRIMARY": "noprimary",
}
_LOGIN = ("NOAUTH", "WRONGPASS", "NOPERM", "DENIED")
_FULL = "ERR max number of clients reached"

# Behind these a server may serve again, but not on this connection or not at this address.
_LEAVES_SERVER = ("READONLY", "LOADING", "MASTERDOWN")
_LEAVES_CONNECTION = ("NOAUTH", "WRONGPASS", "DENIED", "LOADING")


def cause_of(refused, has_succeeded):
    """The cause of an outage, or None for a mistake."""
    prefix = refused.text.partition(" ")[0]
    if refused.text.startswith(_FULL):
        return "full"
    if prefix in _LOGIN or (refused.is_login and prefix not in _OUTAGES):
        return "login" if has_succeeded else None
    return _OUTAGES.get(prefix)


def leaves_server(refused):
    """Whether another server may have become the primary."""
    return refused.text.partition(" ")[0] in _LEAVES_SERVER


def leaves_connection(refused):
    """Whether the connection is of no use any longer."""
    return refused.text.startswith((*_LEAVES_CONNECTION, _FULL))
