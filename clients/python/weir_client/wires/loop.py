"""The wire of asyncio."""

import asyncio
import contextlib
import os
import time

import redis
from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection

from ..core.causes import leaves_connection, leaves_server
from ..core.errors import Mistake
from ..core.exchange import Lost, Refused
from ..core.forks import begin_in_children
from ..core.route import Dial, Hang, Route
from ..core.shelf import Shelf
from .redis_py import connection_options, holds_bytes, outcome


CLOSE_SECONDS = 1.0


class Wire:
    """For one event loop at a time: on another one it begins again. Not thread-safe.

    A call that is cancelled closes its connection, so that no reply reaches the next caller.
    """

    def __init__(self, settings, links_max, is_busy_when_full=False):
        self._settings = settings
        self._links_max = links_max
        self._is_busy_when_full = is_busy_when_full
        self._is_closed = False
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self):
        self._loop = None  # the links are the parent's: the next call begins without them

    async def ask(self, ask):
        """The reply to an Ask. Raises Lost or Refused; other exceptions of redis-py as they are."""
        if self._is_closed:
            raise Mistake("the Limiter is closed")
        if self._loop is not asyncio.get_running_loop():
            self._begin()  # the connections are another loop's
        # Not wait_for(): that waits until redis-py has closed the connection, with TLS for 30 s.
        asking = self._start(self._ask(ask))
        try:
            await asyncio.wait((asking,), timeout=ask.seconds)
        finally:
            asking.cancel()  # no effect if it is done
        if not asking.done():
            self._route.forget()
            raise Lost("timeout", "no reply in time")
        if asking.cancelled():
            raise Lost("connection", "the Limiter was closed", is_final=True)
        return asking.result()

    async def close(self):
        self._is_closed = True
        if self._loop is asyncio.get_running_loop():
            self._close_all(self._shelf.close())
            for task in tuple(self._tasks):
                if task not in self._closing:
                    task.cancel()
            while self._tasks:  # those that end may have links to close
                await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self):
        """Begins on this loop. The links of another one are let go, as that may have ended."""
        for link in self._shelf.begin_generation() if self._loop else ():
            link.abandon()
        self._loop = asyncio.get_running_loop()
        self._route = Route(self._settings)
        self._shelf = Shelf(self._links_max)
        self._callers = {}  # that have no link, in order; the values are None
        self._tasks = set()  # that ask, connect or close
        self._closing = set()  # those of them that close
        self._late = None  # what a login was told when its caller had gone

    async def _ask(self, ask):
        link = await self._take()
        try:
            reply = await link.ask(ask.words)
        except Refused as refused:
            self._give(link, ask.closes or leaves_connection(refused))
            if leaves_server(refused):
                self._leave_server()
            raise
        except Lost:
            self._give(link, is_useless=True)
            self._leave_server()
            raise
        except BaseException:
            self._give(link, is_useless=True)
            raise
        self._give(link, ask.closes)
        return reply

    async def _take(self):
        """A link of the shelf, or a new one, once it is there."""
        late, self._late = self._late, None
        if late is not None:
            raise late
        caller = _Caller()
        self._callers[caller] = None
        try:
            while True:
                if caller.error is not None:
                    raise caller.error
                if (link := caller.take() or self._fresh_link()) is not None:
                    return link
                if not caller.connects and self._shelf.has_room:
                    self._shelf.opening()
                    caller.connects = True
                    self._start(self._connect(caller))
                elif not caller.connects and self._is_busy_when_full:
                    raise Lost("busy", "too many calls wait")
                caller.woken = self._loop.create_future()
                await caller.woken
        finally:
            del self._callers[caller]
            caller.is_gone = True
            if (unused := caller.take()) is not None:
                self._give(unused)
            self._wake_one()  # this caller may have been woken for what it leaves

    def _fresh_link(self):
        """A link that waits, and that the server has not closed meanwhile."""
        while (link := self._shelf.take()) is not None:
            if not link.has_unread():
                return link
            self._shelf.dropped()
            self._close_all((link,))
        return None

    def _give(self, link, is_useless=False):
        if is_useless or link.has_unread():
            is_useless = True
            self._shelf.dropped()
        else:
            is_useless = not self._shelf.put(link)
        if is_useless:
            self._close_all((link,))
        self._wake_one()

    def _wake_one(self):
        """Wakes the first caller for which there is a link, or room to open its own."""
        for caller in self._callers:
            may_go_on = self._shelf.has_link or (self._shelf.has_room and not caller.connects)
            if may_go_on and caller.wake():
                return

    def _leave_server(self):
        self._route.forget()
        self._close_all(self._shelf.begin_generation())

    async def _connect(self, caller):
        """Opens a link for a caller, or for later calls if that is gone by then."""
        try:
            link = await _play(self._route, self._settings)
        except asyncio.CancelledError:
            self._shelf.dropped()
            raise
        except Exception as error:  # pylint: disable=broad-except
            self._shelf.dropped()
            self._route.forget()
            if not caller.is_gone:
                caller.error = error
            elif not isinstance(error, Lost):
                self._late = error
            caller.wake()
            self._wake_one()
            return
        self._shelf.opened(link)
        if caller.is_gone:
            self._give(link)
        else:
            caller.link = link
            caller.wake()

    def _close_all(self, links):
        for link in links:
            self._closing.add(task := self._start(link.close()))
            task.add_done_callback(self._closing.discard)

    def _start(self, coroutine):
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task):
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen, also if its caller has gone


