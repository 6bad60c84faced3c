"""The wire of threads."""

import select
import socket
import ssl
import threading
import time

import redis
from redis.connection import Connection, UnixDomainSocketConnection

from ..core.errors import Mistake
from ..core.causes import leaves_connection, leaves_server
from ..core.exchange import Lost, Refused
from ..core.forks import begin_in_children
from ..core.route import Dial, Hang, Route, Say
from ..core.shelf import Shelf
from .redis_py import connection_options, holds_bytes, outcome


class Wire:
    """Thread-safe, and usable in a child process after fork()."""

    def __init__(self, settings, links_max, is_busy_when_full=False):
        self._settings = settings
        self._links_max = links_max
        self._is_busy_when_full = is_busy_when_full
        self._is_closed = False
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self):
        """Begins without connections: those that there are are the parent's."""
        self._route = Route(self._settings)
        self._shelf = Shelf(self._links_max)
        self._changed = threading.Condition()  # guards the shelf, the route and the late error
        self._late = None  # what a login was told when its caller had gone

    def ask(self, ask):
        """The reply to an Ask. Raises Lost or Refused; other exceptions of redis-py as they are."""
        end = time.monotonic() + ask.seconds
        link = self._take(end)
        try:
            reply = link.ask(ask.words, end)
        except Refused as refused:
            self._give(link, ask.closes or leaves_connection(refused))
            if leaves_server(refused):
                self._leave_server()
            raise
        except Lost as lost:
            self._give(link, is_useless=True)
            if lost.cause == "connection":
                self._leave_server()
            else:
                self._forget_server()
            raise
        except BaseException:
            self._give(link, is_useless=True)
            raise
        self._give(link, ask.closes)
        return reply

    def close(self):
        with self._changed:
            self._is_closed = True
            links = self._shelf.close()
            self._changed.notify_all()
        _close_all(links)

    def _take(self, end):
        """A link of the shelf, or a new one, once it is there."""
        attempt = None
        with self._changed:
            late, self._late = self._late, None
            if late is not None:
                raise late
            try:
                while True:
                    if self._is_closed:
                        raise Mistake("the Limiter is closed")
                    if attempt is not None and attempt.error is not None:
                        raise attempt.error
                    link = attempt.take() if attempt is not None else None
                    if link is not None or (link := self._fresh_link()) is not None:
                        return link
                    if attempt is None and self._shelf.has_room:
                        attempt = self._start_attempt()
                    elif attempt is None and self._is_busy_when_full:
                        raise Lost("busy", "too many calls wait")
                    remaining = end - time.monotonic()
                    if remaining <= 0:
                        raise Lost("timeout", "no connection")
                    self._changed.wait(remaining)
            finally:
                if attempt is not None:
                    attempt.is_awaited = False
                    unused = attempt.take()
                    if unused is not None and not self._shelf.put(unused):
                        unused.close()
                self._changed.notify()  # this caller may have been woken for a link it leaves

    def _fresh_link(self):
        """A link that waits, and that the server has not closed meanwhile."""
        while (link := self._shelf.take()) is not None:
            if not link.is_ended():
                return link
            self._shelf.dropped()
            link.close()
        return None

    def _give(self, link, is_useless):
        is_useless = is_useless or link.has_unread()
        with self._changed:
            if is_useless:
                self._shelf.dropped()
            else:
                is_useless = not self._shelf.put(link)
            self._changed.notify()
        if is_useless:
            link.close()

    def _forget_server(self):
        """The next link asks the Sentinels again, if there are any."""
        with self._changed:
            self._route.forget()

    def _leave_server(self):
        """So does it, and the links that there are are closed."""
        with self._changed:
            self._route.forget()
            links = self._shelf.begin_generation()
        _close_all(links)

    def _start_attempt(self):
        attempt = _Attempt()
        threading.Thread(target=self._connect, args=(attempt,), daemon=True).start()
        self._shelf.opening()  # not if there is no thread; that one waits for this one's lock
        return attempt

    def _connect(self, attempt):
        link, error = None, None
        try:
            link = _play(self._route.connecting(self._settings.connect_seconds), self._settings.tls)
        except Exception as raised:  # pylint: disable=broad-except
            error = raised
        with self._changed:
            if error is None:
                self._shelf.opened(link)
                if attempt.is_awaited:
                    attempt.link, link = link, None
                elif self._shelf.put(link):
                    link = None
            else:
                self._shelf.dropped()
                self._route.forget()
                attempt.error = error
                if not attempt.is_awaited and not isinstance(error, Lost):
                    self._late = error
            self._changed.notify_all()
        if link is not None:
            link.close()


