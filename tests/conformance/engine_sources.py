"""How a script of DuckDB's statements becomes tables in each of the other engines."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from conformance.engine_pairs import Script
from support import sail
from support.postgres import server
from support.sqlite import copy_into
from tacit.engines import UNLIMITED, Engine
from tacit.policy import Dataset

_POSTGRES_TYPES = {"DOUBLE": "DOUBLE PRECISION", "FLOAT": "REAL", "VARCHAR": "TEXT"}


def in_postgres(script: Script) -> Engine:
    """A database of its own, as the same statements make it."""
    import psycopg

    from tacit.engines.postgres.engine import open_postgres

    url = server().database()
    with psycopg.connect(url) as owner:
        for statement in script.statements:
            owner.execute(_in_postgres(statement).encode())
    return open_postgres(Dataset("d", url, engine="postgres"), script.policy.tables, limits=UNLIMITED)


def _in_postgres(statement: str) -> str:
    if statement.startswith("CREATE TABLE"):
        for duckdb, postgres in _POSTGRES_TYPES.items():
            statement = re.sub(rf"\b{duckdb}\b", postgres, statement)
    return statement.replace(" (BC)", " BC")


def in_spark(script: Script, *, address: str | None = None) -> Engine:
    """Parquet files, written by DuckDB and read by a Spark Connect server: Sail, unless another is named."""
    from tacit.engines.spark.engine import open_spark

    directory = Path(tempfile.mkdtemp(prefix="tacit-spark-"))
    with duckdb.connect() as owner:
        for statement in script.statements:
            owner.execute(statement)
        texts = "REPLACE (CAST(id AS VARCHAR) AS id)" if "id UUID" in script.statements[0] else ""  # no type of Spark's
        files = {table.name: f"{directory}/{table.name}.parquet" for table in script.policy.tables}
        for table, file in files.items():
            owner.execute(f"COPY (SELECT * {texts} FROM {table}) TO '{file}' (FORMAT parquet)")
    os.environ["SPARK_REMOTE"] = address or sail.server()
    dataset = Dataset("d", files, engine="spark")
    return open_spark(dataset, script.policy.tables, limits=UNLIMITED)


def in_sqlite(script: Script) -> Engine:
    """A file, filled from DuckDB."""
    from tacit.engines.sqlite.engine import open_sqlite

    path = Path(tempfile.mkdtemp(prefix="tacit-sqlite-")) / "t.sqlite"
    with duckdb.connect() as owner:
        for statement in script.statements:
            owner.execute(statement)
        copy_into(path, owner, **{table.name: f"SELECT * FROM {table.name}" for table in script.policy.tables})
    return open_sqlite(Dataset("d", str(path), engine="sqlite"), script.policy.tables, limits=UNLIMITED)


def _with_sqlites_numbers(script: Script) -> Script:
    """SQLite has no number but whole ones and doubles, and no NaN; neither has DuckDB then."""
    texts = (re.sub(r"\bFLOAT\b|\bDECIMAL\(\d+,\d+\)", "DOUBLE", text) for text in script.statements)
    return replace(script, statements=tuple(text.replace("'nan'", "NULL") for text in texts))


@dataclass(frozen=True)
class Other:
    """An engine beside DuckDB. `tame`: its dates end, its letters are Java's, and it prints large doubles otherwise."""

    opened: Callable[[Script], Engine]
    tame: bool = False
    fitted: Callable[[Script], Script] = lambda script: script  # without what the engine cannot hold


OTHERS = {
    "postgres": Other(in_postgres),
    "sail": Other(in_spark, tame=True),
    "sqlite": Other(in_sqlite, tame=True, fitted=_with_sqlites_numbers),
}
