"""A policy's source as DuckDB views: attached read-only, read in place or loaded, before the engine is locked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tacit.engines.columns import literal, quoted, type_name
from tacit.engines.exact import log
from tacit.engines.files import Format, TableFiles, readable, table_files
from tacit.engines.text.cells import cell_of
from tacit.engines.text.tables import Unfit, load, text_table, unfit_cells
from tacit.engines.watching import DataMark, mark_of_files
from tacit.errors import EngineError, PolicyError, TacitError
from tacit.policy import ColumnType, DatabaseSource, Dataset, FileSource, Schema, TablePolicy, TextFormat, fold

Connection = duckdb.DuckDBPyConnection

ATTACHED = "tacit_source"
_SEE_LOG = "the curator's log says why"


@dataclass(frozen=True, slots=True)
class Exposed:
    """What stands open after exposing: the names of the tables, and the files that questions go on reading."""

    tables: tuple[str, ...]
    paths: tuple[str, ...] = ()
    loaded: DataMark | None = None  # the state of the files that were read once, before they were
    computed: tuple[str, ...] = ()  # those that are computed when they are read, so that reading a row can fail


def expose(connection: Connection, dataset: Dataset, *, tables: Sequence[TablePolicy], every: bool) -> Exposed:
    """Make each table a view or table of its own name: the policy's, or `every` one the source has."""
    if isinstance(dataset.source, FileSource):  # which names the policy's tables and no others
        return _expose_files(connection, dataset, tables={fold(table.name): table for table in tables})
    return _expose_database(connection, dataset, names=None if every else [table.name for table in tables])


def ask(connection: Connection, sql: str, *, otherwise: TacitError) -> list[tuple[object, ...]]:
    """Rows, or the error given: raised outside the handler, so that it carries nothing of what DuckDB said."""
    try:
        return connection.execute(sql).fetchall()
    except Exception as error:  # whatever it is, it may hold cells
        log.warning("%s: %s", type(error).__name__, error)
    raise otherwise


def describe(connection: Connection, tables: Sequence[str], *, otherwise: TacitError | None = None) -> Schema:
    """The columns of each table. Also finds views that the lock has cut off from what they read."""
    schema: dict[str, Mapping[str, str]] = {}
    for table in tables:
        cut_off = otherwise or PolicyError(
            f"table {table!r} cannot be read",
            hint="it may be a view over something outside its database, which is closed; " + _SEE_LOG,
        )
        rows = ask(connection, f"DESCRIBE SELECT * FROM {quoted(table)}", otherwise=cut_off)
        schema[table] = {str(name): type_name(str(kind)) for name, kind, *_ in rows}
    return schema


# ── a database file ──────────────────────────────────────────────────────────────────────────────────────────────────


def attach(connection: Connection, dataset: Dataset) -> None:
    """Attach the database file read-only. Its macros, settings and other schemas stay out of our own names."""
    if not isinstance(dataset.source, DatabaseSource):
        raise TypeError("only a database can be attached")
    what = f"the source {dataset.source.location!r}"
    path = str(dataset.resolve(dataset.source.location).absolute())
    readable(path, what)
    if holds_sqlite(path):
        raise PolicyError(f"{what} is a SQLite database", hint='write engine = "sqlite" beside it')
    with open(path, "rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise PolicyError(
                f"{what} is not a DuckDB database", hint='for other files write source = { visits = "visits.parquet" }'
            )
    try:
        connection.execute(f"ATTACH {literal(path)} AS {ATTACHED} (TYPE duckdb, READ_ONLY)")
    except duckdb.Error as error:  # about the file, never about a row; its words stay in the log all the same
        log.warning("%s: %s", type(error).__name__, error)
        busy = is_busy(error)
    else:
        return
    if busy:
        raise EngineError(f"{what} is open for writing elsewhere", hint="close what writes to it and try again")
    raise EngineError(f"{what} could not be opened: it is damaged, encrypted or of another version", hint=_SEE_LOG)


