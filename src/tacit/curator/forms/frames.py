"""An answer as a table of pandas, Arrow or polars: dates are dates, missing numbers are missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from types import ModuleType
from typing import Any

import numpy as np

from tacit.curator.forms.cells import plain, real, visible
from tacit.curator.forms.columns import AnswerColumn
from tacit.curator.forms.extras import needs

_LONGEST = 1 << 63  # integers from here on need more than 64 bits
_EMPTY_SERIES = {
    "integer": "int64",
    "number": "float64",
    "boolean": "bool",
    "date": "datetime64[s]",
    "timestamp": "datetime64[us]",
}
_EMPTY_ARRAYS = {
    "integer": "int64",
    "number": "double",
    "boolean": "bool",
    "date": "date32",
    "timestamp": "timestamp[us]",
    "text": "string",
}
_DIGITS = ((38, "decimal128"), (76, "decimal256"))


def pandas_frame(columns: Sequence[AnswerColumn]) -> Any:
    """A pandas frame."""
    pandas = needs("pandas")
    return pandas.DataFrame(
        {column.name: _series(pandas, [real(v) for v in column.values], column.kind) for column in columns}
    )


def arrow_table(columns: Sequence[AnswerColumn]) -> Any:
    """An Arrow table."""
    arrow = needs("pyarrow")
    arrays = [_array(arrow, [real(value) for value in column.values], column.kind) for column in columns]
    return arrow.Table.from_arrays(arrays, names=[visible(column.name) for column in columns])


def polars_frame(columns: Sequence[AnswerColumn]) -> Any:
    """A polars frame."""
    polars = needs("polars", extra="polars")
    return polars.from_arrow(arrow_table(columns))


def _kinds(values: Sequence[object]) -> set[type]:
    """The kinds of the values that are not missing."""
    return {type(value) for value in values if value is not None}


def _series(pandas: ModuleType, values: list[Any], known: str | None) -> Any:
    kind = _EMPTY_SERIES.get(known or "") if not values else _kind_of_series(values)
    if kind is not None and kind.startswith("datetime64"):
        return pandas.Series(np.array(values, dtype=kind))  # the years 1 to 9999, which nanoseconds do not hold
    try:
        return pandas.Series(values, dtype=kind)
    except UnicodeError:  # half a character, which a column of text does not hold
        return pandas.Series(values, dtype="object")


def _kind_of_series(values: list[Any]) -> str | None:
    """The narrowest dtype that keeps every value, and what is missing; None is what pandas has for text."""
    kinds, gaps = _kinds(values), None in values
    if kinds == {int} and not all(value is None or -_LONGEST <= value < _LONGEST for value in values):
        return "object"
    if kinds == {datetime} and any(value is not None and value.tzinfo for value in values):
        return "object"
    if len(kinds) == 1:
        known = {datetime: "datetime64[us]", date: "datetime64[s]", float: "float64", str: None}
        known |= {bool: "boolean" if gaps else "bool", int: "Int64" if gaps else "int64"}
        return known.get(kinds.pop(), "object")
    return "float64" if kinds == {float, int} else "object"


def _array(arrow: ModuleType, values: list[Any], known: str | None) -> Any:
    if not values and known in _EMPTY_ARRAYS:
        return arrow.array([], type=arrow.type_for_alias(_EMPTY_ARRAYS[known]))
    kind = _type(arrow, values)
    try:
        return arrow.array([list(v.items()) if isinstance(v, dict) else v for v in values], type=kind)
    except (arrow.ArrowException, UnicodeError, OverflowError, TypeError, ValueError):
        # kinds that no column of Arrow holds together
        return arrow.array([None if value is None else visible(str(plain(value))) for value in values], arrow.string())


def _type(arrow: ModuleType, values: list[Any]) -> Any:
    """The column's type; None where Arrow finds it itself."""
    kinds = _kinds(values)
    if kinds == {dict}:  # a histogram
        return arrow.map_(arrow.string(), _type_of_counts(arrow, values))
    if kinds == {int}:
        return _type_of_integers(arrow, [value for value in values if value is not None])
    return arrow.float64() if kinds and kinds <= {float, int} else None


def _type_of_counts(arrow: ModuleType, values: list[Any]) -> Any:
    counts = [count for value in values if value is not None for count in value.values()]
    if all(isinstance(count, int) for count in counts):
        return _type_of_integers(arrow, counts)
    return arrow.float64()


def _type_of_integers(arrow: ModuleType, values: list[int]) -> Any:
    largest = max(map(abs, values), default=0)
    if largest < _LONGEST:
        return arrow.int64()
    digits = next(((most, kind) for most, kind in _DIGITS if largest < 10**most), None)
    return arrow.string() if digits is None else getattr(arrow, digits[1])(digits[0], 0)