class _Caller:
    """A call that has no link yet."""

    def __init__(self):
        self.woken = None  # the future by which it waits
        self.connects = False  # a link is being opened for it
        self.link = None  # that one
        self.error = None  # in its place
        self.is_gone = False

    def take(self):
        link, self.link = self.link, None
        return link

    def wake(self):
        """Returns whether it slept."""
        if self.woken is None or self.woken.done():
            return False
        self.woken.set_result(None)
        return True


class _Link:
    """A connection of redis-py, without deadlines: the caller's ends it."""

    def __init__(self, place, tls):
        self.generation = 0
        self.end = None  # when connecting and the login are to be done
        begin_in_children(self)
        if place.path:
            kind, options = UnixDomainSocketConnection, {"path": place.path}
        else:
            kind = Connection if tls is None else SSLConnection
            options = {"host": place.host, "port": place.port, "socket_keepalive": True}
        options.update(connection_options(), socket_timeout=None, socket_connect_timeout=None)
        self._connection = kind(**options)
        if tls is not None and not place.path:
            self._connection.ssl_context.context = tls

    async def connect(self):
        try:
            await self._connection.connect()
        except redis.RedisError as error:
            raise outcome(error) from error

    async def ask(self, words):
        try:
            await self._connection.send_command(*words)
            return await self._connection.read_response()
        except redis.RedisError as error:
            raise outcome(error) from error

    def has_unread(self):
        """Whether there are bytes that no request asked for, or the stream has ended.

        redis-py's own test for that changes with its versions."""
        reader = getattr(self._connection, "_reader", None)
        if reader is None or reader.at_eof():
            return True
        return bool(getattr(reader, "_buffer", b"")) or holds_bytes(self._connection)

    def abandon(self):
        """Closes the connection of a loop that is not this one, which redis-py cannot."""
        writer = getattr(self._connection, "_writer", None)
        if writer is not None:
            self._connection._writer = self._connection._reader = None
            with contextlib.suppress(RuntimeError):  # the loop has ended
                writer.transport.abort()

    def begin_in_child(self):
        """Lets the parent's connection go. The loop must not hear of it, as the parent watches its
        sockets by the same epoll: so a file that says nothing takes the place of the socket."""
        writer = getattr(self._connection, "_writer", None)
        if writer is None:
            return
        self._connection._writer = self._connection._reader = None
        descriptor = writer.transport.get_extra_info("socket").fileno()
        if descriptor >= 0:
            with open(os.devnull, "r+b", buffering=0) as silent:
                os.dup2(silent.fileno(), descriptor, inheritable=False)

    async def close(self):
        try:
            await asyncio.wait_for(self._connection.disconnect(), CLOSE_SECONDS)
        except (OSError, asyncio.TimeoutError, redis.RedisError):
            pass  # it was lost before, or the server does not close its side


async def _play(route, settings):
    """Plays the plan of a route that connects; its link."""
    plan = route.connecting(settings.connect_seconds)
    end = time.monotonic() + settings.connect_seconds
    sent, thrown = None, None
    try:
        while True:
            step = plan.send(sent) if thrown is None else plan.throw(thrown)
            sent, thrown = None, None
            try:
                sent = await _take_step(step, settings.tls, end)
            except (Lost, Refused) as error:
                thrown = error
    except StopIteration as stop:
        return stop.value


async def _take_step(step, tls, end):
    if isinstance(step, Hang):
        return await step.link.close()
    if is_dial := isinstance(step, Dial):
        link = _Link(step.place, tls)
        link.end = min(end, time.monotonic() + step.seconds)  # also of what is said on it
    else:
        link = step.link
    doing = link.connect() if is_dial else link.ask(step.words)
    try:
        done = await asyncio.wait_for(doing, max(0.0, link.end - time.monotonic()))
        return link if is_dial else done
    except Refused:
        raise
    except asyncio.TimeoutError:
        await link.close()
        raise Lost("timeout", "no connection in time") from None
    except BaseException:
        await link.close()
        raise
