"""A result that is not yet private: columns that nothing prints, copies or iterates by accident."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.errors import EngineError

IntArray = NDArray[np.int64]
WideArray = NDArray[np.object_]
Column = IntArray | list[object]  # whole numbers without NULL, or anything a group can be called

UNANSWERED = "the database could not answer"
HINT = "what was charged stays charged; the reason is in the curator's log"

# The curator's log. What engines say can hold cells, so it goes nowhere, not even to the root logger, until the
# curator attaches a handler to this very name.
log = logging.getLogger("tacit.engine")
log.addHandler(logging.NullHandler())
log.propagate = False


def unanswered() -> EngineError:
    """The one error of every question that fails after the charge: the same bytes whatever the data hold."""
    return EngineError(UNANSWERED, hint=HINT)


def advice_on_views(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What a careful curator would change about tables that are computed when they are read."""
    return tuple(
        (
            f"table {name!r} is computed when it is read: one row that fails makes every question fail",
            "ask a table, or a materialised view; or be sure that no row can fail",
        )
        for name in names
    )


class Exact:
    """The named columns of one result, in no particular order of rows.

    Not a dataclass, so that `dataclasses.asdict` of something that holds one cannot open it.
    """

    __slots__ = ("_columns", "rows")
    __iter__: ClassVar[None] = None
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # a hash of exact values would be a fingerprint of them

    _columns: Mapping[str, Column]
    rows: int

    def __init__(self, columns: Mapping[str, Column]) -> None:
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1:
            raise ValueError("an exact result has one column or more, all of one length")
        for column in columns.values():
            if isinstance(column, np.ndarray):
                column.setflags(write=False)
        object.__setattr__(self, "_columns", dict(columns))
        object.__setattr__(self, "rows", lengths.pop())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, as the generated SQL gave them."""
        return tuple(self._columns)

    def integers(self, name: str) -> IntArray:
        """A column of whole numbers; refused if its type is another, or if one of them is NULL."""
        column = self._columns.get(name)
        if isinstance(column, np.ndarray):
            return column
        log.warning("column %r holds something other than 64-bit whole numbers, or a NULL", name)
        raise unanswered()

    def wide(self, name: str) -> WideArray:
        """A column of whole numbers of any size, as Python's own; refused if it holds anything else."""
        column = self._columns.get(name)
        cells = column.tolist() if isinstance(column, np.ndarray) else column
        if cells is not None and all(type(cell) is int for cell in cells):
            numbers = np.empty(self.rows, dtype=object)
            numbers[:] = cells
            return numbers
        log.warning("column %r holds something other than whole numbers, or a NULL", name)
        raise unanswered()

    def keys(self, name: str) -> list[object]:
        """A column as values of the policy's kinds: bool, int, Fraction, float, str, date, datetime, None."""
        column = self._columns.get(name)
        if column is None:
            log.warning("the result has no column %r", name)
            raise unanswered()
        return column.tolist() if isinstance(column, np.ndarray) else list(column)

    def __repr__(self) -> str:
        return "<exact>"

    def __format__(self, spec: str) -> str:
        return "<exact>"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("an exact result does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("an exact result does not change")

    def __reduce__(self) -> NoReturn:
        raise TypeError("an exact result is neither copied nor pickled")
