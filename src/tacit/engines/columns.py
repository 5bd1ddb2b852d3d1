"""DuckDB's types as Python values, none of which can fail on a cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tacit.engines.cells import day, moment, number
from tacit.engines.exact import Column
from tacit.policy import ColumnType

SQL_TYPES = {  # what a type of the policy is in DuckDB
    ColumnType.INTEGER: "BIGINT",
    ColumnType.NUMBER: "DOUBLE",
    ColumnType.TEXT: "VARCHAR",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a type is read: as it is, or `through_text` where the way through numpy loses values or fails on some."""

    read: Callable[[NDArray[Any]], Column]
    through_text: bool = False


def _whole(values: NDArray[Any]) -> Column:
    """Whole numbers: an array if none is NULL, else a list that no sum accepts."""
    return values.tolist() if isinstance(values, np.ma.MaskedArray) and values.mask.any() else _int64(values)


def _int64(values: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64)


def _listed(values: NDArray[Any]) -> Column:
    cells: list[object] = values.tolist()  # a masked cell is None
    return cells


def _floats(values: NDArray[Any]) -> Column:
    """-0.0 and 0.0 are one group; which of them stands for it depends on whose row came first. So: always 0.0."""
    return _listed(values + 0.0)


def _parsed(parse: Callable[[str], object]) -> Callable[[NDArray[Any]], Column]:
    return lambda values: [None if text is None else parse(text) for text in values.tolist()]


_ENUMERATED = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)")
_AS_TEXT = _Kind(_listed, through_text=True)
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_MOMENTS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
_KINDS = {
    **dict.fromkeys(_WHOLE, _Kind(_whole)),
    "UBIGINT": _Kind(_listed),
    "HUGEINT": _Kind(_parsed(int), through_text=True),  # numpy would make it a float
    "UHUGEINT": _Kind(_parsed(int), through_text=True),
    "DECIMAL": _Kind(_parsed(number), through_text=True),  # likewise
    "DOUBLE": _Kind(_floats),
    "FLOAT": _Kind(_parsed(lambda text: float(text) + 0.0), through_text=True),  # 1.1 means the decimal it prints as
    "BOOLEAN": _Kind(_listed),
    "VARCHAR": _Kind(_listed),
    "ENUM": _AS_TEXT,  # numpy would need pandas
    "UUID": _AS_TEXT,
    "DATE": _Kind(_parsed(day), through_text=True),  # numpy fails on infinity, DuckDB's own date is wrong on it
    **dict.fromkeys(_MOMENTS, _Kind(_parsed(moment), through_text=True)),
}


def type_name(described: str) -> str:
    """A type as the schema names it: the values of an enumeration may be cells, so they are left out."""
    return _ENUMERATED.sub("ENUM", described)


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Readable:
    """A SELECT whose columns are known: how it is written so that each of them can be read, and how that is done."""

    select: str
    kinds: Mapping[str, _Kind]

    def read(self, cursor: duckdb.DuckDBPyConnection) -> dict[str, Column]:
        """Run it, and read its columns."""
        arrays = cursor.execute(self.select).fetchnumpy()
        if arrays.keys() != self.kinds.keys():
            raise ValueError("the result has other columns than were described")
        return {name: kind.read(arrays[name]) for name, kind in self.kinds.items()}


def readable(cursor: duckdb.DuckDBPyConnection, select: str) -> Readable:
    """Learn the columns of one SELECT. Their types are known, and refused, before a row is touched."""
    select = select.strip().rstrip(";")
    described = cursor.execute(f"DESCRIBE {select}").fetchall()
    kinds = {name: _kind(described_type) for name, described_type, *_ in described}
    if len({name.lower() for name in kinds}) != len(described):
        raise ValueError("two columns of the result have one name")
    if any(kind.through_text for kind in kinds.values()):
        asked = ", ".join(_selected(name, kind) for name, kind in kinds.items())
        select = f"SELECT {asked} FROM (\n{select}\n) AS result"
    return Readable(select, kinds)


def _selected(name: str, kind: _Kind) -> str:
    return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if kind.through_text else quoted(name)


def _kind(described: str) -> _Kind:
    kind = None if described.endswith("]") else _KINDS.get(described.partition("(")[0])
    if kind is None:
        raise ValueError(f"a result cannot have a column of type {type_name(described)}")
    return kind
