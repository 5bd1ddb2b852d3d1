"""PostgreSQL answers a narrow question from an index: columns stand in comparisons as they are, and none overflows."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from conformance.sql_world import World, policy_of, world
from support.postgres import server
from tacit.engines.postgres.engine import Postgres, open_postgres
from tacit.policy import ColumnPolicy, Dataset, TablePolicy

WHOLE = {"int2": (-(2**15), 2**15 - 1), "int4": (-(2**31), 2**31 - 1), "int8": (-(2**40), 2**40)}
COLUMNS = (
    *(ColumnPolicy(name, lower=low, upper=high, step=1) for name, (low, high) in WHOLE.items()),
    ColumnPolicy("amount", lower=0, upper=20_000, step="0.01"),
    ColumnPolicy("day"),
)
POLICY = policy_of([TablePolicy("visits", "patient", columns=COLUMNS, max_rows=5, max_groups=3)])
MADE = """
CREATE TABLE visits AS SELECT CAST(i / 2 AS INT) AS patient, CAST(i % 30000 AS INT2) AS int2, CAST(i AS INT4) AS int4,
    CAST(i AS INT8) AS int8, CAST(i % 15000 AS NUMERIC(8, 2)) AS amount, DATE '1990-01-01' + i AS day
FROM generate_series(0, 39999) AS made(i);
INSERT INTO visits VALUES (1, -32768, -2147483648, 0, 0, NULL), (1, 32767, 2147483647, 0, 0, NULL),
    (2, NULL, NULL, NULL, NULL, NULL);
"""
INDEXED = (*WHOLE, "amount", "day")


@pytest.fixture(scope="module")
def visits() -> Iterator[tuple[str, Postgres]]:
    url = server().database()
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(MADE.encode())
        for name in INDEXED:
            owner.execute(f"CREATE INDEX ON visits ({name})".encode())
        owner.execute("VACUUM ANALYZE visits")
    engine = open_postgres(Dataset("d", url, engine="postgres"), POLICY.tables)
    yield url, engine
    engine.close()


def shown(url: str, engine: Postgres, condition: str) -> str:
    """The server's own plan for the question."""
    (statement,) = World(POLICY, engine).plan(f"DP-SELECT 1 COUNT(*) FROM visits WHERE {condition}").statements
    with psycopg.connect(url) as owner:
        rows = owner.execute(f"EXPLAIN {engine._tables.before(statement.sql('postgres'))}".encode()).fetchall()
    return "\n".join(line for (line,) in rows)


@pytest.mark.parametrize("column", INDEXED)
@pytest.mark.parametrize("comparison", ["= {0}", "BETWEEN {0} AND {1}", "IN ({0}, {1})", "> {2}"])
def test_an_index_on_the_column_serves(visits: tuple[str, Postgres], column: str, comparison: str) -> None:
    values = ("3", "7", {"int2": "29990", "amount": "14990"}.get(column, "39990"))
    if column == "day":
        values = ("DATE '1990-01-04'", "DATE '1990-01-08'", "DATE '2099-06-28'")
    assert "Index" in shown(*visits, f"{column} {comparison.format(*values)}")


@pytest.mark.parametrize("column", ["int2", "int4"])
def test_a_column_behind_a_conversion_would_be_read_whole(visits: tuple[str, Postgres], column: str) -> None:
    """The control: how these columns were read before."""
    url, engine = visits
    cast = engine._tables.clause.replace(f'"{column}" AS', f'CAST("{column}" AS BIGINT) AS')
    with psycopg.connect(url) as owner:
        rows = owner.execute(f'EXPLAIN {cast}SELECT COUNT(*) FROM visits WHERE "{column}" = 3'.encode()).fetchall()
    assert not any("Index" in line for (line,) in rows)


CONDITIONS = """
int2 > 32767
int2 >= -32768
int2 < 40000
int2 > -3000000000
int2 = 3000000000
int2 <> 9223372036854775807
int4 <= 2147483647
int4 > 2147483647
int4 < -2147483648
int4 = 99999999999999999999999
int4 < 2.5
int4 IN (1, 2, 3000000000)
NOT int4 IN (1, 40000)
int2 = int4
int4 = int8
int4 > amount
-int4 > 5
ABS(int2) = 32768
ABS(int4) >= 2147483648
int4 + int4 > 4294967293
int2 * int2 > 1073676288
int2 - int4 > 2147483640
int4 * int4 > 4611686018427387903
""".strip().splitlines()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_at_the_ends_of_a_type_nothing_fails_and_every_engine_counts_alike(visits, condition: str) -> None:
    """16 and 32 bits hold neither what a constant says nor what is computed: both are wider than the column."""
    _, engine = visits
    here = World(POLICY, engine)
    asked = f"DP-SELECT 1 COUNT(*), SUM(int4 - int2), SUM(-int2), SUM(int4 * 3) FROM visits WHERE {condition}"
    (statement,) = here.plan(asked).statements
    found = engine.execute(statement.sql("postgres"))
    (twin,) = elsewhere().plan(asked).statements
    same = elsewhere().engine.execute(twin.sql("duckdb"))
    assert [found.wide(name).tolist() for name in statement.columns] == [
        same.wide(name).tolist() for name in twin.columns
    ]


def elsewhere() -> World:
    if not _kept:
        text = MADE.replace("INT2)", "SMALLINT)").replace("INT4)", "INTEGER)").replace("INT8)", "BIGINT)")
        text = text.replace("'1990-01-01' + i AS", "'1990-01-01' + CAST(i AS INTEGER) AS").replace("i / 2", "i // 2")
        _kept.append(world(POLICY, *text.split(";")[:2]))
    return _kept[0]


_kept: list[World] = []
