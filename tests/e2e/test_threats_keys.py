"""H: group keys, order and limit. Keys come from the policy or pass a threshold; order and number follow the noise."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.sql_clinic import clinic
from conformance.sql_noiseless import switch_off
from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.curator import Session
from tacit.curator.measuring.measure import measure
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy

ANA = Session("ana")


@pytest.fixture(scope="module")
def over():
    return clinic()


@pytest.fixture
def curator(over, tmp_path):
    return over.curator(tmp_path)


def test_h1_keys_of_the_data_need_a_threshold_or_a_list(over):
    with pytest.raises(QueryRefused, match="need a delta"):
        over.plan("DP-SELECT 1 city, COUNT(*) FROM visits GROUP BY city")
    assert over.plan("DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM visits GROUP BY city").selection
    assert over.plan("DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY dept").selection is None


def test_h1_a_key_beside_a_listed_one_is_still_private(over):
    made = over.plan("DP-SELECT 1 DELTA 1e-6 dept, city, COUNT(*) FROM visits GROUP BY dept, city")
    assert made.selection is not None


def test_h3_every_listed_key_is_returned_in_the_order_of_the_list(curator):
    found = curator.ask("DP-SELECT 1 dept, COUNT(*) FROM visits WHERE FALSE GROUP BY dept", session=ANA)
    assert [row[0] for row in found.rows] == ["CS", "Econ", "Bio"]


@pytest.mark.parametrize("text", ["ORDER BY weight", "ORDER BY city", "ORDER BY age + 1", "ORDER BY random()"])
def test_h4_ordering_by_what_got_no_noise_is_refused(curator, text):
    with pytest.raises(QueryRefused):
        curator.ask(f"DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY dept {text}", session=ANA)


def test_h4_ordering_and_limits_act_on_the_noisy_values(curator):
    plain = curator.ask("DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept", session=ANA)
    ordered = curator.ask("DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept ORDER BY n DESC", session=ANA)
    assert ordered.reused  # the same noise in another order: nothing was read
    counts = [row[1] for row in ordered.rows]
    assert counts == sorted(counts, reverse=True)  # shown as whole numbers, two may be equal
    assert set(ordered.rows) == set(plain.rows)
    limited = curator.ask(
        "DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept ORDER BY n DESC LIMIT 1 OFFSET 1", session=ANA
    )
    assert limited.rows == ordered.rows[1:2]
    assert limited.reused


def test_h5_a_limit_costs_what_the_whole_costs(curator):
    text = "DP-SELECT 1 age, COUNT(*) FROM visits WHERE insured GROUP BY age"
    assert curator.explain(f"{text} LIMIT 1", session=ANA).loss == curator.explain(text, session=ANA).loss
    for other in ("DISTINCT age, COUNT(*) FROM visits", "TOP 3 age FROM visits", "DISTINCT ON (age) age FROM visits"):
        with pytest.raises(QueryRefused):
            curator.ask(f"DP-SELECT 1 {other}", session=ANA)


@pytest.mark.parametrize("grouping", ["ROLLUP (dept)", "CUBE (dept, insured)", "GROUPING SETS ((dept), (dept), ())"])
def test_h6_several_groupings_at_once_cost_what_is_typed_and_no_more_is_released(curator, grouping):
    before = curator.balance("ana").total.spent.epsilon
    answer = curator.ask(f"DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY {grouping}", session=ANA)
    assert curator.balance("ana").total.spent.epsilon == before + 1
    assert answer.cost.epsilon == 1
    assert {row[0] for row in answer.rows} <= {"CS", "Econ", "Bio", None}


def test_h6_the_sets_of_another_dialect_are_refused(curator):
    with pytest.raises(QueryRefused):
        curator.ask("DP-SELECT 1 COUNT(*) FROM visits GROUP BY dept WITH ROLLUP", session=ANA)


def test_h7_an_expression_that_encodes_a_cell_is_private_and_the_unit_is_no_key(over):
    for text in ("SUBSTRING(city, 1, 5)", "LOWER(city)", "LENGTH(city)", "weight", "COALESCE(city, dept)"):
        assert over.plan(f"DP-SELECT 1 DELTA 1e-6 {text}, COUNT(*) FROM visits GROUP BY 1").selection
    for text in (
        "patient_id",
        "LOWER(patient_id)",
        "patient_id = 'p1'",
        "CASE WHEN patient_id = 'p1' THEN 1 ELSE 0 END",
    ):
        with pytest.raises(QueryRefused):
            over.plan(f"DP-SELECT 1 DELTA 1e-6 {text}, COUNT(*) FROM visits GROUP BY 1")


def test_h8_having_sees_the_noisy_count_and_not_the_true_one(monkeypatch, tmp_path):
    over = clinic(unit="row", max_groups=1, max_rows=1)
    kept = {
        len(
            over.curator(_fresh(tmp_path, seed), source=Seeded(seed))
            .ask("DP-SELECT 0.05 dept, COUNT(*) FROM visits GROUP BY dept HAVING COUNT(*) > 50", session=ANA)
            .rows
        )
        for seed in range(25)
    }
    assert len(kept) > 1  # every department has fifty visits: what passes is a matter of noise


def _fresh(directory, name):
    made = directory / str(name)
    made.mkdir()
    return made


def test_h8_the_number_of_rows_of_private_keys_is_settled_after_the_noise():
    table = TablePolicy("t", "uid", columns=[ColumnPolicy("g")], max_rows=1, max_groups=1)
    over = world(policy_of([table]), "CREATE TABLE t AS SELECT i AS uid, i % 30 AS g FROM range(150) AS made(i)")
    made = over.plan("DP-SELECT 1 DELTA 0.05 g, COUNT(*) FROM t GROUP BY g")
    exact = over.exact(made)
    numbers = {len(measure(made, exact, public={}, source=Seeded(seed)).keys) for seed in range(40)}
    assert len(numbers) > 3


@pytest.mark.usefixtures("noiseless")
def test_h9_null_is_a_private_key_like_any_other_and_stands_first():
    table = TablePolicy("t", "row", columns=[ColumnPolicy("g")])
    over = world(
        policy_of([table]),
        "CREATE TABLE t AS SELECT CASE WHEN i % 2 = 0 THEN 'ß' END AS g FROM range(400) AS made(i)",
        "INSERT INTO t SELECT 'ss' FROM range(200)",
    )
    made = over.plan("DP-SELECT 1 DELTA 1e-6 g, COUNT(*) FROM t GROUP BY g")
    noisy = measure(made, over.exact(made), public={}, source=Seeded(1))
    assert noisy.keys == ((None,), ("ss",), ("ß",))
    assert noisy.columns[0].numbers.tolist() == [200, 200, 200]


@pytest.fixture
def noiseless(monkeypatch):
    switch_off(monkeypatch)


def test_h9_which_spelling_stands_for_a_group_is_no_matter_of_who_came_first():
    """Under a collation 'Bern' and 'BERN' would be one group, called by whichever row came first."""
    table = TablePolicy("t", "row", columns=[ColumnPolicy("g")])
    names = set()
    for order in ("ASC", "DESC"):
        over = world(
            policy_of([table]),
            f"CREATE TABLE t AS SELECT ['Bern', 'BERN'][1 + i % 2] AS g FROM range(600) AS made(i) ORDER BY g {order}",
        )
        made = over.plan("DP-SELECT 1 DELTA 1e-6 g, COUNT(*) FROM t GROUP BY g")
        names.add(measure(made, over.exact(made), public={}, source=Seeded(1)).keys)
    assert names == {(("BERN",), ("Bern",))}


def test_a_unit_in_more_groups_than_can_be_weighed_is_left_out_where_keys_are_private():
    """Without an end to it one unit could try its luck at the threshold with any number of keys."""
    table = TablePolicy("t", "uid", columns=[ColumnPolicy("g")], max_rows=1, max_groups=1, bounding="weigh")
    over = world(
        policy_of([table]),
        "CREATE TABLE t AS SELECT 0 AS uid, i AS g FROM range(101) AS made(i)",
        "INSERT INTO t SELECT 1, i FROM range(100) AS made(i)",
    )
    made = over.plan("DP-SELECT 1 DELTA 1e-6 g, COUNT(*) FROM t GROUP BY g")
    result = over.exact(made)[0]
    assert result.rows == 100  # the first has 101 keys, and brings none of them
    assert set(result.integers("m0").tolist()) <= {10, 102}  # 1024 hundredths, or their square root


def test_the_same_unit_keeps_the_same_groups_whoever_else_is_there():
    table = TablePolicy(
        "t", "uid", columns=[ColumnPolicy("g", domain=list(range(20)))], max_rows=1, max_groups=3, bounding="sample"
    )
    kept = []
    for others in (0, 5, 500):
        over = world(
            policy_of([table]),
            "CREATE TABLE t AS SELECT 7 AS uid, i AS g FROM range(20) AS made(i)",
            f"INSERT INTO t SELECT 100 + j, j % 20 FROM range({others}) AS more(j)",
        )
        made = over.plan("DP-SELECT 1 g, COUNT(DISTINCT uid) FROM t GROUP BY g")
        full = np.zeros(20, dtype=int)
        result = over.exact(made)[0]
        for key, count in zip(result.keys("k0"), result.integers("m0").tolist(), strict=True):
            full[key] = count
        alone = np.array([sum(j % 20 == g for j in range(others)) for g in range(20)])
        kept.append(tuple(full - alone))
    assert len(set(kept)) == 1
    assert sum(kept[0]) == 3


def test_groups_are_sampled_evenly_over_units():
    """The keyed hash prefers no key: each of ten groups is kept by about a third of 3,000 units (six sigma)."""
    table = TablePolicy(
        "t", "uid", columns=[ColumnPolicy("g", domain=list(range(9)))], max_rows=1, max_groups=3, bounding="sample"
    )
    over = world(
        policy_of([table]), "CREATE TABLE t AS SELECT j AS uid, i AS g FROM range(9) AS made(i), range(3000) AS more(j)"
    )
    made = over.plan("DP-SELECT 1 g, COUNT(DISTINCT uid) FROM t GROUP BY g")
    counts = over.exact(made)[0].integers("m0")
    assert counts.sum() == 9000
    sigma = np.sqrt(3000 / 3 * 2 / 3)
    assert np.abs(counts - 1000).max() < 6 * sigma
