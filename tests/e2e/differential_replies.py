"""Replies as bytes: the end of each reply, its elements, and the parts that can be compared.

Two servers that agree still differ in ids, ports, versions and ages. So beside the comparison of
bytes there are the shapes below: each takes a reply apart and keeps the parts that must be equal.
"""

import re

NUMBER = re.compile(rb"-?\d+")


def end_of_reply(data, begin):
    """The end of the reply at `begin`; None if the reply is incomplete."""
    line_end = data.find(b"\r\n", begin)
    if line_end < 0:
        return None
    kind, text, position = data[begin : begin + 1], data[begin + 1 : line_end], line_end + 2
    if kind in b"+-:_#,(" or text == b"-1":
        return position
    if kind in b"$=!":
        position += int(text) + 2
        return position if position <= len(data) else None
    if kind not in b"*~>%":
        raise AssertionError(f"not a reply: {data[begin:line_end]!r}")
    for _ in range(int(text) * (2 if kind == b"%" else 1)):
        position = end_of_reply(data, position)
        if position is None:
            return None
    return position


def split_replies(data):
    """The replies in `data`, each as bytes; the last one may be the rest of a cut reply."""
    replies, begin = [], 0
    while begin < len(data):
        end = end_of_reply(data, begin)
        replies.append(data[begin:end])
        begin = len(data) if end is None else end
    return replies


def take_apart(reply):
    """A reply as (kind, bytes) or (kind, [elements]): a map's are names and values in turn."""
    line, _, rest = reply.partition(b"\r\n")
    kind, text = line[:1].decode(), line[1:]
    if kind in "$=!" and text != b"-1":
        return kind, rest[:-2]
    if kind not in "*~>%" or text == b"-1":
        return kind, text
    return kind, [take_apart(element) for element in split_replies(rest)]


def pairs(elements):
    return list(zip(elements[::2], elements[1::2]))


# --- Shapes: the comparable parts of replies whose bytes may differ ------------------------------


def kind(reply):
    """The type alone: of ids, sizes, times."""
    return take_apart(reply)[0]


def kinds(reply):
    """The types alone, of the elements too."""

    def of(part):
        return (part[0], [of(element) for element in part[1]]) if part[0] in "*~>%" else part[0]

    return of(take_apart(reply))


def unix_time(reply):
    """TIME: an array of seconds and microseconds, in digits."""
    outer, elements = take_apart(reply)
    return outer, [(inner, bool(NUMBER.fullmatch(text))) for inner, text in elements]


def greeting(reply):
    """HELLO: everything except the server's name, its version, and the connection's id."""
    outer, elements = take_apart(reply)
    own = (b"server", b"version", b"id")
    return outer, [
        (name, value[0] if name[1] in own else value) for name, value in pairs(elements)
    ]


def transaction_of(*shapes):
    """EXEC: a shape for each element; None compares its bytes."""

    def of(reply):
        head, _, rest = reply.partition(b"\r\n")
        elements = split_replies(rest)
        if len(elements) != len(shapes):
            return head, elements
        return head, [shape(e) if shape else e for shape, e in zip(shapes, elements)]

    return of


def slow_entries(reply):
    """SLOWLOG GET: the words of each entry; the kinds of all else."""
    outer, entries = take_apart(reply)
    return outer, [
        (inner, [value if kind == "*" else kind for kind, value in parts])
        for inner, parts in entries
    ]


def monitored(reply):
    """A line of MONITOR: the words, and how time and address are written."""
    kind, text = take_apart(reply)
    return kind, re.sub(rb"^\d+\.\d{6} \[0 127\.0\.0\.1:\d+\]", b"(when and who)", text)


def histograms(reply):
    """LATENCY HISTOGRAM: everything except the counts and the number of classes of times."""
    outer, elements = take_apart(reply)
    return outer, [
        (name, inner, [(field, value[0]) for field, value in pairs(fields)])
        for name, (inner, fields) in pairs(elements)
    ]


