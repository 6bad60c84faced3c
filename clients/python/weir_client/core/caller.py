"""The caller of a request: the key `ip:...` of its address, as weir's own {ip} writes it.

A user may have a whole IPv6 network, so 64 bits count. But an address that carries an IPv4 address
is that one: mapped, translated (also by NAT64), 6to4 or compatible.
"""

import ipaddress
import re

from .errors import Mistake

_PREFIX_BITS = 64
# The first 96 bits of addresses whose last 32 are an IPv4 address.
_CARRIERS = (0xFFFF, 0xFFFF_0000, 0x0064_FF9B << 64)
_COMPATIBLE = 0
_6TO4 = 0x2002


def caller_key(peer, forwarded=(), trusted_hops=0):
    """The key of a request: `peer` is the address of the connection, `forwarded` the values of
    X-Forwarded-For, of which the entry `trusted_hops` from the right is read if that is above 0."""
    text = peer
    if trusted_hops > 0:
        entries = [each for value in forwarded for each in value.split(",")]
        if len(entries) < trusted_hops:
            raise Mistake(f"X-Forwarded-For has fewer than {trusted_hops} entries")
        text = entries[-trusted_hops].strip(" \t")
    network = network_of(text) if text else None
    if network is None:
        raise Mistake("the request has no address to limit it by: pass `key`")
    return f"ip:{network}"


def network_of(text):
    """The IPv4 address, or the network of the IPv6 address, that counts as one caller; None if the
    text is no address."""
    match = re.fullmatch(r"\[([^\]]*)\](?::[0-9]+)?|([^:\[\]]*):[0-9]+|([^\[\]]*)", text)
    if match is None:
        return None
    bracketed, with_port, plain = match.groups()
    address = next(each for each in (bracketed, with_port, plain) if each is not None)
    if ":" in address:
        address = address.partition("%")[0]
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if parsed.version == 4:
        return str(parsed)
    if (carried := _carried(int(parsed))) is not None:
        return str(ipaddress.IPv4Address(carried))
    shift = 128 - _PREFIX_BITS
    return str(ipaddress.IPv6Address(int(parsed) >> shift << shift))


def _carried(number):
    """The IPv4 address within an IPv6 address, or None."""
    first, last = number >> 32, number & 0xFFFF_FFFF
    if first in _CARRIERS or (first == _COMPATIBLE and last > 1):
        return last
    return number >> 80 & 0xFFFF_FFFF if number >> 112 == _6TO4 else None
