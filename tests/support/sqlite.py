"""A SQLite file for tests, with the rows of a query of DuckDB's."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from uuid import UUID

import duckdb


def copy_into(path: Path, owner: duckdb.DuckDBPyConnection, **queries: str) -> Path:
    """Make a table of each query: its columns as DuckDB declares them, its cells as SQLite has them."""
    with closing(sqlite3.connect(path)) as file:
        for table, query in queries.items():
            columns = [(name, kind) for name, kind, *_ in owner.execute(f"DESCRIBE {query}").fetchall()]
            listed = ", ".join(f'"{name}" {kind}' for name, kind in columns)
            file.execute(f'CREATE TABLE "{table}" ({listed})')
            rows = [tuple(map(_cell, row)) for row in owner.execute(query).fetchall()]
            file.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(columns))})', rows)
        file.commit()
    return path


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return str(value) if isinstance(value, date | datetime | UUID) else value
