"""A table from wherever it comes, as a view of a DuckDB of our own: frames, Arrow, files, relations, engines."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tacit.engines.columns import literal, quoted
from tacit.engines.sources import expose
from tacit.errors import EngineError, InvalidParameter, TacitError
from tacit.policy import Policy, TablePolicy, fold
from tacit.policy.tables.two_owners import two_owners_refused
from tacit.release.anonymise.reading.remote import Remote, find_remote

_READERS = {
    ".parquet": "read_parquet({})",
    ".pq": "read_parquet({})",
    ".csv": "read_csv({}, header=true, sample_size=-1)",
    ".tsv": "read_csv({}, header=true, sample_size=-1)",
    ".gz": "read_csv({}, header=true, sample_size=-1)",
    ".json": "read_json({}, sample_size=-1)",
    ".jsonl": "read_json({}, sample_size=-1)",
}
_PATTERN = frozenset("*?[")
SOURCE = "source"


@dataclass(frozen=True, slots=True, eq=False)
class TableSource:
    """A connection with the table as its view `source`, and what must outlive it."""

    connection: duckdb.DuckDBPyConnection
    kind: str  # file, pandas, arrow or relation: what the result is given back as
    held: tuple[object, ...] = ()
    declared: TablePolicy | None = None  # what a policy says of it
    remote: Remote | None = None  # a table that lies in another engine, until it is brought here

    def columns(self) -> dict[str, str]:
        """The names and types of the table's columns."""
        if self.remote is not None:
            return dict(self.remote.columns)
        rows = ask(self.connection, f"DESCRIBE SELECT * FROM {SOURCE}")
        return {str(name): str(kind) for name, kind, *_ in rows}

    def bring(self, names: Sequence[str]) -> None:
        """Make the view `source` of these columns, where the table is not here already."""
        if self.remote is not None:
            self.remote.bring(self.connection, names, view=SOURCE)


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory that reads nothing by accident, and keeps no order of rows."""
    connection = duckdb.connect()
    connection.execute(
        "SET python_enable_replacements = false; SET enable_progress_bar = false;"
        " SET preserve_insertion_order = false; SET TimeZone = 'UTC'"
    )
    return connection


def open_source(table: object, *, as_text: bool = False) -> TableSource:
    """The table behind a path, a frame, an Arrow table or a DuckDB relation; CSV with its types, or all `as_text`."""
    connection = connect()
    if isinstance(table, str | os.PathLike):
        _view_file(connection, Path(table), SOURCE, as_text=as_text)
        _without_zones(connection, SOURCE)
        return TableSource(connection, "file")
    kind = _kind(table)
    if kind == "relation":
        with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
            path = str(Path(folder) / "relation.parquet")
            _copy_relation(table, path)
            ask(connection, f"CREATE TEMP TABLE {SOURCE} AS FROM read_parquet({literal(path)})")
        _without_zones(connection, SOURCE)
        return TableSource(connection, kind)
    _register(connection, SOURCE, table)
    _without_zones(connection, SOURCE)
    return TableSource(connection, kind, (table,))


def open_named(table: object, policy: Policy | None, *, as_text: bool = False) -> TableSource:
    """A table of the policy's source where there is no such file, else what `open_source` opens."""
    if policy is not None and isinstance(table, str) and not Path(table).exists():
        return open_table(policy, table)
    return open_source(table, as_text=as_text)


def open_table(policy: Policy, table: str) -> TableSource:
    """A table of a policy's source: read where it lies by DuckDB, grouped where it lies by any other engine."""
    known = next((declared for declared in policy.tables if fold(declared.name) == fold(table)), None)
    if known is None:
        raise InvalidParameter(f"the policy has no table {table!r}", hint="name one of its tables, or a file")
    if known.units:  # classes count rows, or one owner's: the other would be in as many as they have partners
        raise two_owners_refused(known.name, known.units, what="anonymising")
    connection = connect()
    if policy.dataset.engine != "duckdb":
        return TableSource(connection, "file", declared=known, remote=find_remote(policy, known))
    expose(connection, policy.dataset, tables=[known], every=False)
    ask(connection, f"CREATE VIEW {SOURCE} AS FROM {quoted(known.name)}")
    _without_zones(connection, SOURCE)
    return TableSource(connection, "file", declared=known)


def view_population(source: TableSource, table: object, name: str) -> None:
    """Make a second table a view beside the first."""
    if isinstance(table, str | os.PathLike):
        _view_file(source.connection, Path(table), name)
    elif _kind(table) == "relation":
        raise InvalidParameter("a population is a file, a frame or an Arrow table, not a relation")
    else:
        _register(source.connection, name, table)
    _without_zones(source.connection, name)


