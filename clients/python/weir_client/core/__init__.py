"""The core that both Limiters share. No module of it opens a socket, waits or reads a clock.

A call is a *plan*: a generator that yields each request (exchange.py) and is sent its reply, and
that returns what the caller gets. limiter.py plays plans on threads, aio.py on an event loop.
"""