def refusals(reply):
    """ACL LOG: all but the ages and the clients, of which only the command and whether there was a
    MULTI: how much an aborted one had queued is not kept."""

    def of(name, value):
        if name[1] == b"age-seconds":
            return name, value[0], float(value[1]) >= 0
        if name[1] == b"client-info":
            return name, value[0], re.findall(rb" (?:multi=-?|cmd=\S*)", value[1])
        return name, value

    outer, entries = take_apart(reply)
    return outer, [(kind, [of(*pair) for pair in pairs(fields)]) for kind, fields in entries]


def matches(pattern):
    """Whether the text has only such characters: random passwords, run ids."""

    def of(reply):
        outer, text = take_apart(reply)
        return outer, bool(re.fullmatch(pattern, text))

    return of


# CLIENT LIST's figures of a connection's buffers, sockets and age differ between the servers.
_CLIENT_FIELDS = b"name flags db sub psub ssub multi cmd user redir resp".split()
_CLIENT_OWN_FIELDS = b"id addr laddr fd age idle qbuf qbuf-free argv-mem multi-mem rbs rbp".split()
_CLIENT_OWN_FIELDS += b"obl oll omem tot-mem events".split()


def client_lines(reply):
    """CLIENT INFO and LIST: the fields of 7.0 in their order, and the values that are no figures.

    7.2 has two fields more, and so have we.
    """
    outer, text = take_apart(reply)
    lines = []
    for line in text.removeprefix(b"txt:").splitlines():
        fields = [tuple(field.split(b"=", 1)) for field in line.split(b" ")]
        known = [f for f in fields if f[0] in _CLIENT_FIELDS + _CLIENT_OWN_FIELDS]
        lines.append([f if f[0] in _CLIENT_FIELDS else f[0] for f in known])
    return outer, lines, text.endswith(b"\n")


def help_text(reply):
    """HELP: simple strings, the first of which names the command, the last two being HELP's own."""
    outer, elements = take_apart(reply)
    known = re.compile(rb"\w+ <subcommand> \[<arg> \[value\] \[opt\] \.\.\.\]\. .*are:")
    return outer, {k for k, _ in elements}, bool(known.fullmatch(elements[0][1]))


def info_fields(*names):
    """INFO: the fields of these names: numbers as such, run ids as such, other texts as they are.

    A name is there as `name`, or with its value where that has to be equal, as `name=`.
    """

    def of(reply):
        outer, text = take_apart(reply)
        text = text.removeprefix(b"txt:").decode()
        fields = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
        seen = {}
        for name in names:
            value = fields.get(name.removesuffix("="))
            if not name.endswith("=") and value is not None:
                value = re.sub(r"[0-9a-f]{40}", "(id)", value)
                value = re.sub(r"-?\d+(\.\d+)*", "(number)", value)
            seen[name] = value
        return outer, seen

    return of


def command_stats(reply):
    """INFO commandstats or latencystats: the lines by name, without the durations of calls."""
    outer, text = take_apart(reply)
    times = re.compile(rb"(usec|usec_per_call|p[0-9.]+)=[0-9.]+")
    return outer, sorted(times.sub(rb"\1=(time)", text.removeprefix(b"txt:")).split(b"\r\n"))


def info_sections(reply):
    """INFO: the present sections, of those that tools read."""
    known = "Server Clients Memory Persistence Stats Replication CPU Modules Commandstats".split()
    known += "Errorstats Latencystats Cluster Keyspace".split()
    sections = re.findall(r"(?m)^# (\w+)\r$", take_apart(reply)[1].decode())
    return [name for name in known if name in sections]


def command_rows(reply):
    """COMMAND INFO: name, arity and key positions; the kinds of the six that are lists.

    Flags, categories and subcommands are each server's own, and so are the keys' descriptions.
    """
    outer, rows = take_apart(reply)
    return outer, [row if row[0] in "$_" else row[1][:2] + [row[1][2][0]] + row[1][3:6]
                   + [element[0] for element in row[1][6:]] for row in rows]


def command_documents(reply):
    """COMMAND DOCS: the commands, each with the names of the fields that all documents have."""
    common = [b"summary", b"since", b"group", b"complexity"]
    outer, elements = take_apart(reply)
    documents = []
    for (_, name), (inner, fields) in pairs(elements):
        names = [field for (_, field), _ in pairs(fields)]
        documents.append((name, inner, [field for field in common if field in names]))
    return outer, sorted(documents)
