"""Drives the server with redis-py, as Debian packages it."""

import threading

# [docs]
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

# [/docs]
try:
    from redis.commands import CommandsParser
except ImportError:  # from redis-py 5.1 on
    from redis._parsers import CommandsParser
from steps import DEADLINE as deadline
from steps import ADMIN_PASSWORD, ADMIN_USER, LOSSY_PORT, PASSWORD, PORT, USER, check, run


def open_client(port, user=USER, password=PASSWORD, **settings):
    # [docs]
    weir = redis.Redis(
        port=port,
        username=user,
        password=password,
        socket_timeout=deadline,
        retry=Retry(NoBackoff(), 0),  # a request that is sent twice is charged twice
    )
    # [/docs]
    weir.connection_pool.connection_kwargs.update(settings)  # which the page does not show
    return weir


weir = open_client(PORT)


def remaining_of(reply):
    check(reply[0], 1)
    return reply[1]


def connect():
    check(weir.ping(), True)
    checking = open_client(PORT, health_check_interval=1e-9)  # with a PING before each request
    check([checking.ping() for _ in range(3)], [True] * 3)


def allow():
    # [docs]
    allowed, remaining, retry_after_ms, reset_after_ms, limit = weir.execute_command(
        "RL.ALLOW", "user:42", "10/s", "1000/h"
    )
    # [/docs]
    numbers = [allowed, remaining, retry_after_ms, reset_after_ms, limit]
    check(numbers, [1, 9, 0, 3600, 0])


def pipeline():
    count = 5000
    batch = weir.pipeline(transaction=False)
    for i in range(count):
        batch.execute_command("RL.ALLOW", "pipeline", f"{count}/w")
        if i % 100 == 0:
            batch.execute_command("RL.ALLOW", "pipeline", f"{i}/x")
    replies = batch.execute(raise_on_error=False)
    decided = [remaining_of(reply) for reply in replies if isinstance(reply, list)]
    check(decided, list(range(count))[::-1])
    errors = [str(reply).split(":")[0] for reply in replies if not isinstance(reply, list)]
    check(errors, [f"invalid limit '{i}/x'" for i in range(0, count, 100)])


def transaction():
    batch = weir.pipeline(transaction=True)
    for _ in range(2):
        batch.execute_command("RL.ALLOW", "transaction", "10/h")
    check([remaining_of(reply) for reply in batch.execute()], [9, 8])


def error():
    before = weir.client_id()
    try:
        weir.execute_command("RL.ALLOW", "error", "10/x")
    except redis.ResponseError as answer:
        check("invalid limit '10/x'" in str(answer), True)
    else:
        raise AssertionError("a bad limit is no error")
    check(weir.client_id(), before)


def reconnect():
    before = weir.client_id()
    admin = open_client(PORT, ADMIN_USER, ADMIN_PASSWORD)
    admin.execute_command("CLIENT", "KILL", "TYPE", "normal")
    try:
        after = weir.client_id()
    except redis.ConnectionError:
        after = weir.client_id()
    check(after > before, True)
    check(remaining_of(weir.execute_command("RL.ALLOW", "reconnect", "10/h")), 9)


def once():
    try:
        open_client(LOSSY_PORT).execute_command("RL.ALLOW", "lost", "10/h")
    except redis.ConnectionError:
        pass
    else:
        raise AssertionError("a lost reply is no error")
    check(remaining_of(weir.execute_command("RL.ALLOW", "lost", "10/h")), 8)


def limits():
    words = ("RL.PEEK", "limits", "10/s", "COST", 11, "WITHLIMITS")
    check(weir.execute_command(*words), [0, 10, -1, 0, 0, [[b"10/s", 0, 10, 10, -1, 0, 0, 11, 0]]])
    decoded = open_client(PORT, decode_responses=True).execute_command(*words)
    check(decoded[5][0][0], "10/s")


def bytes_():
    keys = (b"", b"a", b"a\0", b"a\r\n", b"\xff", b"AND", b"x" * 65_536)
    for left in (2, 1):
        for key in keys:
            check(remaining_of(weir.execute_command("RL.ALLOW", key, "3/w")), left)


def threads():
    burst = 1000
    answers = []

    def take():
        for _ in range(3 * burst // 8):
            answers.append(weir.execute_command("RL.ALLOW", "threads", f"{burst}/w"))

    takers = [threading.Thread(target=take) for _ in range(8)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    check(sorted(a[1] for a in answers if a[0] == 1), list(range(burst)))
    check({a[1] for a in answers if a[0] == 0}, {0})


def tools():
    admin = open_client(PORT, ADMIN_USER, ADMIN_PASSWORD, client_name="me", decode_responses=True)
    (own,) = [line for line in admin.client_list() if line["name"] == admin.client_getname()]
    check((own["id"], own["cmd"], own["db"]), (str(admin.client_id()), "client|list", "0"))
    info = admin.info()
    check((info["redis_mode"], info["tcp_port"], "db0" in info), ("standalone", PORT, True))
    check(admin.info("nonsense"), {})
    check(admin.config_get("maxclients"), {"maxclients": str(info["maxclients"])})
    check(admin.time()[0] > 1_600_000_000, True)
    check(admin.command_count(), len(admin.command()))
    check(admin.command()["rl.allow"]["arity"], -3)
    words = "RL.ALLOW a 1/s AND b 1/s 9/m AND c 1/s".split()
    check(admin.command_getkeys(*words), ["a", "b", "c"])
    check(CommandsParser(admin).get_keys(admin, *words), ["a", "b", "c"])  # as the cluster's client
    admin.execute_command("RL.ALLOW", "tools", "100/100s")
    check((admin.exists("tools", "none"), admin.type("tools")), (1, "bucket"))
    check((admin.ttl("tools"), admin.pttl("tools") in range(1, 1001)), (1, True))
    check((admin.delete("tools", "none"), admin.flushall(), admin.dbsize()), (1, True, 0))


run(
    redis.__version__,
    connect,
    allow,
    pipeline,
    transaction,
    error,
    reconnect,
    once,
    limits,
    bytes_,
    threads,
    tools,
)
