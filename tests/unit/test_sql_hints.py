"""Every hint works when it is followed: what is refused, the words of the hint, and the question as the hint says."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from conformance.sql_world import World, policy_of, world
from tacit.errors import TacitError
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import parse
from tacit.sql.postprocessing.binding import bind_statement

TABLE = Path(__file__).parent / "data" / "sql_hints.txt"  # what is refused | a part of its hint | the hint followed
ROWS = [tuple(part.strip() for part in line.split(" | ")) for line in TABLE.read_text("utf-8").splitlines()]


@cache
def clinic() -> World:
    columns = [
        *map(ColumnPolicy, ("icd", "name", "insured")),
        ColumnPolicy("ward", domain=["ICU", "ER", "Surgery"]),
        ColumnPolicy("sex", domain=["F", "M"]),
        ColumnPolicy("age", lower=0, upper=120, step=1, domain="range"),
        ColumnPolicy("bmi", lower=10, upper=60, step="0.1"),
        ColumnPolicy("los", lower=0, upper=100, step=1),
        ColumnPolicy("day", type="date", lower="2020-01-01", upper="2024-12-31", domain="range"),
    ]
    visits = TablePolicy("visits", "pid", columns=columns, max_rows=5, max_groups=5, max_distinct=5)
    made = (
        "CREATE TABLE visits (pid BIGINT, icd VARCHAR, name VARCHAR, insured BOOLEAN, ward VARCHAR, sex VARCHAR,"
        " age INTEGER, bmi DOUBLE, los INTEGER, day DATE)"
    )
    return world(
        policy_of([visits, TablePolicy("towns", public=True)]), made, "CREATE TABLE towns (town VARCHAR, size INT)"
    )


def planned(body: str) -> None:
    """The question, planned and run: the tables are empty, and the engine takes it."""
    with_sets = "ROLLUP" in body
    text = f"DP-SELECT 1 DELTA 1e-6 {body}"
    if with_sets:
        clinic().bound(text)
    elif "PIVOT" in body:
        bind_statement(parse(text), clinic().policy, schema=clinic().engine.schema())
    else:
        clinic().exact(clinic().plan(text))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:70])
def test_a_hint_works_when_it_is_followed(row):
    refused, hint, *followed = row
    with pytest.raises(TacitError) as caught:
        planned(refused)
    assert hint in caught.value.hint
    for question in followed:
        planned(question)
