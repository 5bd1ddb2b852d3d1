"""Whose each row is, and which of them count: so many of one unit, chosen by its own rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InvalidParameter
from tacit.learn.conventions import is_hashable
from tacit.noise import IntArray

MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class UnitRows:
    """The rows that count, unit after unit: `kept` are their places, and `starts` says where each unit's begin.

    A unit's rows that count are its first `most`, in their order, so that nobody else has a say in which they are.
    """

    kept: IntArray
    starts: IntArray
    most: int

    @property
    def units(self) -> int:
        """How many units there are: as private as the number of rows."""
        return len(self.starts)

    @property
    def sizes(self) -> IntArray:
        """How many rows of each unit count."""
        return np.diff(np.append(self.starts, len(self.kept)))

    def of(self, taken: IntArray) -> tuple[IntArray, IntArray]:
        """Of these units, in their order: which of the kept rows are theirs, and where each one's begin among those."""
        if len(taken) == self.units:
            return np.arange(len(self.kept)), self.starts
        chosen = np.zeros(self.units, dtype=np.bool_)
        chosen[taken] = True
        rows = np.flatnonzero(np.repeat(chosen, self.sizes))
        return rows, np.append(0, np.cumsum(self.sizes[taken]))[:-1]


def rows_of_units(units: Any, count: int, most: Any) -> UnitRows:
    """Which rows count: each its own unit, unless somebody says whose they are."""
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_ROWS:
        raise InvalidParameter(f"max_rows is a whole number from 1 to {MOST_ROWS}")
    if units is None:
        if most > 1:
            raise InvalidParameter(
                "max_rows bounds the rows of one unit, and nobody said whose the rows are", hint="fit(X, y, units=ids)"
            )
        return UnitRows(np.arange(count), np.arange(count), 1)
    owners = _numbered(_identifiers(units, count))
    order = np.argsort(owners, kind="stable")
    starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    rank = np.arange(count) - np.repeat(starts, np.diff(np.append(starts, count)))
    held = np.minimum(np.diff(np.append(starts, count)), most)
    return UnitRows(order[rank < most], np.append(0, np.cumsum(held))[:-1].astype(np.int64), most)


def _identifiers(units: Any, count: int) -> list[Any]:
    """Each row's identifier as it is: those of a list are not made alike, or one row would rename the others."""
    if not isinstance(units, list | tuple):
        array = np.asarray(units)
        units = array.tolist() if array.ndim == 1 else []
    if len(units) != count:
        raise InvalidParameter("the units are one for each row")
    return list(units)


def _numbered(identifiers: list[Any]) -> IntArray:
    """The number of each row's unit, in the order in which units appear."""
    seen: dict[Any, int] = {}
    if not all(_is_one(each) for each in identifiers):
        raise InvalidParameter(
            "a row's unit is missing, or is no identifier: nobody said whose it is", hint="leave such rows out"
        )
    return np.array([seen.setdefault(each, len(seen)) for each in identifiers], dtype=np.int64)


def _is_one(identifier: Any) -> bool:
    """Whether it is the same as itself, and so tells a unit: NaN is not, nor is what holds one."""
    if identifier is None or not is_hashable(identifier):
        return False
    if isinstance(identifier, tuple):
        return all(map(_is_one, identifier))
    try:
        return bool(identifier == identifier)  # noqa: PLR0124 - of NaN it is not
    except (TypeError, ValueError, ArithmeticError):
        return False
