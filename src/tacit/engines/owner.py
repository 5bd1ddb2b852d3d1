"""The owner's door: direct look-up and changes on the curator's own database. No server imports this."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import duckdb

from tacit.engines.base import UNLIMITED
from tacit.engines.columns import quoted
from tacit.engines.duckdb import instance
from tacit.engines.sources import expose, is_busy
from tacit.errors import EngineError, PolicyError
from tacit.policy import DatabaseSource, Policy

Row = tuple[object, ...]


def run_owner_sql(
    source: Policy | Path | str, sql: str, parameters: Sequence[object] = ()
) -> tuple[tuple[str, ...], list[Row]]:
    """Run the owner's SQL and give back (columns, rows), true values and all.

    A database file is opened for writing, and made if it is not there. A policy over files can only be looked at.
    Errors say what DuckDB says: whoever may ask here may see every row anyway.
    """
    if isinstance(source, Policy) and source.dataset.engine != "duckdb":
        raise PolicyError(
            f"the source is {source.dataset.engine}: tacit reads it and changes nothing there",
            hint="use the database's own tools, such as psql or sqlite3",
        )
    if isinstance(source, Policy) and not isinstance(source.dataset.source, DatabaseSource):
        return _look(source, sql, parameters)
    try:
        with closing(duckdb.connect(str(_path(source)))) as connection:
            connection.execute("SET python_enable_replacements = false; SET enable_progress_bar = false")
            return _run(connection, sql, parameters)
    except duckdb.Error as error:
        raise _said(error) from None


def _path(source: Policy | Path | str) -> Path:
    if not isinstance(source, Policy):
        return Path(source)
    if not isinstance(source.dataset.source, DatabaseSource):
        raise TypeError("only a database has a path")
    return source.dataset.resolve(source.dataset.source.location)


def _look(policy: Policy, sql: str, parameters: Sequence[object]) -> tuple[tuple[str, ...], list[Row]]:
    with (
        tempfile.TemporaryDirectory(prefix="tacit-") as scratch,
        closing(instance(UNLIMITED, scratch=scratch)) as connection,
    ):
        expose(connection, policy.dataset, tables=policy.tables, every=False)
        try:
            kinds = {statement.type for statement in connection.extract_statements(sql)}
            if kinds <= {duckdb.StatementType.SELECT}:
                connection.execute("BEGIN TRANSACTION READ ONLY")
                return _run(connection, sql, parameters)
        except duckdb.Error as error:
            raise _said(error) from None
    raise PolicyError(
        "the source is files, which can be looked at but not changed: only SELECT works here",
        hint='a source such as "clinic.duckdb" takes CREATE, INSERT, UPDATE and DELETE',
    )


def _run(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[object]
) -> tuple[tuple[str, ...], list[Row]]:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(sql, list(parameters) or None)
    described = connection.description or []
    zoned = [quoted(name) for name, kind, *_ in described if str(kind) == "TIMESTAMP WITH TIME ZONE"]
    if zoned and _is_one_select(connection, sql):  # Python values of this type would need pytz, so they come as text
        texts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in zoned)
        inner = sql.strip().rstrip(";")
        connection.execute(f"SELECT * REPLACE ({texts}) FROM (\n{inner}\n)", list(parameters) or None)
    return tuple(name for name, *_ in described), connection.fetchall()


def _is_one_select(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    return [statement.type for statement in connection.extract_statements(sql)] == [duckdb.StatementType.SELECT]


def _said(error: duckdb.Error) -> EngineError:
    """What DuckDB said, without the picture of the query it draws below."""
    text = str(error).partition("\n\n")[0]
    return EngineError(text, hint="close what else has the database open" if is_busy(error) else "")