def ask(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    """Rows; whatever fails is said without the words of the database, which hold cells."""
    failed: TacitError
    try:
        return connection.execute(sql).fetchall()
    except duckdb.OutOfMemoryException:
        failed = EngineError("the table is too large for this machine's memory")
    except duckdb.Error:
        failed = EngineError("the table cannot be read as it is", hint="check the file, and the types of its columns")
    raise failed


def named(columns: Sequence[str], there: dict[str, str], *, what: str) -> list[str]:
    """The columns as the table spells them; unknown ones are refused."""
    spelt = {name.casefold(): name for name in there}
    names = []
    for column in columns:
        name = column if column in there else spelt.get(column.casefold())
        if name is None:
            raise InvalidParameter(f"{what}: the table has no column {column!r}", hint=f"it has {', '.join(there)}")
        names.append(name)
    if len(set(names)) < len(names):
        raise InvalidParameter(f"{what}: a column is named twice")
    return names


def _copy_relation(relation: Any, path: str) -> None:
    """Copy a relation, which lives in its caller's connection, into a file that ours can read."""
    failed: TacitError
    try:
        relation.write_parquet(path)
    except duckdb.ResourceInUseException:
        failed = EngineError(
            "the relation cannot be read: its connection has an unfinished result",
            hint="fetch that result to its end, or make the relation in a connection of its own",
        )
    except duckdb.Error:
        failed = EngineError("the relation cannot be read as it is", hint="run it by itself to see what DuckDB says")
    else:
        return
    raise failed


def _register(connection: duckdb.DuckDBPyConnection, name: str, table: object) -> None:
    failed = InvalidParameter("the table cannot be read: its columns are of no kind DuckDB knows")
    for laid in _layouts(table):
        try:
            connection.register(name, laid)
        except Exception:  # noqa: S112 - whatever it says may hold cells
            continue
        return
    raise failed


def _without_zones(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Times that have a zone as times of UTC: Python cannot be handed the others without a library of zones."""
    described = ask(connection, f"DESCRIBE SELECT * FROM {quoted(name)}")
    zoned = [str(column) for column, kind, *_ in described if kind == "TIMESTAMP WITH TIME ZONE"]
    if not zoned:
        return
    listed = ", ".join(f"{quoted(column)}::TIMESTAMP AS {quoted(column)}" for column in zoned)
    is_view = ask(connection, f"SELECT 1 FROM duckdb_views() WHERE view_name = {literal(name)}")
    ask(connection, f"ALTER {'VIEW' if is_view else 'TABLE'} {quoted(name)} RENAME TO {quoted(name + '_zoned')}")
    ask(connection, f"CREATE TEMP VIEW {quoted(name)} AS SELECT * REPLACE ({listed}) FROM {quoted(name + '_zoned')}")


def _layouts(table: Any) -> Iterator[object]:
    """The table as it is; and a frame laid out anew, for one that runs backwards cannot be read in place."""
    yield table
    if hasattr(table, "copy"):
        yield table.copy()


def _kind(table: object) -> str:
    if isinstance(table, duckdb.DuckDBPyRelation):
        return "relation"
    home = type(table).__module__.partition(".")[0]
    if home == "pandas":
        return "pandas"
    if home in {"pyarrow", "polars"}:
        return "arrow"
    raise InvalidParameter(
        f"a table is a path, a pandas or Arrow table, or a DuckDB relation: got {type(table).__name__}"
    )


def _view_file(connection: duckdb.DuckDBPyConnection, path: Path, name: str, *, as_text: bool = False) -> None:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidParameter(f"{path.name} is of no kind tacit reads", hint="Parquet, CSV and JSON are")
    if not path.is_file():
        raise InvalidParameter(f"{path.name} is not there: no such file")
    if not _PATTERN.isdisjoint(str(path)):  # DuckDB would read the name as a pattern, and open other files
        raise InvalidParameter(f"{path.name}: the path of a file has none of * ? [ in it", hint="rename it")
    if as_text:
        reader = reader.replace("header=true, sample_size=-1", "header=true, all_varchar=true")
    text = literal(str(path.absolute()))
    if "parquet" in reader:
        ask(connection, f"CREATE VIEW {quoted(name)} AS FROM {reader.format(text)}")
    else:  # text is converted once
        ask(connection, f"CREATE TEMP TABLE {quoted(name)} AS FROM {reader.format(text)}")
