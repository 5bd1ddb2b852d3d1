"""Hierarchies: how the values of a column are made coarser, step by step, up to `*`."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

from tacit.errors import InvalidParameter

ANY = "*"


class Hierarchy(Protocol):
    """How the values of a column are made coarser, level by level."""

    def levels(self, values: Sequence[object], column: str) -> list[list[str]]:
        """Of each level above the values themselves, the label of each value; the finest first, without `*`."""

    def ordered(self, values: Sequence[object]) -> list[int] | None:
        """The indices of `values` in an order that keeps groups together; None where their own order does."""


@dataclass(frozen=True, slots=True)
class Bands:
    """Half-open bands, `180-190` for 180 ≤ x < 190; each item is one level.

    A number is the width of bands that start at `origin`. Several numbers are the edges themselves: the last band
    includes its end, unless an edge is infinite, which makes `80+` of (80, inf) and `<20` of (-inf, 20).
    """

    steps: tuple[float | tuple[float, ...], ...]
    origin: float = 0

    def __post_init__(self) -> None:
        if not self.steps:
            raise InvalidParameter("bands need a width or edges: there is no level")
        for step in self.steps:
            if isinstance(step, tuple):
                if len(step) < 2 or any(not low < high for low, high in pairwise(step)):
                    raise InvalidParameter(f"the edges of bands must rise, and be two or more: got {list(step)}")
            elif not (step > 0 and math.isfinite(step)):
                raise InvalidParameter(f"the width of a band must be positive: got {step}")

    def levels(self, values: Sequence[object], column: str) -> list[list[str]]:
        """See `Hierarchy`."""
        numbers = [_exact(value, column) for value in values]
        return [[self._label(number, step, column) for number in numbers] for step in self.steps]

    def ordered(self, values: Sequence[object]) -> None:
        """Numbers are in order as they are."""

    def _label(self, number: Fraction, step: float | tuple[float, ...], column: str) -> str:
        if not isinstance(step, tuple):
            width, origin = _exact(step, column), _exact(self.origin, column)
            start = origin + (number - origin) // width * width
            return range_label(float(start), float(start + width))
        for low, high in pairwise(step):
            if _at_most(low, number) and (not _at_most(high, number) or (high == step[-1] and _exact(high) == number)):
                return range_label(low, high)
        raise InvalidParameter(
            f"{column}: a value lies outside its bands, which go from {step[0]:g} to {step[-1]:g}",
            hint="add edges, or inf at the end",
        )


@dataclass(frozen=True, slots=True)
class Prefix:
    """Leading characters: `1*` for every value that starts with 1. Each level keeps so many of them."""

    lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.lengths or any(length < 1 for length in self.lengths):
            raise InvalidParameter("a prefix keeps at least one character: give lengths such as 3, 2, 1")
        if sorted(self.lengths, reverse=True) != list(self.lengths) or len(set(self.lengths)) < len(self.lengths):
            raise InvalidParameter(f"the lengths of prefixes must fall: got {list(self.lengths)}")

    def levels(self, values: Sequence[object], column: str) -> list[list[str]]:
        """See `Hierarchy`."""
        texts = [str(value) for value in values]
        return [[text[:length] + ANY for text in texts] for length in self.lengths]

    def ordered(self, values: Sequence[object]) -> list[int]:
        """By the alphabet: equal beginnings stand together."""
        return sorted(range(len(values)), key=lambda index: str(values[index]))


@dataclass(frozen=True, slots=True)
class Calendar:
    """Dates: months, years and decades."""

    units: tuple[str, ...] = ("month", "year", "decade")

    def __post_init__(self) -> None:
        known = ("month", "year", "decade")
        if not self.units or [unit for unit in known if unit in self.units] != list(self.units):
            raise InvalidParameter(
                f"a calendar's levels are of {', '.join(known)}, in this order: got {list(self.units)}"
            )

    def levels(self, values: Sequence[object], column: str) -> list[list[str]]:
        """See `Hierarchy`."""
        days = [_day(value, column) for value in values]
        return [[_unit(day, unit) for day in days] for unit in self.units]

    def ordered(self, values: Sequence[object]) -> None:
        """Dates are in order as they are."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Groups by name: for each value the names of its groups, from the smallest up. In the order written."""

    paths: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        depths = {len(path) for path in self.paths.values()}
        if not depths:
            raise InvalidParameter("a tree has an empty level: it names no value")
        if len(depths) > 1:
            raise InvalidParameter(f"the branches of a tree must be equally long: there are lengths {sorted(depths)}")
        if any(not name for path in self.paths.values() for name in path):
            raise InvalidParameter("a tree has an empty level: a group has no name")
        for level in range(max(depths) - 1):
            parents: dict[str, str] = {}
            for path in self.paths.values():
                if parents.setdefault(path[level], path[level + 1]) != path[level + 1]:
                    raise InvalidParameter(f"a tree's group {path[level]!r} lies in two groups above it")

    def levels(self, values: Sequence[object], column: str) -> list[list[str]]:
        """See `Hierarchy`."""
        missing = sum(str(value) not in self.paths for value in values)
        if missing:
            raise InvalidParameter(
                f"{column}: {missing} of its {len(values)} values are not in the tree", hint="add them to the file"
            )
        depth = len(next(iter(self.paths.values())))
        return [[self.paths[str(value)][level] for value in values] for level in range(depth)]

    def ordered(self, values: Sequence[object]) -> list[int]:
        """Branch by branch, from the top, as written."""
        rank: dict[tuple[str, ...], int] = {}
        for path in self.paths.values():
            for level in range(len(path)):
                rank.setdefault(path[level:], len(rank))
        index = {value: number for number, value in enumerate(self.paths)}

        def key(text: str) -> tuple[int, ...]:
            path = self.paths.get(text, ())
            return (*(rank[path[level:]] for level in reversed(range(len(path)))), index.get(text, -1))

        return sorted(range(len(values)), key=lambda number: key(str(values[number])))


