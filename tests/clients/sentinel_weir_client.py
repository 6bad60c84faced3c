"""Takes tokens with weir_client at the primary that Sentinel names; with the argument `asyncio` by
the Limiter of weir_client.aio.

client_programs.py says how.
"""

import asyncio
import os
import select
import sys
import time

import weir_client
import weir_client.aio

GROUP, LIMIT = os.environ["WEIR_GROUP"], os.environ["WEIR_LIMIT"]
SENTINELS = os.environ["WEIR_SENTINELS"].split()
LOST = ("timeout", "connection", "noprimary")


async def ask(limiter, key):
    invoked = time.monotonic_ns()
    decision = limiter.allow(key, LIMIT)
    if asyncio.iscoroutine(decision):
        decision = await decision
    if decision.reason != "unavailable":
        return f"took {key} {int(decision.allowed)} {invoked} {time.monotonic_ns()}"
    if decision.cause in LOST:
        return f"failed {key} {decision.cause}"
    return f"refused {key} {decision.cause.upper()}"


async def main():
    module = weir_client.aio if sys.argv[1:] == ["asyncio"] else weir_client
    limiter = module.Limiter(sentinels=SENTINELS, master=GROUP, deadline=1, fail="closed")
    print("version", module.__name__, flush=True)
    key = sys.stdin.readline().strip()
    while key:
        if select.select([sys.stdin], [], [], 0.002)[0]:
            key = sys.stdin.readline().strip()
        else:
            print(await ask(limiter, key), flush=True)


asyncio.run(main())
