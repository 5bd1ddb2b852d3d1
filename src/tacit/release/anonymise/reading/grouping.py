"""Pack the quasi-identifiers of each row into one number, GROUP BY it in the engine, hand over the distinct ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from tacit.engines.columns import quoted
from tacit.errors import InvalidParameter
from tacit.release.anonymise.reading.source import ask
from tacit.release.anonymise.values.coding import is_missing
from tacit.release.anonymise.values.tuples import Codes, Ints, SecretSpread

LARGEST = 2**62  # a packed number is smaller


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """The different values of a column and how often each occurs; `table` holds them as (v, i), i being the index."""

    name: str
    table: str
    distinct: list[object]
    counts: Ints
    missing: bool  # there are nulls, or what is no number


@dataclass(frozen=True, slots=True)
class Code:
    """How SQL says the code of a column: an expression, the join it needs, and how many codes there are."""

    expression: str
    join: str
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """The distinct keys of a table in rising order, how many rows have each, and the spread of sensitive columns."""

    key: Ints
    codes: Codes  # (columns, keys)
    size: Ints
    sensitive: tuple[SecretSpread, ...]


def values_of(connection: duckdb.DuckDBPyConnection, view: str, column: str, *, table: str) -> Values:
    """Every value of a column; what is missing, and what is no number, among them."""
    ask(
        connection,
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT v, n, row_number() OVER () - 1 AS i FROM"
        f" (SELECT {quoted(column)} AS v, count(*) AS n FROM {quoted(view)} GROUP BY 1)",
    )
    rows = ask(connection, f"SELECT v, n FROM {table} ORDER BY i")
    values = [value for value, _ in rows]
    if any(isinstance(value, float) and math.isinf(value) for value in values):
        raise InvalidParameter(
            f"{column} has infinite numbers: no interval ends there", hint="fill them in or leave those rows out first"
        )
    missing = any(is_missing(value) for value in values)
    return Values(column, table, values, np.array([count for _, count in rows], dtype=np.int64), missing)


def coded(connection: duckdb.DuckDBPyConnection, values: Values, codes: Ints, *, size: int) -> Code:
    """Give each value its code, as a small table to join."""
    name = f"{values.table}_codes"
    connection.register("incoming", {"i": np.arange(codes.size), "c": codes.astype(np.int64)})
    ask(connection, f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT v, c FROM {values.table} JOIN incoming USING (i)")
    connection.unregister("incoming")
    same = "IS NOT DISTINCT FROM" if values.missing else "="
    return Code(f"{name}.c", f"JOIN {name} ON s.{quoted(values.name)} {same} {name}.v", size)


def ranked_values(connection: duckdb.DuckDBPyConnection, view: str, column: str, *, table: str) -> tuple[Code, bool]:
    """A code for each value in the engine's order, what is missing last; and whether anything is. No value is read."""
    name = quoted(column)
    ask(
        connection,
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT v, row_number() OVER (ORDER BY v NULLS LAST) - 1 AS c FROM"
        f" (SELECT DISTINCT {name} AS v FROM {quoted(view)})",
    )
    size, known, lost = ask(
        connection, f"SELECT count(*), count(v), count(*) FILTER (lower(v::VARCHAR) = 'nan') FROM {table}"
    )[0]
    same = "=" if size == known else "IS NOT DISTINCT FROM"
    return Code(f"{table}.c", f"JOIN {table} ON s.{name} {same} {table}.v", int(str(size))), size != known or bool(lost)


def numbered_values(connection: duckdb.DuckDBPyConnection, view: str, column: str, *, table: str) -> Code:
    """A code for each value in no order, what is missing and what is no number among them. No value is read here."""
    ask(
        connection,
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT v, row_number() OVER () - 1 AS c FROM"
        f" (SELECT DISTINCT {quoted(column)} AS v FROM {quoted(view)})",
    )
    size, known = (int(str(number)) for number in ask(connection, f"SELECT count(*), count(v) FROM {table}")[0])
    same = "=" if size == known else "IS NOT DISTINCT FROM"
    return Code(f"{table}.c", f"JOIN {table} ON s.{quoted(column)} {same} {table}.v", size)