def holds_sqlite(path: str) -> bool:
    """Whether a file is a SQLite database, by its first bytes. One that cannot be read is none."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def is_busy(error: duckdb.Error) -> bool:
    """Whether DuckDB says that another connection, of this process or another, holds the file."""
    return any(sign in str(error) for sign in ("lock on file", "file handle conflict", "different configuration"))


def _expose_database(connection: Connection, dataset: Dataset, *, names: Sequence[str] | None) -> Exposed:
    loaded = _mark_of_database(dataset)
    attach(connection, dataset)
    there = _tables_in(connection)
    exposed, computed = [], []
    views = _views_in(connection)
    for name in _main_tables(there) if names is None else names:
        schema, table = _find(there, name)
        origin = f"{ATTACHED}.{quoted(schema)}.{quoted(table)}"
        unreadable = PolicyError(f"table {name!r} cannot be read", hint=_SEE_LOG)
        columns = ask(connection, f"DESCRIBE SELECT * FROM {origin}", otherwise=unreadable)
        view = f"CREATE VIEW {quoted(name)} AS SELECT * {_without_collation(columns)} FROM {origin}"
        ask(connection, view, otherwise=unreadable)
        exposed.append(name)
        computed += [name] if (schema, table) in views else []
    return Exposed(tuple(exposed), loaded=loaded, computed=tuple(computed))


def _mark_of_database(dataset: Dataset) -> DataMark:
    """While it is open nobody can write to it, so that it is marked once: with what is not yet written into it."""
    assert isinstance(dataset.source, DatabaseSource)  # noqa: S101 - asked before
    path = str(dataset.resolve(dataset.source.location).absolute())
    return mark_of_files([path, *([f"{path}.wal"] if os.path.exists(f"{path}.wal") else [])])


def _without_collation(columns: Sequence[tuple[object, ...]]) -> str:
    """Byte order for all text: under a collation the spelling that stands for a group is that of whoever came first."""
    names = [quoted(str(name)) for name, kind, *_ in columns if kind == "VARCHAR"]
    plain = [f'{name} COLLATE "binary" AS {name}' for name in names]
    return f"REPLACE ({', '.join(plain)})" if plain else ""


def _tables_in(connection: Connection) -> list[tuple[str, str]]:
    """Tables and views of the attached database: pairs of (schema, name)."""
    ours = f"WHERE database_name = '{ATTACHED}' AND NOT internal"
    sql = (
        f"SELECT schema_name, table_name FROM duckdb_tables() {ours} "
        f"UNION ALL SELECT schema_name, view_name FROM duckdb_views() {ours}"
    )
    rows = ask(connection, sql, otherwise=EngineError("the database does not list its tables", hint=_SEE_LOG))
    return sorted((str(schema), str(table)) for schema, table in rows)


def _views_in(connection: Connection) -> set[tuple[str, str]]:
    sql = f"SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = '{ATTACHED}' AND NOT internal"
    rows = ask(connection, sql, otherwise=EngineError("the database does not list its views", hint=_SEE_LOG))
    return {(str(schema), str(view)) for schema, view in rows}


def _main_tables(there: Sequence[tuple[str, str]]) -> list[str]:
    return [table for schema, table in there if schema == "main"]


def _find(there: Sequence[tuple[str, str]], name: str) -> tuple[str, str]:
    """Where a table lies: in `main` if it is there, else in the one schema that has it."""
    same = [(schema, table) for schema, table in there if fold(table) == fold(name)]
    main = [candidate for candidate in same if candidate[0] == "main"]
    if len(main or same) == 1:
        return (main or same)[0]
    if same:
        raise PolicyError(f"table {name!r} is not one table: several schemas of the database have one of that name")
    raise PolicyError(f"table {name!r} is not in the database", hint="check [tables] against the source")


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _expose_files(connection: Connection, dataset: Dataset, *, tables: Mapping[str, TablePolicy]) -> Exposed:
    if not isinstance(dataset.source, FileSource):
        raise TypeError("only a source of files names them")
    paths: list[str] = []
    names = []
    files_of = {table: table_files(dataset, table, location=location) for table, location in dataset.source.files}
    texts = [path for files in files_of.values() if files.format is not Format.PARQUET for path in files.paths]
    loaded = mark_of_files(texts) if texts else None
    for table, location in dataset.source.files:
        files = files_of[table]
        policy = tables.get(fold(table))
        name = table if policy is None else policy.name
        unreadable = PolicyError(
            f"table {table!r} cannot be read: {location!r} is not {files.format.value} that fits its columns",
            hint=_SEE_LOG,
        )
        if files.format is Format.PARQUET:
            _view_parquet(connection, name, files, unreadable=unreadable, policy=policy)
            paths.extend(files.paths)
        else:
            _load(connection, files, policy, tables=list(tables.values()), unreadable=unreadable)
        names.append(name)
    return Exposed(tuple(names), tuple(paths), loaded=loaded)


def _view_parquet(
    connection: Connection, name: str, files: TableFiles, *, policy: TablePolicy | None, unreadable: TacitError
) -> None:
    """Parquet is read in place. Files that disagree on a type would be cast cell by cell, and a cast can fail."""
    described = [
        ask(connection, f"DESCRIBE FROM read_parquet({literal(path)}, hive_partitioning=false)", otherwise=unreadable)
        for path in files.paths
    ]
    if any(columns != described[0] for columns in described):
        raise PolicyError(
            f"table {name!r}: the files of {files.location!r} differ in their columns or types",
            hint="write them again with one schema",
        )
    keys = files.partition_keys
    declared = {} if policy is None else {fold(column.name): column.text_type for column in policy.columns}
    cells = [cell_of(key, declared.get(fold(key), ColumnType.TEXT), TextFormat()) for key in keys]
    typed = ", ".join(f"{cell.of(quoted(cell.name))} AS {quoted(cell.name)}" for cell in cells)
    partitions = f"hive_partitioning={'true' if keys else 'false'}, hive_types_autocast=false"  # a path is text too
    select = f"SELECT * {f'REPLACE ({typed})' if keys else ''} FROM read_parquet({_listed(files.paths)}, {partitions})"
    ask(connection, f"CREATE VIEW {quoted(name)} AS {select}", otherwise=unreadable)


def _load(
    connection: Connection,
    files: TableFiles,
    policy: TablePolicy | None,
    *,
    tables: Sequence[TablePolicy],
    unreadable: TacitError,
) -> None:
    """Text is converted once, here, so that no cell can fail to convert when a question is asked."""
    try:
        load(connection, text_table(connection, files, policy, tables=tables))
    except TacitError:
        raise
    except Exception as error:  # whatever it is, it may hold cells
        log.warning("%s: %s", type(error).__name__, error)
    else:
        return
    raise unreadable


def unfit_cells_in(connection: Connection, dataset: Dataset, tables: Sequence[TablePolicy]) -> list[Unfit]:
    """The cells of files of text that are read as NULL. Reads the rows: it is for the curator alone."""
    if not isinstance(dataset.source, FileSource):
        return []
    named = {fold(table.name): table for table in tables}
    unfit: list[Unfit] = []
    for table, location in dataset.source.files:
        files = table_files(dataset, table, location=location)
        if files.format is not Format.PARQUET:
            unfit += unfit_cells(connection, text_table(connection, files, named.get(fold(table)), tables=tables))
    return unfit


def _listed(paths: Sequence[str]) -> str:
    return f"[{', '.join(map(literal, paths))}]"
