"""On engines that compute a common table wherever it is named, weights come from the rows that they weigh."""

from __future__ import annotations

import duckdb
import pytest

from tacit.core import Loss
from tacit.policy import parse_policy
from tacit.sql import bind, parse, plan

POLICY = """
[dataset]
name = "trips"
source = "trips.duckdb"
[budget]
epsilon = 10
delta = 0.1
[analysts.ana]
epsilon = 10
[tables.trips]
unit = "who"
bounding = "weigh"
max_groups = 2
max_rows = 3
{more}
[tables.trips.columns]
pay = {{ lower = 0, upper = 9, step = 1 }}
city = {{}}
dept = {{ domain = ["a", "b", "c", "d", "e"] }}
"""
SCHEMA = {"trips": {"who": "VARCHAR", "pay": "INTEGER", "city": "VARCHAR", "dept": "VARCHAR"}}
ASKED = (
    "DP-SELECT 1 DELTA 1e-6 city, COUNT(*), SUM(pay) FROM trips GROUP BY city",
    "DP-SELECT 1 dept, COUNT(*), AVG(pay) FROM trips GROUP BY dept",
)


def statement(text: str, more: str = ""):
    policy = parse_policy(POLICY.format(more=more))
    bound = bind(parse(text), policy, schema=SCHEMA)
    (made,) = plan(bound, policy, price=Loss(1, bound.query.delta or 0)).statements
    return made


@pytest.mark.parametrize("text", ASKED)
def test_spark_names_no_common_table_that_it_would_compute_twice(text):
    sql = statement(text).sql("spark")
    assert sql.count("trips") == 1
    assert " WITH " not in sql
    assert " JOIN " not in sql


@pytest.mark.parametrize("more", ["", 'null_unit = "one"'])
@pytest.mark.parametrize("text", ASKED)
def test_both_ways_give_the_same_whole_numbers(text, more):
    made = statement(text, more)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE trips AS SELECT CASE WHEN i % 11 > 0 THEN 'w' || (i % 11) END AS who, i % 7 AS pay,"
            " 'c' || (i * i % 13 % (1 + i % 11)) AS city, chr(97 + (i * 7 % (1 + i % 5))::INTEGER) AS dept"
            " FROM range(400) t(i)"
        )
        two = sorted(connection.execute(made.sql("duckdb")).fetchall())
        one = made.sql("spark").replace("`", '"').replace("DIV(", "divide(")
        assert sorted(connection.execute(one).fetchall()) == two
    assert len(two) > 3
