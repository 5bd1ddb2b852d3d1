"""Numbers that no answer could show are refused before anything is charged."""

from __future__ import annotations

import pytest

from conformance.sql_world import World, policy_of, world
from tacit.curator import Session
from tacit.curator.explaining.explain import explain
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


@pytest.mark.parametrize(
    "asked",
    [
        "SUM(age * 1e200) + COUNT(*)",
        "SUM(age * 1e200) + SUM(age * 1e-190)",
        "SUM(age * 1e200) / SUM(age * 1e-100)",
        "SUM(age * 1e-190) / SUM(age * 1e100)",
        "SUM(age * 1e-90) / (SUM(age * 1e200) + SUM(fee * 1e-180))",
        "SUM(age * 1e-190) * 1e300 + COUNT(*)",
        "AVG(fee * 1e-180)",
        "VARIANCE(age * 1e-90)",
        "VARIANCE(fee * 1e-90)",
        "STDDEV_POP(fee * 1e100)",
        "AVG(age * 1e200), STDDEV(age * 1e-90), COUNT(*)",
    ],
)
@pytest.mark.parametrize("where", ["", " WHERE age > 90"])  # the second of no row at all
@pytest.mark.parametrize("epsilon", ["0.01", "100"])
def test_an_answer_of_any_scale_is_explained_and_shown(tmp_path, asked, where, epsilon):
    curator = people().curator(tmp_path)
    query = f"DP-SELECT {epsilon} {asked} FROM people{where}"
    curator.explain(query, session=ANA)
    (row,) = curator.ask(query, session=ANA).rows
    assert all(found is None or abs(float(found)) < float("inf") for found in row)


@pytest.mark.parametrize(("asked", "power"), [("AVG", 1), ("STDDEV", 1), ("VARIANCE", 2)])
@pytest.mark.parametrize("exponent", [-90, 100])
def test_an_error_is_in_proportion_to_the_unit(asked, power, exponent):
    world = people()
    plain, scaled = (
        explain(world.plan(f"DP-SELECT 1 {asked}(age * {unit}) FROM people"), "duckdb").errors[0]
        for unit in ("1", f"1e{exponent}")
    )
    assert scaled == pytest.approx(plain * 10.0 ** (exponent * power), rel=1e-3)