class _Attempt:
    """Connecting, in a thread."""

    def __init__(self):
        self.link = None
        self.error = None
        self.is_awaited = True  # by the caller that started it

    def take(self):
        link, self.link = self.link, None
        return link


class _Link:
    """A connection of redis-py. Not thread-safe."""

    def __init__(self, place, tls, seconds):
        self.generation = 0
        self.socket = None
        begin_in_children(self)
        self.end = time.monotonic() + seconds
        options = {"socket_timeout": seconds, **connection_options()}
        if place.path:
            self._connection = _UnixConnection(self, path=place.path, **options)
        else:
            self._connection = _TcpConnection(
                self, tls, host=place.host, port=place.port, socket_keepalive=True, **options
            )
        try:
            self._connection.connect()
        except redis.RedisError as error:
            raise outcome(error) from error

    def ask(self, words, end):
        self.end = end
        try:
            self._connection.send_command(*words)
            return self._connection.read_response()
        except redis.RedisError as error:
            raise outcome(error) from error

    def has_unread(self):
        """Whether there are bytes that no request asked for, also in redis-py's buffer."""
        self.end = 0.0  # so that redis-py reads nothing
        try:
            return self._connection.can_read(0) or holds_bytes(self._connection) or self.is_ended()
        except redis.RedisError:
            return True

    def is_ended(self):
        """Whether there are such bytes in the socket, or the end of the stream."""
        is_tls = isinstance(self.socket, ssl.SSLSocket)
        if not (is_tls and self.socket.pending()) and not self._is_readable():
            return False
        if not is_tls:
            return True
        self.socket.settimeout(0)
        try:
            self.socket.recv(1)
        except ssl.SSLWantReadError:
            return False  # it was TLS's own, as a ticket of the session
        except OSError:
            pass
        return True

    def _is_readable(self):
        if not hasattr(select, "poll"):  # Windows
            return bool(select.select((self.socket,), (), (), 0)[0])
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(0))

    def close(self):
        self._connection.disconnect()

    def begin_in_child(self):
        """Lets the parent's connection go: without a word to the server."""
        if self.socket is not None:
            self.socket.close()


class _DeadlineSocket:
    """A socket whose calls end at the deadline of its link, however often redis-py calls them."""

    def __init__(self, connected, link):
        self._socket = connected
        self._link = link

    def recv(self, *arguments):
        return self._armed().recv(*arguments)

    def recv_into(self, *arguments):
        return self._armed().recv_into(*arguments)

    def sendall(self, *arguments):
        return self._armed().sendall(*arguments)

    def settimeout(self, seconds):
        """The deadline of the link is the one that counts."""

    def __getattr__(self, name):
        return getattr(self._socket, name)

    def _armed(self):
        remaining = self._link.end - time.monotonic()
        if remaining <= 0:
            raise socket.timeout("the deadline has passed")
        self._socket.settimeout(remaining)
        return self._socket


class _TcpConnection(Connection):
    def __init__(self, link, tls, **options):
        super().__init__(**options)
        self._link = link
        self._tls = tls

    def _connect(self):
        connected = super()._connect()
        self._link.socket = connected
        if self._tls is not None:
            try:
                connected.settimeout(max(0.001, self._link.end - time.monotonic()))
                connected = self._link.socket = self._tls.wrap_socket(
                    connected, server_hostname=self.host, do_handshake_on_connect=False
                )
                connected.do_handshake()
            except BaseException:
                connected.close()
                raise
        return _DeadlineSocket(connected, self._link)


class _UnixConnection(UnixDomainSocketConnection):
    def __init__(self, link, **options):
        super().__init__(**options)
        self._link = link

    def _connect(self):
        connected = super()._connect()
        self._link.socket = connected
        return _DeadlineSocket(connected, self._link)


def _play(plan, tls):
    """Plays a plan of route.py; its link."""
    sent, thrown = None, None
    try:
        while True:
            step = plan.send(sent) if thrown is None else plan.throw(thrown)
            sent, thrown = None, None
            try:
                sent = _take_step(step, tls)
            except (Lost, Refused) as error:
                thrown = error
    except StopIteration as end:
        return end.value


def _take_step(step, tls):
    if isinstance(step, Dial):
        return _Link(step.place, tls, step.seconds)
    if isinstance(step, Hang):
        return step.link.close()
    assert isinstance(step, Say)
    try:
        return step.link.ask(step.words, step.link.end)
    except Refused:
        raise
    except BaseException:
        step.link.close()
        raise


def _close_all(links):
    for link in links:
        link.close()
