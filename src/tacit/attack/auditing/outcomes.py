"""Outcomes as columns: whatever a mechanism returns, many times over, made ready to be counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_ATOMS = 512  # different values of a column that are told apart; beyond them it is cut into bins
BINS = 96
_OTHER = 0  # the code of what was not seen when the codes were made
Column = NDArray[Any]


def columns_of(outcomes: object) -> list[Column]:
    """One array for each number, word or key that an outcome has; each as long as there are outcomes.

    A column of floats is followed by one that says how many binary digits behind the point each has: what gives
    floating-point noise away.
    """
    array = outcomes if isinstance(outcomes, np.ndarray) else _array(list(outcomes))  # type: ignore[call-overload]
    if array.ndim == 1:
        return _with_digits(array)
    return [column for index in range(array.shape[1]) for column in _with_digits(array[:, index])]


def _array(values: list[object]) -> NDArray[Any]:
    """A list of outcomes as an array: of numbers where all are, of tuples' parts where all are alike, else of words."""
    if values and all(isinstance(value, (bool, int, float, np.number)) for value in values):
        array = np.array(values)
        return array if array.dtype != object else array.astype(np.float64)
    widths = {len(value) if isinstance(value, (tuple, list, np.ndarray)) else -1 for value in values}
    if len(widths) == 1 and -1 not in widths:
        parts: list[Sequence[Any]] = [tuple(value) for value in values]  # type: ignore[arg-type]
        columns = [_array([part[index] for part in parts]) for index in range(widths.pop())]
        if columns and all(column.ndim == 1 for column in columns):
            same = {column.dtype for column in columns}
            return np.stack(columns, axis=1) if len(same) == 1 else _side_by_side(columns)
    words = np.empty(len(values), dtype=object)
    words[:] = [repr(value) for value in values]
    return words


def _side_by_side(columns: Sequence[Column]) -> NDArray[Any]:
    table = np.empty((columns[0].size, len(columns)), dtype=object)
    for index, column in enumerate(columns):
        table[:, index] = column
    return table


def _with_digits(column: Column) -> list[Column]:
    if column.dtype == object:
        numbers = all(isinstance(value, (bool, int, float, np.number)) for value in column.tolist())
        return _with_digits(column.astype(np.float64)) if numbers and column.size else [column]
    if not np.issubdtype(column.dtype, np.floating):
        return [column]
    finite = np.isfinite(column)
    if np.array_equal(column[finite], np.trunc(column[finite])):
        return [column]
    return [column, fractional_digits(column)]


def fractional_digits(column: Column) -> NDArray[np.int64]:
    """How many binary digits behind the point each number needs; −1 for what is no finite number."""
    finite = np.isfinite(column)
    mantissa, exponent = np.frexp(np.where(finite, column, 0).astype(np.float64))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.where(whole == 0, 1, whole & -whole)
    trailing = np.round(np.log2(lowest.astype(np.float64))).astype(np.int64)
    digits = np.where(whole == 0, 0, np.maximum(0, 53 - exponent.astype(np.int64) - trailing))
    return np.where(finite, digits, -1)


@dataclass(frozen=True, slots=True)
class Coding:
    """Codes of one column, fixed by the outcomes it was made from: 0 for what was not among them, then 1, 2, …"""

    values: Column  # of atoms, in order; or the inner edges of bins
    atoms: bool
    words: dict[object, int] | None = None  # where the column is of words

    @property
    def size(self) -> int:
        """How many codes there are."""
        return (len(self.words) if self.words is not None else self.values.size) + 1 + (not self.atoms)

    def codes(self, column: Column) -> NDArray[np.int64]:
        """The code of each cell."""
        if self.words is not None:
            return np.array([self.words.get(value, _OTHER) for value in column.tolist()], dtype=np.int64)
        if column.dtype == object:  # words, where there were numbers before
            return np.full(column.size, _OTHER, dtype=np.int64)
        if not self.atoms:
            codes = np.searchsorted(self.values, column, side="right") + 1
            return np.where(np.isnan(column.astype(np.float64)), _OTHER, codes).astype(np.int64)
        nearest = np.minimum(np.searchsorted(self.values, column), self.values.size - 1)
        return np.where(self.values[nearest] == column, nearest + 1, _OTHER).astype(np.int64)


def coding_of(column: Column) -> Coding:
    """Codes for a column like this one."""
    if column.dtype == object:
        words = sorted(set(column.tolist()), key=str)
        return Coding(np.empty(0), True, {word: code for code, word in enumerate(words, 1)})
    known = column[~np.isnan(column)] if np.issubdtype(column.dtype, np.floating) else column
    values = np.unique(known)
    if values.size <= MOST_ATOMS:
        return Coding(values if values.size else np.zeros(1, dtype=column.dtype), True)
    edges = np.quantile(known.astype(np.float64), np.linspace(0, 1, BINS + 1)[1:-1])
    return Coding(np.unique(edges), False)
