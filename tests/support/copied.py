"""Tables of a DuckDB in a new database of the test server's: the same columns, and the same rows."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import psycopg

from support.postgres import server

_TYPES = {"DOUBLE": "DOUBLE PRECISION", "VARCHAR": "TEXT", "HUGEINT": "NUMERIC(38, 0)"}


def copied_to_postgres(source: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> str:
    """The address of the database."""
    url = server().database()
    with psycopg.connect(url) as owner:
        for table in tables:
            described = source.execute(f"DESCRIBE {table}").fetchall()
            columns = ", ".join(f"{name} {_TYPES.get(kind, kind)}" for name, kind, *_ in described)
            owner.execute(f"CREATE TABLE {table} ({columns})".encode())
            with owner.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                for row in source.execute(f"FROM {table}").fetchall():
                    copy.write_row(row)
    return url
