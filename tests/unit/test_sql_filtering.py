"""IN over people's rows, as WHERE asks it: the same rows as by its three values, in a form that engines join."""

import itertools

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from tacit.sql.expressions.logic import filtering

MEMBER = "CASE WHEN NOT (t.x IS NULL) THEN EXISTS(SELECT 1 FROM s WHERE s.y = t.x) END"
OTHER = "t.z > 0"
CONDITIONS = [
    MEMBER,
    f"NOT ({MEMBER})",
    f"NOT (({MEMBER}))",
    f"({MEMBER}) AND {OTHER}",
    f"({OTHER}) AND ((NOT ({MEMBER})) AND ({MEMBER}))",
    f"({OTHER} AND (NOT ({MEMBER}))) AND {OTHER}",
    f"({MEMBER}) OR {OTHER}",
    f"NOT (({MEMBER}) AND {OTHER})",
    f"({MEMBER}) IS NULL",
    f"NOT (({MEMBER}) IS TRUE)",
]


def kept(condition: exp.Expression) -> list[tuple[object, ...]]:
    values = [None, 0, 1, 2]
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t (x INT, z INT); CREATE TABLE s (y INT); INSERT INTO s VALUES (1), (1), (NULL)"
        )
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(itertools.product(values, values)))
        return connection.execute(f"SELECT x, z FROM t WHERE {condition.sql('duckdb')} ORDER BY ALL").fetchall()


@pytest.mark.parametrize("written", CONDITIONS)
def test_the_same_rows_are_kept(written: str) -> None:
    condition = sqlglot.parse_one(written, read="duckdb")
    assert kept(filtering(condition.copy())) == kept(condition)


@pytest.mark.parametrize("written", CONDITIONS[:6])
def test_what_must_hold_is_no_case(written: str) -> None:
    assert filtering(sqlglot.parse_one(written, read="duckdb")).find(exp.Case) is None


@pytest.mark.parametrize("written", CONDITIONS[6:])
def test_what_need_not_hold_keeps_its_three_values(written: str) -> None:
    condition = sqlglot.parse_one(written, read="duckdb")
    assert filtering(condition.copy()) == condition


def test_a_choice_of_other_conditions_is_left_alone() -> None:
    for written in (
        "CASE WHEN a THEN EXISTS(SELECT 1) ELSE TRUE END",
        "CASE WHEN a THEN EXISTS(SELECT 1) WHEN b THEN TRUE END",
        "CASE a WHEN TRUE THEN EXISTS(SELECT 1) END",
        "CASE WHEN a THEN b END",
    ):
        condition = sqlglot.parse_one(written, read="duckdb")
        assert filtering(condition.copy()) == condition
