"""The clients of the matrix: the program of each, its package, and the steps that it can take."""

from dataclasses import dataclass

# The steps of the programs; a client that cannot take a step leaves it out.
STEPS = {
    "connect": "PING",
    "allow": "RL.ALLOW, whose five integers are read",
    "pipeline": "several RL.ALLOW in one go, answered in order",
    "transaction": "MULTI, RL.ALLOW twice, EXEC",
    "error": "a limit that is misspelt is the library's error, and the connection stays",
    "reconnect": "CLIENT KILL from another connection, then RL.ALLOW on a new one",
    "once": "a request whose reply is lost is an error, and is not sent again",
    "limits": "WITHLIMITS of a denial, whose limits are arrays, or maps in RESP3",
    "bytes": "keys of any bytes",
    "threads": "many connections share a bucket, and each request is decided once",
    "tools": "the library's own calls for INFO, CLIENT LIST, COMMAND, EXISTS and their like",
}
COMMON = ("connect", "allow", "pipeline", "transaction", "error", "reconnect", "once")


class Unavailable(Exception):
    """The reason why a client cannot run here."""


@dataclass(frozen=True)
class Client:
    name: str
    program: str  # and its arguments
    package: str = ""  # of Debian
    npm: str = ""  # the argument of `npm install`
    node_min: int = 18
    steps: tuple = COMMON


def _redis_cli(name, mode, steps):
    return Client(name, f"redis_cli.py {mode}", package="redis-tools", steps=tuple(steps.split()))


CLIENTS = (
    _redis_cli("redis-cli", "arguments", "connect allow error once limits bytes"),
    _redis_cli(
        "redis-cli, typed to", "interactive", "connect allow transaction error reconnect tools"
    ),
    _redis_cli("redis-cli -3", "resp3", "connect allow transaction error limits"),
    _redis_cli("redis-cli --pipe", "pipe", "allow pipeline transaction error"),
    _redis_cli("redis-cli --stat", "stat", "connect"),
    Client(
        "redis-benchmark",
        "redis_benchmark.py",
        package="redis-tools",
        steps=("connect", "allow", "pipeline", "error", "reconnect", "threads"),
    ),
    Client("redis-py", "python_redis.py", package="python3-redis", steps=tuple(STEPS)),
    Client("hiredis", "hiredis.cc", package="libhiredis-dev", steps=(*COMMON, "limits", "bytes")),
    Client("redis-rb", "ruby_redis.rb", package="ruby-redis"),
    Client("phpredis", "php_redis.php", package="php-redis"),
    Client("Redis.pm", "perl_redis.pl", package="libredis-perl"),
    Client("node-redis, Debian's", "node_redis.mjs", package="node-redis"),
    Client("node-redis 4", "node_redis.mjs", npm="redis@4"),
    Client("node-redis 5", "node_redis.mjs", npm="redis@5"),
    Client("node-redis 6", "node_redis.mjs", npm="redis@6", node_min=20),
    Client("ioredis 5", "ioredis.mjs", npm="ioredis@5"),
    Client("ioredis 6", "ioredis.mjs", npm="ioredis@6", node_min=20),
    Client("iovalkey", "ioredis.mjs", npm="ioredis@npm:iovalkey@0"),
    Client("valkey-glide", "valkey_glide.mjs", npm="@valkey/valkey-glide@2"),
)

# Programs that take tokens at the primary that Sentinel names (client_programs.py).
SENTINEL_CLIENTS = (
    Client("redis-py", "sentinel_python_redis.py", package="python3-redis"),
    Client("weir_client", "sentinel_weir_client.py", package="python3-redis"),
    Client("weir_client.aio", "sentinel_weir_client.py asyncio", package="python3-redis"),
    Client("weir-client", "sentinel_weir_client.mjs", package="node-redis"),
    Client("weir-client on 6", "sentinel_weir_client.mjs", npm="redis@6", node_min=20),
    Client("weir_client of Go", "go/sentinel/program.go"),
    Client("rust", "weir-client-sentinel"),
    Client("rust-tokio", "weir-client-sentinel tokio"),
    Client("weir_client of C++", "sentinel_cpp_client.py", package="libhiredis-dev"),
    Client("redis-rb", "sentinel_ruby_redis.rb", package="ruby-redis"),
    Client("ioredis 5", "sentinel_ioredis.mjs", npm="ioredis@5"),
    Client("ioredis 6", "sentinel_ioredis.mjs", npm="ioredis@6", node_min=20),
    Client("iovalkey", "sentinel_ioredis.mjs", npm="ioredis@npm:iovalkey@0"),
)
