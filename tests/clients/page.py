"""Makes docs/clients.md: how each client calls RL.ALLOW, in the lines that the programs here run.

    page.py        prints the page, as `./dev docs` writes it

The page shows the lines of a program between its marks [docs] and [/docs].
"""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from clients import CLIENTS, STEPS

FOLDER = Path(__file__).parent

BEGIN = """\
# Clients

`./dev docs` writes this page from the programs in tests/clients, one for each client library. A
test fails when the page is stale, and `./dev clients` runs the programs.

RL.ALLOW is a command like any other, and every client library has a call for commands that it does
not know by name. In the code below, `port`, `user`, `password` and `deadline` are yours: 7379, no
user and no password if the server has none, and, say, 50 ms. The reply is the same five integers in
RESP2 and RESP3. A denial is a reply like any other; a misspelt limit is an error, raised or
returned as the library does it.

**Do not cache replies**: time alone changes a bucket. (Only a denial holds for the time that it
names, and the packages keep it that long.) Leave the library's client-side caching off; weir does
not know CLIENT TRACKING.

**A request that is sent twice is charged twice.** Some libraries send a request again if it got no
reply. The code below turns that off, and a test checks it with a connection that loses one reply.
(RL.RESERVE, RL.COMMIT and RL.CANCEL have an id, so that they may be sent again.)

[clients](../clients) has clients for five languages, which have a deadline, fail open or closed,
as you choose, and settle reservations; [recipes.md](recipes.md) shows requests for common uses.

A user of `--users-file` needs only the category @limit: it has the commands that decide, and those
that libraries send on their own, such as HELLO, CLIENT SETINFO, INFO and MULTI.

```
user app on >secret ~* +@limit
```
"""


@dataclass(frozen=True)
class Section:
    title: str
    install: str
    program: str
    notes: str


SECTIONS = (
    Section(
        "redis-cli and redis-benchmark",
        "apt-get install redis-tools",
        "redis_cli.py",
        """\
At its prompt redis-cli shows the words of each command while you type, and reconnects with the next
command. With `-e` an error reply exits with status 1; `--pipe` sends a file of requests.
redis-benchmark ends at the first error:
`redis-benchmark -p 7379 -P 16 -r 100000 RL.ALLOW user:__rand_int__ 10/s`.""",
    ),
    Section(
        "Python: redis-py",
        "apt-get install python3-redis`, or `pip install redis",
        "python_redis.py",
        """\
A lost reply is a `ConnectionError` or a `TimeoutError`, a bad limit a `ResponseError`. Versions
from 6 on repeat a request unless `retry` is given as it is here. `pipeline()` puts its commands
into MULTI; `pipeline(transaction=False)` does not.""",
    ),
    Section(
        "C and C++: hiredis",
        "apt-get install libhiredis-dev",
        "hiredis.cc",
        """\
After a call without a reply the context cannot be used again: free it, connect and log in. A
context is for one thread.""",
    ),
    Section(
        "Ruby: redis-rb",
        "apt-get install ruby-redis",
        "ruby_redis.rb",
        """\
Without `reconnect_attempts: 0` it repeats a request once. A lost reply is a
`Redis::BaseConnectionError`, a bad limit a `Redis::CommandError`; the next call reconnects.
Within `pipelined` and `multi` the call is `batch.call(...)`.""",
    ),
    Section(
        "PHP: phpredis",
        "apt-get install php-redis",
        "php_redis.php",
        """\
A bad limit raises no exception: the call returns `false`, and `getLastError()` has the text. A lost
reply is a `RedisException`. The next call reconnects and logs in.""",
    ),
    Section(
        "Perl: Redis.pm",
        "apt-get install libredis-perl",
        "perl_redis.pl",
        """\
With `reconnect` a call first reconnects if it has to, within that time, and repeats no request. A
bad limit or a lost reply is a `die`. With a function as its last argument a call is one of a
pipeline, and `wait_all_responses` calls the functions.""",
    ),
    Section(
        "JavaScript: node-redis 4, 5 and 6",
        "npm install redis",
        "node_redis.mjs",
        """\
All words are strings. Requests of one turn of the event loop are a pipeline; `multi()` has
`addCommand([...])`. It has no deadline for a reply: [weir-client](../clients/javascript) has one.
Version 6 speaks RESP3 and wants Node 20. `apt-get install node-redis` is version 4.""",
    ),
    Section(
        "JavaScript: ioredis 5 and 6, iovalkey",
        "npm install ioredis",
        "ioredis.mjs",
        """\
Without `maxRetriesPerRequest: 0` it sends a request again whenever it reconnects. Version 6
speaks RESP3 and wants Node 20. iovalkey is the same but for its name, in `npm install iovalkey` and
in the import.""",
    ),
    Section(
        "JavaScript: valkey-glide",
        "npm install @valkey/valkey-glide",
        "valkey_glide.mjs",
        """\
It connects only if it may read INFO. A batch is a `Batch`, with `customCommand([...])`, for
`weir.exec(batch, true)`.""",
    ),
)

LANGUAGES = {
    ".cc": "cpp",
    ".mjs": "js",
    ".php": "php",
    ".pl": "perl",
    ".py": "python",
    ".rb": "ruby",
}
MARKED = re.compile(r"^ *(?:#|//) \[docs\]\n(.*?)^ *(?:#|//) \[/docs\]\n", re.DOTALL | re.MULTILINE)


def snippet(program):
    """The pieces between the marks of a program, in order, each without its indentation."""
    pieces = MARKED.findall((FOLDER / program).read_text(encoding="utf-8"))
    assert pieces, f"nothing between [docs] and [/docs] in {program}"
    return "".join(textwrap.dedent(piece) for piece in pieces)


def _section(section):
    code = snippet(section.program)
    language = "sh" if code.startswith("# $") else LANGUAGES[Path(section.program).suffix]
    install = f"`{section.install}`"
    return f"\n## {section.title}\n\n{install}\n\n```{language}\n{code}```\n\n{section.notes}\n"


def _row(cells):
    return " ".join(f"| {cell}".strip() for cell in cells) + " |\n"


def _tested():
    """The table of the steps that each client takes."""
    text = "\n## What is tested\n\n"
    text += "Each against a server of its own, without a user and with one:\n\n"
    text += "".join(f"- {step}: {meaning}\n" for step, meaning in STEPS.items()) + "\n"
    text += _row(["client", *STEPS]) + _row(["---"] * (1 + len(STEPS)))
    for client in CLIENTS:
        text += _row([client.name, *("yes" if step in client.steps else "" for step in STEPS)])
    return text


def page():
    return BEGIN + "".join(_section(section) for section in SECTIONS) + _tested()


if __name__ == "__main__":
    print(page(), end="")
