"""Clients that make a server hold as much memory as they can, and how much it holds.

Each kind of client is tried on its own server, CLIENTS of them at once, before AUTH or after it.
They send until the server accepts no more, and read nothing. The table shows how much the server's
resident memory grew at its peak, how much of that is left after they have gone, and how many bytes
the kernel's buffers held for the server or its clients to read.
"""

import select
import socket
import time

import subject
from resp import encode

CLIENTS = 200
PASSWORD = "secret"
# Seconds after which a socket that accepts no bytes counts as one that the server does not read.
STALL = 1.0
RECEIVE_BUFFER_BYTES = 4096  # of the client, so that replies stay on the server's side
BIG = "x" * 65_536


def forever(*words):
    """A request repeated so often that no server accepts all copies."""
    request = encode(*words)
    return request * (MEGABYTES_MAX * 2**20 // len(request))


MEGABYTES_MAX = 16  # the most that one client sends

# The bytes that a client sends before AUTH.
STRANGERS = {
    "declare 10 words of 16 KiB": b"*10\r\n$16384\r\nx",
    "send 16 KiB of a request": b"*2\r\n$16\r\n" + b"x" * 16 + b"\r\n$16320\r\n" + b"x" * 16_319,
    "declare a million words": b"*1000000\r\n",
    "declare 512 MiB": b"*1\r\n$536870912\r\n",
    "PING forever": forever("PING"),
    "wrong AUTH forever": forever("AUTH", "wrong"),
}

# The bytes that a client sends after AUTH.
USERS = {
    "declare 1,024 words of 64 KiB": b"*1024\r\n$65536\r\nx",
    "send 256 KiB of a request": encode("DEL", BIG, BIG, BIG, BIG[:60_000])[:-1],
    "declare a million words": b"*1000000\r\n",
    "declare 512 MiB": b"*1\r\n$536870912\r\n",
    "RL.ALLOW forever": forever("RL.ALLOW", "key", "1M/d"),
    "ECHO 60 KB forever": forever("ECHO", BIG[:60_000]),
    "COMMAND DOCS forever": forever("COMMAND", "DOCS"),
    "RL.WAIT, then RL.ALLOW forever": encode("RL.WAIT", "key", "10/s", "TIMEOUT", 60_000) * 2
    + forever("RL.ALLOW", "key", "1M/d"),
    "MONITOR and PING forever": encode("MONITOR") + forever("PING"),
    "MULTI and PING forever": encode("MULTI") + forever("PING"),
    "MULTI and 1 MiB of keys": encode("MULTI") + encode("DEL", BIG[:65_000]) * 16,
    "WATCH 4,096 keys": b"".join(encode("WATCH", f"key{i}") for i in range(4_096)),
}


def queued_bytes(server):
    """Bytes in the buffers of the server's sockets: not read by clients, not read by the server."""
    with open("/proc/net/tcp", encoding="ascii") as sockets:
        rows = [line.split() for line in sockets][1:]
    own = [row[4].split(":") for row in rows if row[1].endswith(f":{server.port:04X}")]
    return sum(int(sent, 16) + int(received, 16) for sent, received in own)


def connected(server):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    client.connect(("127.0.0.1", server.port))
    return client


def send_until_stalled(clients, data):
    """Each client sends `data`, or as much as the server accepts, and reads nothing."""
    unsent = {client.fileno(): (client, memoryview(data)) for client in clients}
    writable = select.poll()
    for client in clients:
        client.setblocking(False)
        writable.register(client, select.POLLOUT)
    while unsent and (ready := writable.poll(STALL * 1e3)):
        for number, _ in ready:
            client, rest = unsent[number]
            try:
                rest = rest[client.send(rest) :]
            except BlockingIOError:
                continue
            except ConnectionError:
                rest = rest[:0]
            unsent[number] = client, rest
            if not rest:
                writable.unregister(number)
                del unsent[number]


def measured(server, login, data):
    """Growth of resident memory at the peak and afterwards, and the bytes in sockets' buffers."""
    for _ in range(4):  # so that the thread has allocated what serving a client needs
        with connected(server) as client:
            client.sendall(login + encode("COMMAND", "DOCS"))
            client.recv(64)
    alone = server.descriptors()
    resident = server.resident_bytes()
    server.forget_peak()
    clients = [connected(server) for _ in range(CLIENTS)]
    for client in clients:
        if login:
            client.sendall(login)
            client.recv(64)
    send_until_stalled(clients, data)
    cpu_seconds = -1
    while cpu_seconds < (cpu_seconds := server.cpu_seconds()):  # while it reads the rest
        time.sleep(STALL)
    peak, queued = server.resident_bytes("VmHWM") - resident, queued_bytes(server)
    for client in clients:
        client.close()
    while server.descriptors() > alone:
        time.sleep(0.01)
    return peak, server.left_bytes(resident), queued


def measure(path):
    command = subject.weir("--requirepass", PASSWORD, server=path)
    for who, login, kinds in (
        ("before AUTH", b"", STRANGERS),
        ("after AUTH", encode("AUTH", PASSWORD), USERS),
    ):
        print(f"\n{CLIENTS} hostile clients {who}: MB more than before they came")
        for kind, data in kinds.items():
            with subject.Subject(command) as server:
                peak, left, queued = (count / 1e6 for count in measured(server, login, data))
            print(f"  {kind:34} {peak:6.1f} at the peak {left:6.1f} left {queued:6.1f} in sockets")
