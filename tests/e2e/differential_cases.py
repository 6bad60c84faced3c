"""All groups of cases, and the cases that weir cannot pass yet.

They are differential_protocol.py, differential_commands.py, differential_pubsub.py and
differential_sessions.py. differential_differences.py says where weir differs from Redis on purpose.
"""

from differential_commands import (
    ACL,
    CONFIG_SET,
    CONNECTION,
    GREETING,
    KEYS,
    OBSERVERS,
    RESETSTAT,
    SERVER,
    SMALL,
    USERS,
)
from differential_protocol import ARITY, FRAMES, INLINE, PIPELINES, UNKNOWN
from differential_pubsub import MESSAGES, RESP2_ONLY, SUBSCRIPTIONS
from differential_sessions import (
    AUTHENTICATION,
    BEFORE_AUTH,
    KILL,
    MONITORS,
    PAUSE,
    REPLY,
    RESETS,
    SLOW_OF_ALL,
    TRANSACTIONS,
    UNBLOCK,
    WATCHES,
)

GROUPS = [
    INLINE,
    FRAMES,
    PIPELINES,
    UNKNOWN,
    ARITY,
    CONNECTION,
    GREETING,
    KEYS,
    SERVER,
    TRANSACTIONS,
    WATCHES,
    RESETS,
    KILL,
    PAUSE,
    REPLY,
    UNBLOCK,
    RESETSTAT,
    CONFIG_SET,
    ACL,
    USERS,
    OBSERVERS,
    MONITORS,
    SUBSCRIPTIONS,
    RESP2_ONLY,
    MESSAGES,
    SLOW_OF_ALL,
    SMALL,
    BEFORE_AUTH,
    AUTHENTICATION,
]
