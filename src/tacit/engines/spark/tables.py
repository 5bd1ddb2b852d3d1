"""Which tables of Spark a policy means, the words that put them before a question, and what comes back."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.engines.cells import day_after_epoch, moment_after_epoch, number
from tacit.engines.delta import is_delta
from tacit.engines.exact import Column
from tacit.errors import PolicyError
from tacit.policy import Dataset, FileSource, Schema, TablePolicy, fold
from tacit.policy.tables.table import spellings

Fields = Callable[[str], list[tuple[str, str]]]  # names and types of the columns of a SELECT, without running it

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_DAYS = ("0001-01-01", "9999-12-31")
_MOMENTS = ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")
BEYOND = "SELECT YEAR(DATE_ADD(DATE '9999-12-31', 100000000)) AS n"  # what some servers cannot compute


@dataclass(frozen=True, slots=True)
class SparkTables:
    """The tables of a policy: their schema, and a WITH clause that reads them."""

    schema: Schema
    clause: str
    paths: tuple[str, ...] = ()  # files of this machine, or directories or patterns of them, if every table is there

    def before(self, select: str) -> str:
        """One SELECT that sees the tables as the schema describes them. A write is none, nor are two statements."""
        if "\0" in select:
            raise ValueError("a statement ends at a NUL")
        return f"{self.clause}SELECT * FROM (\n{select.strip().rstrip(';')}\n) AS result"


def named(name: str) -> str:
    """A name as Spark's SQL quotes it."""
    return "`" + name.replace("`", "``") + "`"


def find_tables(
    fields: Fields,
    dataset: Dataset,
    tables: Sequence[TablePolicy],
    *,
    listed: Iterable[str] | None,
    guarded: bool,
    located: Callable[[str], str | None],
) -> SparkTables:
    """The policy's tables, or all that are `listed`. Reads names and types, never a row.

    `guarded`: the server fails on moments beyond the calendar, so that these are read as NULL. `located` says where on
    this machine the Delta table of that name in the catalogue lies, if it does.
    """
    origins = _origins(dataset, [table.name for table in tables] if listed is None else listed)
    schema: dict[str, Mapping[str, str]] = {}
    parts = []
    for name, origin in origins.items():
        spelled = spellings(tables, name)
        cells, types = [], {}
        for column, kind in fields(f"SELECT * FROM {origin}"):
            sql, shown = _reading(named(column), kind, guarded=guarded)
            called = spelled.get(fold(column), column)
            cells.append(f"{sql} AS {named(called)}")
            types[called] = shown
        if not types:
            raise PolicyError(f"table {name!r} cannot be read by Spark: it has no columns, or is not there")
        schema[name] = types
        parts.append(f"{named(name)} AS (SELECT {', '.join(cells)} FROM {origin})")
    return SparkTables(schema, f"WITH {', '.join(parts)}\n" if parts else "", _paths(dataset, list(origins), located))


def _origins(dataset: Dataset, names: Iterable[str]) -> dict[str, str]:
    if not isinstance(dataset.source, FileSource):
        return {name: named(name) for name in names}
    origins = {}
    for name in names:
        location = dataset.source.location(name)
        if location is None:
            raise PolicyError(f"table {name!r} has no file", hint="name one in source")
        if not location.lower().endswith((".parquet", ".parquet/", "/")):
            raise PolicyError(f"table {name!r}: Spark reads Parquet here, and {location!r} does not end in .parquet")
        path = location if "://" in location else os.path.abspath(dataset.resolve(location))
        origins[name] = f"{'delta' if is_delta(path) else 'parquet'}.{named(path)}"  # whose files are not all its rows
    return origins


def _paths(dataset: Dataset, names: Sequence[str], located: Callable[[str], str | None]) -> tuple[str, ...]:
    source = dataset.source
    if not isinstance(source, FileSource):
        paths = [located(name) for name in names]
        known = tuple(path for path in paths if path is not None)
        return known if len(known) == len(paths) else ()
    locations = [source.location(name) or "" for name in names]
    if not locations or any("://" in location for location in locations):
        return ()
    return tuple(os.path.abspath(dataset.resolve(location)) for location in locations)


