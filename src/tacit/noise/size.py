"""How many draws were asked for."""

from __future__ import annotations

from numbers import Integral

from tacit.errors import InvalidParameter


def how_many(size: int | None) -> int:
    """The number of draws that `size` asks for; None asks for one, returned bare."""
    count = 1 if size is None else whole(size, "the size")
    if count < 0:
        raise InvalidParameter(f"the size must not be negative: got {count}")
    return count


def whole(value: object, what: str) -> int:
    """`value` as an int, if it is a whole number of whatever type."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidParameter(f"{what} is not a whole number: it is a {type(value).__name__}")
    return int(value)
