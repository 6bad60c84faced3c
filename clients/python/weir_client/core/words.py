"""The words of a request: what callers may pass, and the groups that AND divides them into.

Strings and bytes are sent as they are, whole numbers as their digits. All else is a TypeError,
since `None` or `1.5` in a key is one bucket for all callers, or a bucket for none.
"""

from typing import Union

from .errors import Mistake

Word = Union[str, bytes, int]

_COST_PLACE = b"cost={}"


class Request:
    """The words of a decision: keys with their limits, between them AND."""

    def __init__(self, given):
        self.words = encode(given)
        self.groups = _split_at_and(self.words)
        self._given = given
        for number, group in enumerate(self.groups, 1):
            if not group:
                raise Mistake(f"group {number} of the request has no key")
            if not group[0]:
                raise Mistake(f"the key of group {number} is empty: one bucket for all callers")

    @property
    def has_several_keys(self):
        return len(self.groups) > 1

    def key(self, group=0):
        """The key of a group, as the caller wrote it."""
        return self._given[sum(len(each) + 1 for each in self.groups[:group])]

    def shadow_labels(self, group):
        """The labels (name=) of the group's shadow limits."""
        for word in self.groups[group][1:] if group < len(self.groups) else ():
            options = word.split(b",")[1:]
            if b"shadow" in options:
                yield from (each[5:] for each in options if each.startswith(b"name="))

    def with_cost(self, cost):
        """All words, with the cost in its places."""
        return _join([[group[0], *(_put(word, cost) for word in group[1:])]
                      for group in self.groups])

    def costs(self, cost, keys_without=True):
        """The keys, each with those limits alone that have a place for the cost."""
        groups = [
            [group[0], *(_put(word, cost) for word in group[1:] if _COST_PLACE in word)]
            for group in self.groups
        ]
        return _join([group for group in groups if keys_without or len(group) > 1])

    def charged(self, tokens):
        """All words, each group with this COST."""
        return _join([[*group, b"COST", b"%d" % tokens] for group in self.groups])

    def settled(self, tokens):
        """The keys, each with this COST for all of its limits."""
        return _join([[group[0], b"COST", b"%d" % tokens] for group in self.groups])

    def keys(self):
        """The keys alone."""
        return _join([group[:1] for group in self.groups])


def encode(given):
    """Returns the words as bytes. A TypeError names the place of another value."""
    return tuple(_encode(word, place) for place, word in enumerate(given, 1))


def _encode(word, place):
    if isinstance(word, bytes):
        return word
    if isinstance(word, str):
        try:
            return word.encode()
        except UnicodeEncodeError:
            raise Mistake(f"word {place} is no Unicode text; bytes may have any value") from None
    if isinstance(word, int) and not isinstance(word, bool):
        return b"%d" % word
    raise TypeError(f"word {place} is of type {type(word).__name__}, not str, bytes or int")


def _split_at_and(words):
    """A group begins with its key, which may be "AND", too."""
    groups = [[]]
    for word in words:
        if groups[-1] and word.upper() == b"AND":
            groups.append([])
        else:
            groups[-1].append(word)
    return groups


def _join(groups):
    return tuple(word for group in groups for word in (b"AND", *group))[1:]


def _put(word, cost):
    return word.replace(_COST_PLACE, b"cost=%d" % cost)
