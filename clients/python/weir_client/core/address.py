"""Where weir is: the URL of a Limiter, or the options that say the same.

    redis://[user[:password]@]host[:port]        rediss:// with TLS, ?ca=PATH
    unix:///path
    redis+sentinel://[user:password@]h1:26379,h2:26379/NAME        rediss+sentinel:// with TLS

All take ?deadline=50ms (or 1s) and ?fail=closed. User, password, path and NAME may be
percent-encoded. An error never shows the URL, as it has the password.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Dict, NamedTuple, Optional, Tuple

from .errors import Mistake
from .numbers import seconds as seconds_of
from .numbers import whole_number

PORT = 7379
SENTINEL_PORT = 26379

_SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")
_UNITS = {"ms": 0.001, "s": 1.0}


class Place(NamedTuple):
    """A host and its port; or, without a host, the path of a Unix socket."""

    host: str
    port: int = 0
    path: str = ""

    def __str__(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.host else self.path


@dataclasses.dataclass(frozen=True)
class Address:
    """One place, or the places of Sentinels and the name of the primary that they know."""

    places: Tuple[Place, ...]
    master: str = ""  # empty: without Sentinel
    uses_tls: bool = False
    ca: str = ""  # the path of the authorities' certificates; empty: the system's
    username: str = ""
    password: Optional[str] = dataclasses.field(default=None, repr=False)
    deadline: Optional[float] = None  # seconds; None: not said
    fail: str = ""

    @property
    def has_login(self):
        return bool(self.username) or self.password is not None

    def __str__(self):
        """The URL without the password."""
        if self.places[0].path:
            return f"unix://{self.places[0]}"
        scheme = "rediss" if self.uses_tls else "redis"
        if self.master:
            scheme += "+sentinel"
        user = f"{self.username}@" if self.username else ""
        name = f"/{self.master}" if self.master else ""
        return f"{scheme}://{user}{','.join(map(str, self.places))}{name}"


def parse_url(url):
    """The Address; a Mistake says which part of the URL is wrong."""
    if not isinstance(url, str):
        raise TypeError(f"the URL is of type {type(url).__name__}, not str")
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme in ("http", "https") and found:
        raise Mistake("weir's HTTP has no client here: docs/http.md says how to ask it")
    if scheme not in _SCHEMES or not found:
        raise Mistake(f"the URL does not begin with one of {', '.join(_SCHEMES)} and ://")
    if "#" in rest or re.search(r"[\s\x00-\x1f]", rest):
        raise Mistake("the URL has a blank or a '#': percent-encode them")
    rest, _, query = rest.partition("?")
    options = _parse_query(query, has_ca=scheme.startswith("rediss"))
    if scheme == "unix":
        if not rest.startswith("/") or rest == "/":
            raise Mistake("the URL of a Unix socket has an absolute path: unix:///path")
        return Address((Place("", 0, _decode(rest, "path")),), **options)
    login, _, rest = rest.rpartition("@")
    options.update(_parse_login(login), uses_tls=scheme.startswith("rediss"))
    hosts, _, path = rest.partition("/")
    if scheme.endswith("+sentinel"):
        if not path:
            raise Mistake("the URL lacks the name of the primary: redis+sentinel://host/NAME")
        places = tuple(_parse_place(each, SENTINEL_PORT) for each in hosts.split(","))
        return Address(places, _decode(path, "name"), **options)
    if path not in ("", "0"):
        raise Mistake("weir has one database: the URL's path is empty or /0")
    return Address((_parse_place(hosts, PORT),), **options)


def address_of(url, host=None, port=None, unix_socket=None, sentinels=None, master=None, **more):
    """The Address of a URL or of the options in its place; `more` are fields of Address, None for
    those that are not said. What a URL says, an option may not say again."""
    places = (host, port, unix_socket, sentinels, master)
    if url is not None:
        if any(each is not None for each in places):
            raise Mistake("a Limiter has a URL, or host and port, unix_socket, or sentinels")
        address = parse_url(url)
    else:
        address = _from_options(*places)
    said = {name: value for name, value in more.items() if value is not None}
    for name in ("username", "password"):
        if not isinstance(said.get(name, ""), str):
            raise TypeError(f"{name} is of type {type(said[name]).__name__}, not str")
    for name in said:
        if getattr(address, name) not in (None, "", False) and name != "uses_tls":
            raise Mistake(f"both the URL and an option say {name}")
    address = dataclasses.replace(address, **said)
    if address.uses_tls and address.places[0].path:
        raise Mistake("a Unix socket has no TLS")
    return address


def parse_deadline(seconds):
    """The deadline in seconds, checked."""
    if seconds_of(seconds, "the deadline") > 3600:
        raise Mistake("the deadline is above 0, and an hour at most")
    return float(seconds)


def parse_fail(word):
    if word not in ("open", "closed"):
        raise Mistake("fail is 'open' or 'closed'")
    return word


def _from_options(host, port, unix_socket, sentinels, master):
    if unix_socket is not None:
        if any(each is not None for each in (host, port, sentinels, master)):
            raise Mistake("a Unix socket has no host, port or sentinels")
        return Address((Place("", 0, str(unix_socket)),))
    if (sentinels is None) != (master is None):
        raise Mistake("sentinels need the name of their master, and that needs sentinels")
    if port is not None:
        whole_number(port, "the port")
    if isinstance(sentinels, (str, bytes)):
        raise TypeError("sentinels is one text, not a list of \"host:port\"")
    if sentinels is None:
        text = _bracketed("127.0.0.1" if host is None else host)
        return Address((_parse_place(text if port is None else f"{text}:{port}", PORT),))
    if host is not None or port is not None or not sentinels or not master:
        raise Mistake("sentinels are a list of \"host:port\", in place of host and port")
    return Address(tuple(_parse_place(each, SENTINEL_PORT) for each in sentinels), master)


def _bracketed(host):
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _parse_place(text, port):
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^][:/,@]+))(?::(\d{1,5}))?", text)
    if not match:
        raise Mistake("the URL's host is name, name:port, or an IPv6 address in brackets")
    ipv6, name, digits = match.groups()
    if digits is not None:
        port = int(digits)
    if not 0 < port < 65536:
        raise Mistake("the port is a number from 1 to 65535")
    return Place(ipv6 or name, port)


def _parse_login(login):
    user, colon, password = login.partition(":")
    return {
        "username": _decode(user, "user"),
        "password": _decode(password, "password") if colon else None,
    }


def _parse_query(query, has_ca):
    options: Dict[str, object] = {}
    for each in query.split("&") if query else ():
        name, _, value = each.partition("=")
        if name in options:
            raise Mistake(f"the URL has the parameter {name} twice")
        if name == "deadline":
            options[name] = _parse_time(value)
        elif name == "fail":
            options[name] = parse_fail(value)
        elif name == "ca" and has_ca and value:
            options[name] = _decode(value, "ca")
        else:
            known = "deadline and fail; rediss also ca"
            raise Mistake(f"the URL has an unknown parameter; it may have {known}")
    return options


def _parse_time(text):
    match = re.fullmatch(r"(\d{1,7})(ms|s)", text, re.ASCII)
    if not match:
        raise Mistake("the URL's deadline is like 50ms or 1s")
    return parse_deadline(int(match[1]) * _UNITS[match[2]])


def _decode(text, part):
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise Mistake(f"the URL's {part} has a '%' that encodes nothing: a '%' is %25")
    raw = re.sub(rb"%(..)", lambda hexa: bytes([int(hexa[1], 16)]), text.encode())
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Mistake(f"the URL's {part} is no UTF-8 text") from None
