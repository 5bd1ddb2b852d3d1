"""Whatever is published is the same on every engine: the same coins over the same whole numbers give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import policy_of
from support.sources import Seeded
from tacit.engines import Engine, one_state
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Policy, TablePolicy
from tacit.release.distributions import DistributionRequest
from tacit.release.general import WorkloadRequest
from tacit.release.hierarchies import HierarchyRequest
from tacit.release.maps import HeatmapRequest
from tacit.release.publishing import Publishable
from tacit.release.responses import ResponseRequest
from tacit.release.synthesise import SynthesisRequest

COLUMNS = [
    ColumnPolicy("town", type="text", domain=["a", "b", "c"]),
    ColumnPolicy("age", type="integer", lower=0, upper=250),
    ColumnPolicy("pay", type="integer", lower=0, upper=9),
    ColumnPolicy("ok", type="boolean"),
]
BY_PERSON = TablePolicy("t", "id", max_groups=2, max_rows=3, columns=COLUMNS)
BY_ROW = TablePolicy("t", "row", columns=COLUMNS)
Release = Callable[[Policy, Engine], bytes]


def script(table: TablePolicy) -> Script:
    """Units of many rows, NULL in every column, values beyond bounds and outside of domains."""
    lines = []
    for i in range(200):
        cells = [
            "NULL" if i % 11 == 0 else f"'{'abcz'[i % 4]}'",
            "NULL" if i % 13 == 0 else str(i * 37 % 400 - 50),
            "NULL" if i % 17 == 0 else str(i * 7 % 13 - 1),
            "NULL" if i % 7 == 0 else str(i % 3 == 0).upper(),
        ]
        lines.append(f"({i * i % 31}, {', '.join(cells)})")
    made = "CREATE TABLE t (id INTEGER, town VARCHAR, age INTEGER, pay INTEGER, ok BOOLEAN)"
    policy = policy_of([table])
    paid = Policy(policy.dataset, BudgetPolicy(100, "1e-3"), tables=policy.tables, analysts=[AnalystPolicy("ana", 100)])
    return Script(paid, (made, f"INSERT INTO t VALUES {', '.join(lines)}"))


def published(wish: Publishable[object]) -> Release:
    def read(policy: Policy, engine: Engine) -> bytes:
        plan = wish.plan(policy, engine)
        with one_state(engine) as state:
            return plan.pack(plan.read(state, Seeded(5)))

    return read


def answers_of_a_workload(policy: Policy, engine: Engine) -> bytes:
    """What a run says of every cell, one by one: so many corrections are paid for that most are measured."""
    plan = WorkloadRequest("t", ("town", "pay", "ok"), 100).plan(policy, engine)
    with one_state(engine) as state:
        run = plan.priced().read(state, Seeded(5))
    each = np.eye(run.hypothesis.size, dtype=np.int8)
    return repr([run.ask(one).value for one in each]).encode()


RELEASES: dict[str, tuple[TablePolicy, Release]] = {
    "hierarchy": (BY_PERSON, published(HierarchyRequest("t", "town", 1, "1e-6", (), ("ok",)))),
    "heatmap": (BY_PERSON, published(HeatmapRequest("t", "age", "pay", 1, "1e-6", 4))),
    "histogram": (BY_PERSON, published(DistributionRequest("t", "age", 1, "1e-6"))),
    "responses": (BY_ROW, published(ResponseRequest("t", ("town", "pay"), 1, "1e-6"))),
    "workload": (BY_PERSON, answers_of_a_workload),
    "synthesise": (BY_PERSON, published(SynthesisRequest("t", 30, "1e-6", method="tree"))),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_the_same_as_duckdbs(name: str, release: str) -> None:
    table, read = RELEASES[release]
    held = OTHERS[name].fitted(script(table))
    with closing(OTHERS[name].opened(held)) as engine, closing(held.world().engine) as duckdb:
        assert read(held.policy, engine) == read(held.policy, duckdb)


@pytest.mark.parametrize("release", RELEASES)
def test_other_rows_are_another_release(release: str) -> None:
    table, read = RELEASES[release]
    held = script(table)
    fewer = replace(held, statements=(*held.statements, "DELETE FROM t WHERE id < 10"))
    with closing(held.world().engine) as one, closing(fewer.world().engine) as other:
        assert read(held.policy, one) != read(held.policy, other)
