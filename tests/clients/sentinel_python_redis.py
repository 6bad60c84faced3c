"""Takes tokens with redis-py at the primary that Sentinel names.

client_programs.py says how.
"""

import os
import select
import sys
import time

import redis.sentinel
from redis.backoff import NoBackoff
from redis.retry import Retry

GROUP, LIMIT = os.environ["WEIR_GROUP"], os.environ["WEIR_LIMIT"]
SENTINELS = [tuple(address.split(":")) for address in os.environ["WEIR_SENTINELS"].split()]

weir = redis.sentinel.Sentinel(
    SENTINELS,
    socket_timeout=1,
    retry=Retry(NoBackoff(), 0),  # a request that is sent twice is charged twice
).master_for(GROUP)


def ask(key):
    invoked = time.monotonic_ns()
    try:
        tokens = weir.execute_command("RL.ALLOW", key, LIMIT)[0]
        return f"took {key} {tokens} {invoked} {time.monotonic_ns()}"
    except (redis.ConnectionError, redis.TimeoutError) as error:
        return f"failed {key} {type(error).__name__}: {error}"
    except redis.ResponseError as error:
        return f"refused {key} {error}"


def main():
    print("version", redis.__version__, flush=True)
    key = sys.stdin.readline().strip()
    while key:
        if select.select([sys.stdin], [], [], 0.002)[0]:
            key = sys.stdin.readline().strip()
        else:
            print(ask(key), flush=True)


main()
