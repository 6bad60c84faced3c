"""Numbers that callers pass, checked before anything is sent."""

import math

from .errors import Mistake


def whole_number(value, name, least=0):
    """The number if it is an int, and not less than `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is of type {type(value).__name__}, not int")
    if value < least:
        raise Mistake(f"{name} is {least} or more")
    return value


def seconds(value, name, may_be_zero=False):
    """The number of seconds if it is finite, and above 0 or, if it may be, 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is of type {type(value).__name__}, not a number of seconds")
    if not math.isfinite(value) or value < 0 or (value == 0 and not may_be_zero):
        least = "0 or more" if may_be_zero else "above 0"
        raise Mistake(f"{name} is a number of seconds, {least}")
    return value