@dataclass(frozen=True, slots=True)
class Order:
    """Categories in an order of their own, such as grades of school: they are made coarser by intervals."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names) or not self.names:
            raise InvalidParameter("an order names each category once")

    def levels(self, values: Sequence[object], column: str) -> list[list[str]]:
        """No levels: intervals make it coarser. Raises InvalidParameter where a value is not in the order."""
        missing = sum(str(value) not in self.names for value in values)
        if missing:
            raise InvalidParameter(f"{column}: {missing} of its {len(values)} values are not in its order")
        return []

    def ordered(self, values: Sequence[object]) -> list[int]:
        """The indices of `values` in the order in which the names stand."""
        rank = {name: index for index, name in enumerate(self.names)}
        return sorted(range(len(values)), key=lambda index: rank.get(str(values[index]), -1))


def range_label(low: float, high: float) -> str:
    """`180-190`, `80+`, `<20`; with `to` where a minus sign would stand beside the hyphen."""
    if math.isinf(high):
        return ANY if math.isinf(low) else f"{plain(low)}+"
    if math.isinf(low):
        return f"<{plain(high)}"
    return f"{plain(low)} to {plain(high)}" if low < 0 or high < 0 else f"{plain(low)}-{plain(high)}"


def plain(number: float) -> str:
    """A number without a point it does not need."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else f"{number:.12g}"


def _exact(value: object, column: str = "") -> Fraction:
    """The number that is written: 0.3 is three tenths, not the nearest a float comes to it, which lies below."""
    try:
        return Fraction(Decimal(str(value)))
    except (InvalidOperation, ValueError, OverflowError):
        raise InvalidParameter(f"{column}: bands are for numbers, and it holds something else") from None


def _at_most(edge: float, number: Fraction) -> bool:
    return edge < 0 if math.isinf(edge) else _exact(edge) <= number


def _day(value: object, column: str) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    raise InvalidParameter(f"{column}: a calendar is for dates, and it holds something else")


def _unit(day: datetime.date, unit: str) -> str:
    if unit == "month":
        return f"{day.year:04}-{day.month:02}"
    return f"{day.year:04}" if unit == "year" else f"{day.year // 10 * 10}-{day.year // 10 * 10 + 10}"
