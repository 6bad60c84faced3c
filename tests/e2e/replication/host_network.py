"""Hosts of a test: network namespaces on a bridge, which are cut off, muted or slowed one by one.

Each host has two addresses: one for its server and one for its Sentinel, so that the packets of
either are cut without the other's. The test itself is in the root namespace, on the bridge too. A
cut is silent: packets are lost, and nobody is told. A thread can enter a host, so that it sees what
a client on that host sees, while the host is cut off as well.

Needs root and iproute2, and nothing else.
"""

import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess

from weir_e2e import DEADLINE, Client

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_CUT = "100"  # the preference of rules that lose packets, before the table of own addresses
_OWN = "200"
_libc = ctypes.CDLL(None, use_errno=True)


def ip(*words):
    """Runs `ip` with the words; returns what it writes."""
    done = subprocess.run(
        ("ip", *words), capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def why_not():
    """The reason for which there can be no hosts here; empty if there is none."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"weir{os.getpid()}probe"
    try:
        ip("netns", "add", name)
    except OSError as error:
        return f"no network namespaces: {error}"
    try:
        # Whatever else the hosts need of the kernel.
        ip("-n", name, "link", "add", "bridge", "type", "bridge")
        ip("-n", name, "link", "add", "one", "type", "veth", "peer", "name", "other")
        ip("-n", name, "rule", "add", "pref", _CUT, "iif", "one", "blackhole")
    except OSError as error:
        return f"no bridge of hosts: {error}"
    finally:
        ip("netns", "del", name)
    return ""


def remove_stale():
    """Removes what tests have left that were killed, and ends what still runs on their hosts."""
    for name in re.findall(r"^(weir\d+(?:n\d+|probe))\b", ip("netns"), re.MULTILINE):
        if _is_running(re.search(r"\d+", name).group()):
            continue
        with contextlib.suppress(OSError):  # another test may do the same
            for process in ip("netns", "pids", name).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            ip("netns", "del", name)
    for name, process in re.findall(r"^((?:wv|wb)(\d+)\S*?)[@ ]", ip("-brief", "link"), re.M):
        if not _is_running(process):
            with contextlib.suppress(OSError):
                ip("link", "del", name)


def _is_running(process):
    return os.path.exists(f"/proc/{process}")


def _set_namespace(descriptor):
    if _libc.setns(descriptor, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


class RemoteClient(Client):
    """A client of a server on any address."""

    def __init__(self, address, port, seconds):
        """`seconds`: for which it waits for anything."""
        # pylint: disable=super-init-not-called
        self.socket = socket.create_connection((address, port), seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._unread = bytearray()
        self._begin = 0


class Host:
    """A namespace with the addresses of a server and of a Sentinel."""

    def __init__(self, index, prefix):
        """`prefix`: of all addresses, `10.199.7.`."""
        self.index = index
        self.namespace = f"weir{os.getpid()}n{index}"
        self.link = f"wv{os.getpid()}.{index}"  # the end that is on the bridge
        self.address = f"{prefix}{index}"
        self.sentinel_address = f"{prefix}{100 + index}"
        self.starter = ("ip", "netns", "exec", self.namespace)

    @property
    def addresses(self):
        return self.address, self.sentinel_address

    def ip(self, *words):
        return ip("-n", self.namespace, *words)

    @contextlib.contextmanager
    def entered(self):
        """The thread is on the host: its new sockets are, and 127.0.0.1 is the host's."""
        with (
            open("/proc/thread-self/ns/net", encoding="ascii") as before,
            open(f"/run/netns/{self.namespace}", encoding="ascii") as own,
        ):
            _set_namespace(own.fileno())
            try:
                yield
            finally:
                _set_namespace(before.fileno())


class HostNetwork:
    """Hosts, numbered from 1, on a bridge. What was made of them goes when the test ends."""

    def __init__(self, test, count):
        remove_stale()
        self._prefix = self._free_prefix()
        self._bridge = f"wb{os.getpid()}"
        # Without an address of its own a bridge takes another one when a host is cut off.
        ip("link", "add", self._bridge, "address", "02:77:65:69:72:01", "type", "bridge")
        test.addCleanup(ip, "link", "del", self._bridge)
        ip("addr", "add", f"{self._prefix}254/24", "dev", self._bridge)
        ip("link", "set", self._bridge, "up")
        self.hosts = [Host(index, self._prefix) for index in range(1, count + 1)]
        for host in self.hosts:
            self._add(test, host)

    @staticmethod
    def _free_prefix():
        used = ip("-4", "-brief", "address")
        for offset in range(256):
            prefix = f"10.199.{(os.getpid() + offset) % 256}."
            if prefix not in used:
                return prefix
        raise OSError("all networks 10.199.x.0/24 are in use")

    def _add(self, test, host):
        ip("netns", "add", host.namespace)
        test.addCleanup(ip, "netns", "del", host.namespace)
        ip("link", "add", host.link, "type", "veth", "peer", "name", "e0", "netns", host.namespace)
        test.addCleanup(ip, "link", "del", host.link)  # it would go a moment after the namespace
        ip("link", "set", host.link, "master", self._bridge, "up")
        for address in host.addresses:
            host.ip("addr", "add", f"{address}/24", "dev", "e0")
        for link in ("lo", "e0"):
            host.ip("link", "set", link, "up")
        # Own addresses are looked up first, so that rules cannot lose what arrives for them.
        host.ip("rule", "add", "pref", _OWN, "lookup", "local")
        host.ip("rule", "del", "pref", "0")

    def others(self, host):
        return [other for other in self.hosts if other is not host]

    def cut(self, host):
        """Loses all packets between the host and everybody else."""
        ip("link", "set", host.link, "nomaster")

    def lose(self, host, source, target="0.0.0.0/0"):
        """Loses the packets that arrive at the host, from addresses to addresses."""
        host.ip("rule", "add", "pref", _CUT, "iif", "e0", "from", source, "to", target, "blackhole")

    def mute(self, host):
        """Loses what the host sends to the other hosts, and not what it gets from them."""
        for other in self.others(host):
            for address in host.addresses:
                self.lose(other, address)

    def deafen(self, host):
        """Loses what the host gets from the other hosts, and not what it sends to them."""
        for other in self.others(host):
            for address in other.addresses:
                self.lose(host, address)

    def cut_sentinel(self, host):
        """Loses all packets between the host's Sentinel and the other hosts."""
        for other in self.others(host):
            self.lose(other, host.sentinel_address)
            for address in other.addresses:
                self.lose(host, address, host.sentinel_address)

    def cut_link(self, sender, receiver):
        """Loses what one host's server sends to the other host's server."""
        self.lose(receiver, sender.address, receiver.address)

    def slow(self, host, rate):
        """Makes the host's way in narrow."""
        words = ("root", "tbf", "rate", rate, "burst", "32kb", "latency", "200ms")
        command = ("tc", "qdisc", "add", "dev", host.link, *words)
        subprocess.run(command, check=True, timeout=DEADLINE)

    def heal(self):
        """Undoes all that was done to all hosts."""
        for host in self.hosts:
            ip("link", "set", host.link, "master", self._bridge)
            command = ("tc", "qdisc", "del", "dev", host.link, "root")
            subprocess.run(command, capture_output=True, timeout=DEADLINE, check=False)
            while f"{_CUT}:" in host.ip("rule"):
                host.ip("rule", "del", "pref", _CUT)