def key_rows(
    connection: duckdb.DuckDBPyConnection, view: str, codes: Sequence[Code], *, carried: Sequence[str], table: str
) -> list[int]:
    """Make `table`: for each row its key and what is carried along. How many codes each column has, for unpacking."""
    sizes = [code.size for code in codes]
    joins = " ".join(code.join for code in codes)
    extra = "".join(f", {expression}" for expression in carried)
    if math.prod(sizes) < LARGEST:
        packed = _packed(codes)
        ask(
            connection,
            f"CREATE OR REPLACE TEMP TABLE {table} AS"
            f" SELECT {packed} AS tacit_key{extra} FROM {quoted(view)} s {joins}",
        )
        return sizes
    parts = _parts(codes)
    names = [f"tacit_part{index}" for index in range(len(parts))]
    listed = ", ".join(f"{_packed(part)} AS {name}" for part, name in zip(parts, names, strict=True))
    ask(
        connection,
        f"CREATE OR REPLACE TEMP TABLE loose AS SELECT {listed}{extra} FROM {quoted(view)} s {joins};"
        f" CREATE OR REPLACE TEMP TABLE {table}_parts AS"
        f" SELECT {', '.join(names)}, row_number() OVER () - 1 AS tacit_key"
        f" FROM (SELECT DISTINCT {', '.join(names)} FROM loose);"
        f" CREATE OR REPLACE TEMP TABLE {table} AS SELECT * EXCLUDE ({', '.join(names)}) FROM loose"
        f" JOIN {table}_parts USING ({', '.join(names)}); DROP TABLE loose",
    )
    return sizes


def grouped(
    connection: duckdb.DuckDBPyConnection, table: str, *, sizes: list[int], sensitive: Sequence[tuple[str, int]]
) -> Grouped:
    """The distinct keys of a keyed table. `sensitive`: columns of it that hold codes, and how many codes."""
    if len(sensitive) == 1:  # one count does for both
        pairs = _pairs(connection, table, sensitive[0][0])
        begins = np.flatnonzero(np.diff(pairs[0], prepend=-1))
        key, size = pairs[0][begins], np.add.reduceat(pairs[2], begins) if begins.size else pairs[2]
        every = [pairs]
    else:
        columns = connection.execute(f"SELECT tacit_key, count(*) AS n FROM {table} GROUP BY 1 ORDER BY 1").fetchnumpy()
        key, size = (np.asarray(columns[name], dtype=np.int64) for name in ("tacit_key", "n"))
        every = [_pairs(connection, table, name) for name, _ in sensitive]
    spreads = []
    for (name, values), (of, value, count) in zip(sensitive, every, strict=True):
        owner = np.searchsorted(key, of)
        spreads.append(SecretSpread.of(name, values, owner=owner, value=value, count=count, tuples=key.size))
    return Grouped(key, unpacked(connection, table, key, sizes=sizes), size, tuple(spreads))


def _pairs(connection: duckdb.DuckDBPyConnection, table: str, name: str) -> tuple[Ints, Ints, Ints]:
    """How often each key goes with each value of a column: (key, value, count), by key."""
    columns = connection.execute(
        f"SELECT tacit_key, {quoted(name)} AS v, count(*) AS n FROM {table} GROUP BY 1, 2 ORDER BY 1"
    ).fetchnumpy()
    key, value, count = (np.asarray(columns[column], dtype=np.int64) for column in ("tacit_key", "v", "n"))
    return key, value, count


def unpacked(connection: duckdb.DuckDBPyConnection, table: str, key: Ints, *, sizes: list[int]) -> Codes:
    """The codes inside each key."""
    if math.prod(sizes) < LARGEST:
        return _unpack(key, sizes)
    runs = _runs(sizes)
    names = [f"tacit_part{index}" for index in range(len(runs))]
    columns = connection.execute(
        f"SELECT tacit_key, {', '.join(names)} FROM {table}_parts ORDER BY tacit_key"
    ).fetchnumpy()
    there = np.asarray(columns["tacit_key"], dtype=np.int64)
    index = np.searchsorted(there, key)
    parts = [
        _unpack(np.asarray(columns[name], dtype=np.int64)[index], sizes[begin:end])
        for name, (begin, end) in zip(names, runs, strict=True)
    ]
    return np.concatenate(parts)


def _unpack(key: Ints, sizes: Sequence[int]) -> Codes:
    codes = np.empty((len(sizes), key.size), dtype=np.int32)
    rest = key
    for index in range(len(sizes) - 1, -1, -1):
        rest, codes[index] = np.divmod(rest, sizes[index])
    return codes


def _runs(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring columns that fit into one number, as many as possible each time."""
    runs, begin = [], 0
    while begin < len(sizes):
        end = begin + 1
        while end < len(sizes) and math.prod(sizes[begin : end + 1]) < LARGEST:
            end += 1
        runs.append((begin, end))
        begin = end
    return runs


def _parts(codes: Sequence[Code]) -> list[Sequence[Code]]:
    return [codes[begin:end] for begin, end in _runs([code.size for code in codes])]


def _packed(codes: Sequence[Code]) -> str:
    packed = "0::BIGINT"
    for code in codes:
        packed = f"({packed} * {code.size} + {code.expression})"
    return packed
