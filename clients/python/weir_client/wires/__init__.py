"""Wires: how a request reaches weir and its reply comes back, over connections of redis-py.

A wire's `ask` sends one Ask and returns the reply, or raises Lost or Refused. Its deadline covers
all of it. It ends the call, not the connecting, which goes on for a second: so a first connection
that is slow (TLS, a cold process) is there for a later call, and the error of a login that comes
late is raised by the next one.
"""
