"""A client of Envoy's rate limit service, with calls and answers in a short notation.

A call is `[DOMAIN|]DESCRIPTOR; DESCRIPTOR ... [#n]`: descriptors such as `key1=v1/key2=v2`, in
which a `%` of a value stands for a slash, each with `+n` for hits of its own, `-n` for negative
ones, `@10/DAY` or `@10/5*MINUTE` for a limit that it brings; and `#n` for the hits of the request.
An answer is a word for each descriptor: `r7` for OK with 7 left, `-` for OK without a limit, `inf`
for OK without a bound, `OVER`, which is `OVER-` without a limit; and, behind `|`, the word for all:
OK or OVER. `!3` is an error of that number.
"""

import struct

from grpc_health_test import GrpcClient

SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
UNITS = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"]
NO_BOUND = 2**32 - 1


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def number_field(field, number):
    return varint(field << 3) + varint(number) if number else b""


def bytes_field(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def fields_of(message):
    """The fields of a message by their numbers, each a list of numbers or bytes."""
    found, at = {}, 0

    def read():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        tag = read()
        size = {0: 0, 1: 8, 2: None}[tag & 7]
        value = read() if size != 8 else 0
        if size != 0:
            size = size or value
            value, at = message[at:at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def descriptor_message(text):
    entries, *more = text.split()
    message = b""
    for pair in entries.split("/") if entries != "none" else []:
        key, _, value = pair.partition("=")
        value = value.replace("%", "/").encode()
        message += bytes_field(1, bytes_field(1, key.encode()) + bytes_field(2, value))
    for word in more:
        if word[0] == "@":
            count, _, unit = word[1:].partition("/")
            times, _, unit = unit.rpartition("*")
            limit = number_field(1, int(count)) + number_field(2, UNITS.index(unit))
            if times:
                limit += bytes_field(3, number_field(1, int(times)))
            message += bytes_field(2, limit)
        else:
            message += bytes_field(3, number_field(1, int(word[1:])))
            message += number_field(4, int(word[0] == "-"))
    return message


def request_message(call, domain):
    head, bar, rest = call.partition("|")
    if bar:
        domain, call = head, rest
    call, _, hits = call.partition("#")
    message = bytes_field(1, domain.encode())
    for descriptor in filter(None, (text.strip() for text in call.split(";"))):
        message += bytes_field(2, descriptor_message(descriptor))
    return message + number_field(3, int(hits or 0))


def value_of(message):
    """A google.protobuf.Value as Python's."""
    (field, (value,)), = fields_of(message).items()
    if field == 6:
        return [value_of(element) for element in fields_of(value).get(1, [])]
    return {1: lambda: None, 2: lambda: struct.unpack("<d", value)[0], 3: lambda: value.decode(),
            4: lambda: bool(value), 5: lambda: struct_of(value)}[field]()


def struct_of(message):
    """A google.protobuf.Struct as a dict."""
    entries = map(fields_of, fields_of(message).get(1, []))
    return {entry[1][0].decode(): value_of(entry[2][0]) for entry in entries}


class Status:
    """The status of a descriptor."""

    def __init__(self, message):
        fields = fields_of(message)
        self.is_over = fields.get(1) == [2]
        self.remaining = fields.get(3, [0])[0]
        self.limit, self.reset = None, None
        if 2 in fields:
            limit = fields_of(fields[2][0])
            self.limit = f"{limit.get(1, [0])[0]} {UNITS[limit.get(2, [0])[0]]}"
            if 4 in limit:
                self.limit += f" x {fields_of(limit[4][0])[1][0]}"
            if 3 in limit:
                self.limit += f" {limit[3][0].decode()}"
            self.reset = fields_of(fields[4][0]).get(1, [0])[0]

    def __str__(self):
        if self.is_over:
            return "OVER" if self.limit else "OVER-"
        if not self.limit:
            return "inf" if self.remaining == NO_BOUND else "-"
        return f"r{self.remaining}"


class Answer:
    """The answer to a call, or its error."""

    def __init__(self, body, error, text=""):
        self.error, self.text, self.statuses, self.is_over = error, text, [], False
        self.headers, self.metadata = {}, None
        if error == "0":
            fields = fields_of(body[5:])
            self.is_over = fields[1] == [2]
            self.statuses = [Status(message) for message in fields.get(2, [])]
            for header in map(fields_of, fields.get(3, [])):
                self.headers[header[1][0].decode()] = header[2][0].decode()
            if 6 in fields:
                self.metadata = struct_of(fields[6][0])

    def __str__(self):
        if self.error != "0":
            return f"!{self.error}"
        words = " ".join(map(str, self.statuses))
        return f"{words} | {'OVER' if self.is_over else 'OK'}"


class RlsClient(GrpcClient):
    def ask(self, call, domain, **more):
        message = request_message(call, domain)
        prefix = b"\0" + len(message).to_bytes(4, "big")
        return self._ask(prefix + message, **more)

    def ask_too_much(self):
        """The beginning of a message of 64 KiB and a byte, which is answered at once."""
        return self._ask(b"\0" + (64 * 1024 + 1).to_bytes(4, "big") + b"x" * 1000)

    def _ask(self, body, **more):
        stream = self.begin(SHOULD_RATE_LIMIT, body, **more)
        self.read_until(lambda: stream in self.ended)
        fields = self.fields[stream]
        return Answer(self.bodies[stream], fields.get("grpc-status"), fields.get("grpc-message"))