def files_under(paths: Sequence[str]) -> list[str]:
    """The files behind paths, directories and patterns, in the order of their names; not those that Spark ignores."""
    files = []
    for path in paths:
        for each in sorted(glob.glob(path)):
            inside = glob.glob(os.path.join(glob.escape(each), "**"), recursive=True) if os.path.isdir(each) else [each]
            files += sorted(file for file in inside if not os.path.isdir(file) and not _is_ignored(file, each))
    return files


def _is_ignored(file: str, above: str) -> bool:
    """What a log, a checkpoint or a writer leaves beside the rows: its name begins with an underscore."""
    return any(part.startswith("_") and "=" not in part for part in os.path.relpath(file, above).split(os.sep))


def _reading(name: str, kind: str, *, guarded: bool) -> tuple[str, str]:
    """How a column is read, and DuckDB's word for what it then is. -0.0 becomes 0.0: one group, one spelling.

    No cell can fail: Sail calls a column of unsigned 64 bits a bigint, and what does not fit one is NULL.
    """
    if kind in _WHOLE:
        return f"TRY_CAST({name} AS BIGINT)", "BIGINT"
    if kind in {"float", "double"}:
        return f"({name} + CAST(0 AS {kind.upper()}))", kind.upper()
    if kind.startswith(("string", "varchar", "char")):
        return f"CAST({name} AS STRING)", "VARCHAR"
    if kind in {"timestamp", "timestamp_ntz", "timestamp_ltz"}:
        moment = f"CAST({name} AS TIMESTAMP_NTZ)"
        word = "TIMESTAMP" if kind == "timestamp_ntz" else "TIMESTAMP WITH TIME ZONE"  # a point in time, read in UTC
        return _in_calendar(moment, "TIMESTAMP_NTZ", _MOMENTS) if guarded else moment, word
    if kind == "date" and guarded:
        return _in_calendar(name, "DATE", _DAYS), "DATE"
    return name, kind.upper()


def _in_calendar(value: str, kind: str, ends: tuple[str, str]) -> str:
    return f"CASE WHEN {value} BETWEEN {kind} '{ends[0]}' AND {kind} '{ends[1]}' THEN {value} END"


# ── what comes back ──────────────────────────────────────────────────────────────────────────────────────────────────


def fetch(table: Any) -> dict[str, Column]:
    """The columns of a result, an Arrow table."""
    names = table.column_names
    if len({name.lower() for name in names}) != len(names):
        raise ValueError("two columns of the result have one name")
    return {name: _column(table.column(index), str(table.schema.types[index])) for index, name in enumerate(names)}


def _column(column: Any, kind: str) -> Column:
    if kind in {"int8", "int16", "int32", "int64"}:
        return np.array(column.to_numpy(), dtype=np.int64) if column.null_count == 0 else _listed(column)
    if kind in {"bool", "string", "large_string", "string_view"}:
        return _listed(column)
    if kind == "date32[day]":
        return [None if cell is None else day_after_epoch(cell) for cell in _listed(column.cast("int32"))]
    if kind in {"float", "double"}:
        texts = _listed(column)
        exact: Callable[[Any], float] = float if kind == "double" else lambda cell: float(str(np.float32(cell)))
        return [None if cell is None else exact(cell) + 0.0 for cell in texts]
    if kind.startswith("decimal"):
        return [None if cell is None else number(str(cell)) for cell in _listed(column)]
    if kind.startswith("timestamp"):
        micros = column.cast("timestamp[us]").cast("int64")  # in UTC, and without saying so
        return [None if cell is None else moment_after_epoch(cell) for cell in _listed(micros)]
    raise ValueError(f"a result cannot have a column of type {kind}")


def _listed(column: Any) -> list[Any]:
    cells: list[Any] = column.to_pylist()
    return cells
