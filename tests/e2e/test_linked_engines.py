"""The marginals of linked tables are the same whole numbers on every engine: no new SQL was made for them."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import policy_of
from tacit.engines import Engine, one_state
from tacit.noise import IntArray
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.release.linked import LinkedRequest, plan_linked
from tacit.release.synthesise.counting import MarginalCounter

TABLES = (
    TablePolicy(
        "people",
        "id",
        max_groups=2,
        max_rows=1,
        columns=[
            ColumnPolicy("town", type="text", domain=["a", "b"]),
            ColumnPolicy("age", type="integer", lower=0, upper=250),
        ],
    ),
    TablePolicy(
        "trips",
        "person -> people.id",
        max_groups=2,
        max_rows=3,
        columns=[ColumnPolicy("ok", type="boolean"), ColumnPolicy("age", type="integer", lower=0, upper=5)],
    ),
)


def script() -> Script:
    """Persons of many trips and of none, trips of nobody, NULL in every column, values outside of domains."""
    people = [
        f"({i}, {'NULL' if i % 11 == 0 else repr('abz'[i % 3])}, {'NULL' if i % 13 == 0 else i * 37 % 400 - 50})"
        for i in range(40)
    ]
    trips = [
        f"({'NULL' if i % 19 == 0 else i * i % 47}, {'NULL' if i % 7 == 0 else str(i % 3 == 0).upper()}, {i % 9 - 2})"
        for i in range(200)
    ]
    return Script(
        policy_of(list(TABLES)),
        (
            "CREATE TABLE people (id INTEGER, town VARCHAR, age INTEGER)",
            f"INSERT INTO people VALUES {', '.join(people)}",
            "CREATE TABLE trips (person INTEGER, ok BOOLEAN, age INTEGER)",
            f"INSERT INTO trips VALUES {', '.join(trips)}",
        ),
    )


def marginals(engine: Engine, held: Script) -> dict[tuple[str, tuple[int, ...]], IntArray]:
    """Every exact marginal of both tables."""
    plan = plan_linked(held.policy, engine, LinkedRequest(("people", "trips"), 1, "1e-6"))
    found = {}
    with closing(engine), one_state(engine) as state:
        for table in plan.tables:
            counter = MarginalCounter(table.counted, state)
            found |= {(table.counted.table, axes): counter(axes) for axes in table.counted.plans}
    return found


@pytest.mark.parametrize("name", OTHERS)
def test_marginals_of_linked_tables_are_the_same_whole_numbers_as_duckdbs(name: str) -> None:
    held = OTHERS[name].fitted(script())
    found = marginals(OTHERS[name].opened(held), held)
    wanted = marginals(held.world().engine, held)
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[key], wanted[key]) for key in wanted)
    assert all(counts.sum() > 0 for counts in wanted.values())
