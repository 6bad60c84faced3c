"""redis-py, as Debian packages it."""

# [docs]
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

# [/docs]
from steps import DEADLINE as deadline
from steps import ADMIN_PASSWORD, ADMIN_USER, LOSSY_PORT, PASSWORD, PORT, USER, check, run


def open_client(port, user=USER, password=PASSWORD):
    # [docs]
    weir = redis.Redis(
        port=port,
        username=user,
        password=password,
        socket_timeout=deadline,
        retry=Retry(NoBackoff(), 0),  # a request that is sent twice is charged twice
    )
    # [/docs]
    return weir


weir = open_client(PORT)


def remaining_of(reply):
    check(reply[0], 1)
    return reply[1]


def connect():
    check(weir.ping(), True)


def allow():
    # [docs]
    allowed, remaining, retry_after_ms, reset_after_ms, limit = weir.execute_command(
        "RL.ALLOW", "user:42", "10/s", "1000/h"
    )
    # [/docs]
    numbers = [allowed, remaining, retry_after_ms, reset_after_ms, limit]
    check(numbers, [1, 9, 0, 3600, 0])


def pipeline():
    batch = weir.pipeline(transaction=False)
    for _ in range(3):
        batch.execute_command("RL.ALLOW", "pipeline", "10/h")
    check([remaining_of(reply) for reply in batch.execute()], [9, 8, 7])


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


run(redis.__version__, connect, allow, pipeline, transaction, error, reconnect, once)
