"""Numbers that no answer could show are refused before anything is charged."""

from __future__ import annotations

import pytest

from conformance.sql_world import World, policy_of, world
from tacit.curator import Session
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy

ANA = Session("ana")


def people() -> World:
    columns = [
        ColumnPolicy("age", lower=0, upper=99, step=1, domain="range"),
        ColumnPolicy("fee", lower=-1000, upper=1000, step="0.000001"),
    ]
    return world(
        policy_of([TablePolicy("people", "id", columns=columns, max_rows=5, max_groups=5)]),
        "CREATE TABLE people AS SELECT i AS id, i AS age, CAST(1.5 AS DECIMAL(18, 6)) AS fee FROM range(9) t(i)",
    )


@pytest.mark.parametrize(
    "asked",
    [
        "SUM(age * 1e299 * 1e299)",
        "SUM(age * 1e-299 * 1e-200)",
        "AVG(age * 1e299)",
        "AVG(age * 1e-299 * 1e-299)",
        "STDDEV(age * 1e200)",
        "STDDEV(age * 1e-200)",
        "CORR(fee / 1e-300, age)",
        "MEDIAN(age * 1e299 * 1e299)",
        "MAX(age * 1e-299)",
        "MODE(age * 1e299)",
        "HISTOGRAM(age * 1e299 * 1e299)",
        "SUM(age * 1e299) * 1e299",
        "AVG(CASE WHEN age = 3 THEN fee * 1e300 WHEN 1 = 0 THEN -1e300 ELSE 0 END)",
    ],
)
def test_what_no_answer_could_show_is_refused_and_costs_nothing(tmp_path, asked):
    curator = people().curator(tmp_path)
    for ask in (curator.explain, curator.ask):
        with pytest.raises(QueryRefused, match=r"too large or too small to be told|could overflow"):
            ask(f"DP-SELECT 1 {asked} FROM people", session=ANA)
    assert curator.balance("ana").analyst.spent.epsilon == 0


@pytest.mark.parametrize(
    "asked",
    [
        "SUM(age * 1e200)",
        "SUM(age * 1e-190)",
        "AVG(age * 1e200)",
        "AVG(age * 1e-190)",
        "MEDIAN(age * 1e-200)",
        "MAX(age * 1e200)",
        "STDDEV(age * 1e100)",
        "STDDEV(age * 1e-90)",
        "VARIANCE(age * 1e100)",
        "COVAR_POP(age * 1e100, age * 1e100)",
        "MODE(age * 1e200)",
    ],
)
def test_what_a_double_holds_is_answered(tmp_path, asked):
    ((found,),) = people().curator(tmp_path).ask(f"DP-SELECT 100 {asked} FROM people", session=ANA).rows
    assert abs(float(found)) < float("inf")
