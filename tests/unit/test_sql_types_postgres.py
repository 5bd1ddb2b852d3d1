"""What a column's type lets every engine do is answered by every engine, or refused: never charged, and then failed."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from conformance.sql_ranges import prove
from conformance.sql_world import World, policy_of, world
from support.postgres import server
from tacit.core import Loss
from tacit.engines.postgres.engine import Postgres, open_postgres
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, Dataset, TablePolicy
from tacit.sql import bind, parse, plan

COLUMNS = ("name", "ill", "bal", "day", "num", "moment", "code", "mood")
POLICY = policy_of(
    [
        TablePolicy(
            "t",
            "uid",
            columns=[
                ColumnPolicy("name"),
                ColumnPolicy("ill"),
                ColumnPolicy("bal", lower=-9, upper=9, step=1),
                ColumnPolicy("day", lower="2000-01-01", upper="2030-01-01", type="date"),
                ColumnPolicy("num", lower=-5, upper=5, step="0.01"),
                ColumnPolicy("moment", type="timestamp", lower="2000-01-01", upper="2030-01-01"),
                ColumnPolicy("code"),
                ColumnPolicy("mood"),
            ],
            max_rows=9,
            max_groups=9,
        ),
        TablePolicy("pub", public=True),
    ]
)
MADE = """(uid INTEGER, name VARCHAR, ill BOOLEAN, bal BIGINT, day DATE, num DECIMAL(9,2), moment TIMESTAMP,
    code UUID, mood mood)"""
ROWS = """VALUES
    (1, 'Al', TRUE, 1, DATE '2020-01-01', 1.5, TIMESTAMP '2020-01-01',
     CAST('00000000-0000-0000-0000-0000000000ff' AS UUID), CAST('low' AS mood)),
    (1, 'Bo', FALSE, 2, DATE '2020-01-02', 2.5, TIMESTAMP '2020-01-02',
     CAST('f0000000-0000-0000-0000-000000000000' AS UUID), CAST('low' AS mood)),
    (2, 'Cy', FALSE, 3, NULL, NULL, NULL, CAST('80000000-0000-0000-0000-000000000000' AS UUID), NULL),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
STATEMENTS = (
    "CREATE TYPE mood AS ENUM ('low', 'high')",
    *(f"CREATE TABLE {table} {MADE}" for table in ("t", "pub")),
    *(f"INSERT INTO {table} {ROWS}" for table in ("t", "pub")),
)
FORMS = (
    "COUNT(m) FROM (SELECT uid, MAX({0}) AS m FROM t GROUP BY uid) AS q",
    "COUNT(m) FROM (SELECT uid, MIN({0}) FILTER (WHERE bal > 1) AS m FROM t GROUP BY uid) AS q",
    "COUNT(m) FROM (SELECT uid, ANY_VALUE({0}) AS m FROM t GROUP BY uid) AS q",
    "COUNT(*) FROM (SELECT uid, COUNT(*) AS n FROM t GROUP BY uid HAVING MAX({0}) IS NOT NULL) AS q",
    "COUNT(*) FROM t WHERE {0} = (SELECT MIN(x.{0}) FROM t AS x WHERE x.uid = t.uid)",
    "COUNT(*) FROM t WHERE {0} = (SELECT MAX({0}) FROM pub)",
    "COUNT(*) FROM t WHERE {0} = (SELECT {0} FROM pub WHERE pub.name = t.name)",
    "COUNT(*) FROM t WHERE 1 = (SELECT COUNT({0}) FROM pub WHERE pub.name = t.name)",
    "COUNT(*) FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.uid = a.uid AND b.{0} > a.{0})",
)


@pytest.fixture(scope="module")
def duck() -> Iterator[World]:
    made = world(POLICY, *STATEMENTS)
    yield made
    made.engine.close()


@pytest.fixture(scope="module")
def elephant() -> Iterator[Postgres]:
    url = server().database()
    with psycopg.connect(url) as owner:
        for statement in STATEMENTS:
            owner.execute(statement.encode())
    engine = open_postgres(Dataset("d", url, engine="postgres"), POLICY.tables)
    yield engine
    engine.close()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_of_any_type_is_answered_alike_on_both_engines(duck, elephant, form, column):
    text = f"DP-SELECT 1 {form.format(column)}"
    here = duck.plan(text)
    bound = bind(parse(text), POLICY, schema=elephant.schema())
    there = plan(bound, POLICY, price=Loss(1, 0))
    (found,), (same,) = here.statements, there.statements
    wanted = duck.engine._connection.execute(f"SELECT {form.format(column)}").fetchall()
    assert duck.engine.execute(found.sql("duckdb")).integers("m0").tolist() == [wanted[0][0]]
    assert elephant.execute(same.sql("postgres")).integers("m0").tolist() == [wanted[0][0]]
    for dialect in ("duckdb", "postgres", "spark"):
        assert prove(found.sql(dialect), dialect, duck.engine.schema()) > 1


DATED = (
    "AVG(DATE_DIFF('day', {0}, DATE '2020-01-01'))",
    "SUM(DATE_DIFF('month', DATE '2020-01-01', {0}))",
    "AVG(TIMESTAMPDIFF(DAY, {0}, day))",
    "AVG(DATE_SUB('day', {0}, day))",
    "MAX(DATEDIFF(year, {0}, {0}))",
    "SUM(EXTRACT(YEAR FROM AGE(day, {0})))",
    "COUNT(DISTINCT LAST_DAY({0}))",
    "SUM(YEAR({0}))",
    "MAX(DATE_TRUNC('month', {0}))",
    "MAX({0} + INTERVAL 1 DAY)",
)


@pytest.mark.parametrize("form", DATED)
@pytest.mark.parametrize("column", ["bal", "num", "ill", "name", "code"])
def test_what_is_no_date_is_refused_where_a_date_is_needed(duck, form, column):
    with pytest.raises(QueryRefused):
        duck.plan(f"DP-SELECT 1 {form.format(column)} FROM t")
