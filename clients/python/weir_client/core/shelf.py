"""The links of a wire that are open: those that wait for a call, and the count of all.

A link is of a *generation*. Once a connection was lost, or its server is no longer the primary,
links of earlier generations are closed when they come back. Not thread-safe.
"""

import collections


class Shelf:
    def __init__(self, links_max):
        self._links_max = links_max
        self._open = 0
        self._idle = collections.deque()  # the last one used is the first to be used
        self._generation = 0
        self.is_closed = False

    @property
    def has_room(self):
        return self._open < self._links_max

    @property
    def has_link(self):
        return bool(self._idle)

    def opening(self):
        """One more link is about to be open."""
        self._open += 1

    def opened(self, link):
        """The link is open now. It is put on the shelf, or used first."""
        link.generation = self._generation

    def take(self):
        """A link, or None."""
        return self._idle.pop() if self._idle else None

    def put(self, link):
        """Puts a link back. Returns whether it is of use; else the caller closes it."""
        if self.is_closed or link.generation != self._generation:
            self.dropped()
            return False
        self._idle.append(link)
        return True

    def dropped(self):
        """A link is gone, or was not opened after all."""
        self._open -= 1

    def begin_generation(self):
        """Returns the links that wait, for the caller to close."""
        self._generation += 1
        links = tuple(self._idle)
        self._open -= len(links)
        self._idle.clear()
        return links

    def close(self):
        """Returns the links that wait, for the caller to close."""
        self.is_closed = True
        return self.begin_generation()
