"""What BI tools and SQLAlchemy write is answered by the curator, in both protocols, with a twin and without."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from sqlalchemy import Column, Date, Integer, MetaData, Select, Table, Text, distinct, extract, func, select, text

from support.wire import Wire, serving

POLICY = """
[dataset]
name = "clinic"
source = { visits = "visits.csv" }
[budget]
epsilon = 1000
[analysts.ana]
epsilon = 900
[analysts.ben]
epsilon = 1
[tables.visits]
unit = "patient"
max_rows = 1
max_groups = 1
[tables.visits.columns]
patient = { type = "integer" }
ward = { type = "text", domain = ["surgery", "internal", "children"] }
age = { type = "integer", lower = 0, upper = 100 }
day = { type = "date", lower = 2025-01-01, upper = 2025-12-31 }
at = { type = "timestamp", lower = 2025-01-01T00:00:00, upper = 2025-12-31T00:00:00 }
"""
ASKED = (Path(__file__).parent / "data" / "wire_questions.sql").read_text(encoding="utf-8").splitlines()[1:]
VISITS = Table("visits", MetaData(), Column("ward", Text), Column("age", Integer), Column("day", Date))
MONTH = func.date_trunc("month", VISITS.c.day)
CORE: tuple[Select[Any], ...] = (
    select(MONTH.label("month"), func.count()).group_by("month").order_by("month"),
    select(MONTH.label("month"), func.count()).group_by(MONTH),
    select(func.date_part("month", VISITS.c.day).label("m"), func.count()).group_by(text("m")),
    select(extract("month", VISITS.c.day).label("m"), func.count()).group_by(text("m")),
    select(func.width_bucket(VISITS.c.age, 0, 100, 10).label("b"), func.count()).group_by("b"),
    select(VISITS.c.ward, func.avg(VISITS.c.age)).where(VISITS.c.day >= date(2025, 3, 1)).group_by(VISITS.c.ward),
    select(func.round(func.avg(VISITS.c.age), 1), func.count(distinct(VISITS.c.ward))),
)


def policy(directory: Path) -> Path:
    rows = [
        f"{i},{('surgery', 'internal', 'children')[i % 3]},{i % 90},2025-0{i % 9 + 1}-11,2025-0{i % 9 + 1}-11 10:00:00"
        for i in range(500)
    ]
    (directory / "visits.csv").write_text("\n".join(["patient,ward,age,day,at", *rows]), encoding="utf-8")
    path = directory / "tacit.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[True, False], ids=["twin", "bare"])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(policy(tmp_path_factory.mktemp("clinic")), twin=request.param) as served:
        yield served


@pytest.fixture
def client(wire: Wire) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(wire.dsn(), autocommit=True) as connection:
        connection.execute("SET tacit.epsilon = 0.1")
        connection.execute("SET tacit.cap = 100")
        yield connection


@pytest.mark.parametrize("asked", ASKED)
def test_a_question_of_a_tool_is_answered_in_both_protocols(client: psycopg.Connection[Any], asked: str) -> None:
    for protocol in (psycopg.ClientCursor(client).execute(asked), client.cursor().execute(asked, prepare=True)):
        assert (protocol.statusmessage or "").startswith("SELECT ")
        assert protocol.description


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "pg8000"])
def test_what_sqlalchemy_writes_is_answered(wire: Wire, driver: str) -> None:
    engine = sqlalchemy.create_engine(wire.url(scheme=f"postgresql+{driver}"))
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SET tacit.epsilon = 0.1")
            for asked in CORE:
                assert connection.execute(asked).all()
    finally:
        engine.dispose()


def test_a_driver_that_asks_for_types_before_it_has_values_gives_numbers_as_numbers(wire: Wire) -> None:
    """asyncpg refuses to send a number where it was told of a text."""
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed")
    asked = (
        ("DATE_TRUNC($1, day) AS m, COUNT(*) FROM visits GROUP BY m", "month"),
        ("DATE_PART(CAST($1 AS varchar), visits.day) AS m, COUNT(*) FROM visits GROUP BY m", "month"),
        ("ROUND(AVG(age), $1) FROM visits", 1),
        ("WIDTH_BUCKET(age, $1, $2, $3) AS b, COUNT(*) FROM visits GROUP BY b", 0, 100, 10),
        ("PERCENTILE_CONT($1) WITHIN GROUP (ORDER BY age) FROM visits", 0.25),
        ("COUNT(*) FROM visits WHERE SUBSTR(ward, $1, $2) = 'sur' AND age + $3 > 30", 1, 3, 5),
        ("COUNT(*) FROM visits WHERE day >= MAKE_DATE($1, $2, $3)", 2025, 2, 28),
    )

    async def talk() -> None:
        client = await asyncpg.connect(wire.url())
        for sql, *values in asked:
            assert await client.fetch(f"DP-SELECT 0.1 {sql}", *values)
        await client.close()

    asyncio.run(talk())


def test_what_may_be_read_and_nothing_else_is_said_to_be_granted(tmp_path: Path) -> None:
    """Metabase shows the tables on which SELECT is granted, and offers to write where more is."""
    tables = ("'visits'", "'visits'::regclass::oid")
    columns = [f"{table}, {column}" for table in tables for column in ("'age'", "2::smallint")]
    told = [
        f"has_{what}_privilege({who}{of}, {{}})"
        for who in ("", "current_user, ", "'curator'::regrole::oid, ")
        for what, things in {"table": tables, "any_column": tables, "column": columns, "schema": ["'public'"]}.items()
        for of in things
    ]
    with serving(policy(tmp_path), twin=True) as wire, psycopg.connect(wire.dsn(), autocommit=True) as client:
        for privilege, granted in (("SELECT", True), ("INSERT", False), ("UPDATE", False)):
            kinds = [each.format(f"'{privilege}'") for each in told if "schema" not in each]
            assert set(client.execute(f"SELECT {', '.join(kinds)}").fetchone() or ()) == {granted}
        schema = [each.format(f"'{privilege}'") for each in told if "schema" in each for privilege in ("USAGE",)]
        assert set(client.execute(f"SELECT {', '.join(schema)}").fetchone() or ()) == {True}


def test_a_table_that_is_not_there_is_said_to_be_missing(client: psycopg.Connection[Any]) -> None:
    for name in ("vists", "public.vists", "other.public.visits"):
        with pytest.raises(psycopg.errors.UndefinedTable):
            client.execute(f"SELECT COUNT(*) FROM {name}")
