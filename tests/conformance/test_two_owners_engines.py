"""Rows with two owners on every engine: the same distance, and the same rows kept under one order of pairs."""

from __future__ import annotations

import pytest

from conformance.engine_pairs import Script, cells
from conformance.engine_sources import OTHERS
from conformance.sql_two_owners import CREATED, planned, trips

PEOPLE = ["Ann", "ann", "ann ", "Bob", "bob", "", " ", "é", "e\u0301", "Zoë", "1:", "1:1", "11", "O'Neil", "日本"]
HUB = [("Ann", f"p{each}") for each in range(70)]
ROWS = [
    *HUB,
    *((first, second) for first in PEOPLE for second in PEOPLE[:6]),
    *((second, first) for first in PEOPLE[:3] for second in PEOPLE[::2]),
    ("cy", None),
    (None, "cy"),
    (None, None),
]
QUESTIONS = (
    "COUNT(*), SUM(fare) FROM trips",
    "town, COUNT(*), AVG(fare) FROM trips WHERE fare > 0 GROUP BY town",
    "n, COUNT(*) FROM trips GROUP BY n",
    "MEDIAN(fare) FROM trips",
)


def literal(cell: str | None) -> str:
    return "NULL" if cell is None else "'" + cell.replace("'", "''") + "'"


def script(**more: object) -> Script:
    rows = [
        f"({literal(first)}, {literal(second)}, {number}, {number % 9}, '{'ab'[number % 2]}')"
        for number, (first, second) in enumerate(ROWS)
    ]
    policy = trips(max_rows=1, max_partners=2, **more)  # type: ignore[arg-type]
    return Script(policy, (CREATED, f"INSERT INTO trips VALUES {', '.join(rows)}"))


@pytest.mark.parametrize("form", ["exact", "trim-lower"])
@pytest.mark.parametrize("name", OTHERS)
def test_an_engine_keeps_the_rows_and_finds_the_distance_that_duckdb_does(name: str, form: str) -> None:
    made = OTHERS[name].fitted(script(unit_form=form))
    here, there = made.world().engine, OTHERS[name].opened(made)
    kept = set()
    for text in QUESTIONS:
        for epsilon in (3, 400):
            plan = planned(made.policy, f"DP-SELECT {epsilon} {text}", schema=here.schema())
            assert plan.test is not None
            kept.add(plan.test.partners)
            for statement in plan.runs:
                assert cells(there, statement, shared=True) == cells(here, statement, shared=True), statement.canonical
    assert len(kept) > 1
    there.close()
