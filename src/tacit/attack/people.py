"""The table under attack: people whose data are published, and people of the same kind whose data are not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source, uniform_integer

TRIED = 1_000  # people of either kind whom an attack is tried on, at most
NEEDED = 60
Codes = NDArray[np.int64]
_READERS = {".csv": "read_csv({}, all_varchar = true)", ".tsv": "read_csv({}, all_varchar = true)"}


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """A column of the table as codes, with what each code stands for."""

    name: str
    values: tuple[str, ...]
    codes: Codes

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """The values as numbers, where all of them are."""
        try:
            return np.array([float(value) for value in self.values])
        except ValueError:
            return None


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Who is known by what, and who of them is in the data: a tenth is held out, as controls."""

    known: tuple[KnownColumn, ...]  # the quasi-identifiers
    secret: KnownColumn
    members: Codes  # places of those in the data, in random order
    controls: Codes

    @property
    def rows(self) -> int:
        """How many are in the data."""
        return self.members.size

    def tried(self, *, members: bool) -> Codes:
        """Those whom an attack is tried on."""
        return (self.members if members else self.controls)[:TRIED]


def open_people(
    table: object, known: Sequence[str], *, secret: str, connection: duckdb.DuckDBPyConnection | None = None,
    source: Source = SYSTEM,
) -> People:  # fmt: skip
    """Read a table: a path (Parquet, CSV, JSON), a frame, or a DuckDB relation.

    Raises InvalidParameter where a column is missing, or where the table is too small for any verdict.
    """
    with duckdb.connect() as own:
        relation = read_relation(table, connection or own)
        there = {name.casefold(): name for name in relation.columns}
        for name in (*known, secret):
            if name.casefold() not in there:
                raise InvalidParameter(
                    f"the table lacks the column {name!r}", hint=f"it has {', '.join(there.values())}"
                )
        if not known:
            raise InvalidParameter(
                "no column is known of people: nobody can be looked for", hint="name some: --qi age,sex"
            )
        names = [there[name.casefold()] for name in (*known, secret)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidParameter(
                f"the column {twice!r} is named twice: what is known is not looked for",
                hint="name each known column once, and a secret that is none of them",
            )
        listed = ", ".join(f"CAST({quoted(name)} AS VARCHAR) AS c{index}" for index, name in enumerate(names))
        cells = relation.project(listed).fetchnumpy()
    attributes = [_attribute(name, cells[f"c{index}"]) for index, name in enumerate(names)]
    rows = attributes[0].codes.size
    if rows < NEEDED:
        raise InvalidParameter(f"the table is too small for a verdict: it has {rows} rows, and {NEEDED} are needed")
    order = shuffled(rows, source)
    held = max(NEEDED // 3, min(rows // 10, 10 * TRIED))
    return People(tuple(attributes[:-1]), attributes[-1], order[held:], order[:held])


def quoted(name: str) -> str:
    """The name of a column as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def shuffled(count: int, source: Source = SYSTEM) -> Codes:
    """The numbers below `count` in random order."""
    return np.argsort(uniform_integer(1 << 62, count, source=source), kind="stable")


def read_relation(table: object, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """A table wherever it comes from; the texts of a CSV file stay texts."""
    if isinstance(table, duckdb.DuckDBPyRelation):
        return table
    if isinstance(table, str | os.PathLike):
        path = Path(table)
        if not path.is_file():
            raise InvalidParameter(f"there is no file {path.name!r}")
        place = "'" + str(path).replace("'", "''") + "'"
        try:
            return connection.sql("FROM " + _READERS.get(path.suffix.lower(), "{}").format(place))
        except duckdb.Error:
            raise InvalidParameter(f"{path.name} cannot be read", hint="Parquet, CSV and JSON can") from None
    try:
        return connection.from_df(table)
    except (duckdb.Error, TypeError):
        raise InvalidParameter("this is no table", hint="give a path, a frame or a DuckDB relation") from None


def _attribute(name: str, cells: object) -> KnownColumn:
    """Codes of a column of texts; a missing cell is a value."""
    texts = np.ma.filled(np.ma.asarray(cells), "").astype(str)
    values, codes = np.unique(texts, return_inverse=True)
    return KnownColumn(name, tuple(values.tolist()), codes.astype(np.int64).ravel())
