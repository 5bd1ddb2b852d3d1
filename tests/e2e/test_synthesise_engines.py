"""The marginals of a table are the same whole numbers on every engine: no new SQL was made for them."""

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
from tacit.release.synthesise.counting import MarginalCounter, plan_table

TABLE = TablePolicy(
    "t",
    "id",
    max_groups=2,
    max_rows=3,
    columns=[
        ColumnPolicy("town", type="text", domain=["a", "b", "c"]),
        ColumnPolicy("age", type="integer", lower=0, upper=250),
        ColumnPolicy("ok", type="boolean"),
        ColumnPolicy("day", type="date", lower="2024-01-01", upper="2024-12-31"),
    ],
)


def script() -> Script:
    """Units of many rows, NULL in every column, values beyond bounds and outside of domains."""
    lines = []
    for i in range(240):
        cells = [
            "NULL" if i % 11 == 0 else f"'{'abcz'[i % 4]}'",
            "NULL" if i % 13 == 0 else str(i * 37 % 400 - 50),
            "NULL" if i % 7 == 0 else str(i % 3 == 0).upper(),
            "NULL" if i % 17 == 0 else f"DATE '202{3 + i % 3}-{1 + i % 12:02d}-{1 + i % 28:02d}'",
        ]
        lines.append(f"({i * i % 31}, {', '.join(cells)})")
    made = "CREATE TABLE t (id INTEGER, town VARCHAR, age INTEGER, ok BOOLEAN, day DATE)"
    return Script(policy_of([TABLE]), (made, f"INSERT INTO t VALUES {', '.join(lines)}"))


def marginals(engine: Engine, held: Script) -> dict[tuple[int, ...], IntArray]:
    plan = plan_table(held.policy, engine, "t")
    with closing(engine), one_state(engine) as state:
        counter = MarginalCounter(plan, state)
        return {axes: counter(axes) for axes in plan.plans}


@pytest.mark.parametrize("name", OTHERS)
def test_marginals_are_the_same_whole_numbers_as_duckdbs(name: str) -> None:
    held = OTHERS[name].fitted(script())
    found = marginals(OTHERS[name].opened(held), held)
    wanted = marginals(held.world().engine, held)
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[axes], wanted[axes]) for axes in wanted)
    assert all(counts.sum() > 0 for counts in wanted.values())
