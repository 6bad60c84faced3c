"""A list of objects that a child process resets: fork() copies locks that a thread of the parent
holds, and connections that the parent uses."""

import os
import weakref

_objects = weakref.WeakSet()


def begin_in_children(thing):
    """Has thing.begin_in_child() called in each child process, before its program goes on, as long
    as the object is there."""
    _objects.add(thing)


def _begin_all():
    for each in tuple(_objects):
        each.begin_in_child()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_begin_all)
