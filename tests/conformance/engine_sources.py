"""How a script of DuckDB's statements becomes a table in each of the other engines."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from conformance.engine_pairs import Script
from support import sail
from support.postgres import server
from tacit.engines import UNLIMITED, Engine
from tacit.policy import Dataset

_POSTGRES_TYPES = {"DOUBLE": "DOUBLE PRECISION", "FLOAT": "REAL", "VARCHAR": "TEXT"}


def in_postgres(script: Script) -> Engine:
    """A database of its own, as the same statements make it."""
    import psycopg

    from tacit.engines.postgres import open_postgres

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
    from tacit.engines.spark import open_spark

    directory = Path(tempfile.mkdtemp(prefix="tacit-spark-"))
    with duckdb.connect() as owner:
        for statement in script.statements:
            owner.execute(statement)
        texts = "REPLACE (CAST(id AS VARCHAR) AS id)" if "id UUID" in script.statements[0] else ""  # no type of Spark's
        owner.execute(f"COPY (SELECT * {texts} FROM t) TO '{directory}/t.parquet' (FORMAT parquet)")
    os.environ["SPARK_REMOTE"] = address or sail.server()
    dataset = Dataset("d", {"t": f"{directory}/t.parquet"}, engine="spark")
    return open_spark(dataset, script.policy.tables, limits=UNLIMITED)


@dataclass(frozen=True)
class Other:
    """An engine beside DuckDB. `tame`: its dates end, its letters are Java's, and it prints large doubles otherwise."""

    opened: Callable[[Script], Engine]
    tame: bool = False


OTHERS = {"postgres": Other(in_postgres), "sail": Other(in_spark, tame=True)}
