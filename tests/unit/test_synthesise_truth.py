"""A model beside the truth, for the curator alone; and a number of rows that the curator declared public."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import tacit
from support.synthetic import opened, policy, publisher, rows
from tacit.errors import InvalidParameter, QueryRefused
from tacit.policy import ColumnPolicy, Policy
from tacit.release.synthesise import SynthesisRequest, SyntheticModel, exact_distances, plan_synthesis

NAMED = ("town", "age", "ok")


def model_of(declared: Policy, epsilon: object = 20) -> SyntheticModel:
    with publisher(declared) as door:
        request = SynthesisRequest("t", epsilon, "1e-6", NAMED, "tree", fresh=True)  # type: ignore[arg-type]
        return door.publish(request, declared.analyst("ana")).value


def declaring(made: Policy, totals: str | None) -> Policy:
    table = made.tables[0]
    declared = tacit.TablePolicy(
        table.name, table.unit, columns=table.columns, max_rows=table.max_rows, max_groups=table.max_groups,
        public_totals=totals,
    )  # fmt: skip
    return Policy(made.dataset, made.budget, tables=[declared], analysts=made.analysts)


def test_the_distances_are_those_counted_by_hand(tmp_path: Path) -> None:
    data = rows(300)
    declared = policy(tmp_path, data, unit="row")
    model = model_of(declared, 2)
    found = tacit.owner.compare(declared, model)
    assert [len(names) for names, _ in found.distances] == [1, 1, 1, 2, 2, 2, 3]
    drawn = list(model.rows_drawn)
    true = [row[1:] for row in data]
    for names, distance in found.distances:
        places = [NAMED.index(name) for name in names]
        one, other = (Counter(tuple(row[place] for place in places) for row in each) for each in (true, drawn))
        cells = set(one) | set(other)
        by_hand = sum(abs(one[cell] / len(true) - other[cell] / len(drawn)) for cell in cells) / 2
        assert distance == pytest.approx(by_hand)
    assert found.mean(2) == pytest.approx(sum(d for names, d in found.distances if len(names) == 2) / 3)
    assert found.mean(4) is None
    assert found.worst(1, 1)[0][1] == max(d for names, d in found.distances if len(names) == 1)


def test_a_good_model_is_near(tmp_path: Path) -> None:
    declared = policy(tmp_path, rows(600), unit="row")
    assert (tacit.owner.compare(declared, model_of(declared, 60)).mean(3) or 1) < 0.1


def test_rows_in_another_world_would_be_noticed(tmp_path: Path) -> None:
    model = model_of(policy(tmp_path, rows(600), unit="row"), 60)
    other = policy(tmp_path, [(1, "c", 9, False)] * 600, unit="row")
    assert (tacit.owner.compare(other, model).mean(3) or 0) > 0.9


@pytest.mark.parametrize("data", [[], [(1, "a", 2, True)]])
def test_an_empty_table_and_one_of_a_single_row_work(tmp_path: Path, data: list[tuple[object, ...]]) -> None:
    declared = policy(tmp_path, data, unit="row")
    found = tacit.owner.compare(declared, model_of(declared, 1))
    assert all(0 <= distance <= 1 for _, distance in found.distances)


def test_the_exact_report_is_the_owners_and_shows_nothing_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = policy(tmp_path, rows(60), unit="row")
    model = model_of(declared)
    assert repr(tacit.owner.compare(declared, model)) == "<exact>"
    monkeypatch.setenv("TACIT_ANALYST", "ana")
    with pytest.raises(QueryRefused, match="the exact report is the owner's"):
        tacit.owner.compare(declared, model)


def test_a_model_of_other_columns_is_refused(tmp_path: Path) -> None:
    declared = policy(tmp_path, rows(60), unit="row")
    model = model_of(declared)
    columns = tuple(
        ColumnPolicy("age", type="integer", lower=0, upper=7) if column.name == "age" else column
        for column in declared.tables[0].columns
    )
    changed = policy(tmp_path, rows(60), unit="row", columns=columns)
    with opened(changed) as (engine, _), pytest.raises(InvalidParameter, match="other columns"):
        exact_distances(changed, engine, model)


def test_a_public_number_of_rows_is_exact_and_else_it_is_noisy(tmp_path: Path) -> None:
    made = policy(tmp_path, rows(1_000), unit="row", adjacency="replace")
    assert {model_of(declaring(made, "*"), "0.05").rows for _ in range(3)} == {1_000}
    assert {model_of(declaring(made, None), "0.05").rows for _ in range(3)} != {1_000}


def test_a_public_number_of_rows_needs_replacement_and_rows_for_units(tmp_path: Path) -> None:
    for made, what in (
        (policy(tmp_path, rows(9), unit="row"), "need replacement"),
        (policy(tmp_path, rows(9), adjacency="replace"), "may have several of them, or none"),
        (policy(tmp_path, rows(9), adjacency="replace", max_rows=1), "may have several of them, or none"),
    ):
        declared = declaring(made, "*")
        with publisher(declared) as door:
            with pytest.raises(QueryRefused, match=what):
                door.publish(SynthesisRequest("t", 1, "1e-6", NAMED), declared.analyst("ana"))
            assert all(entry.act == "open" for entry in door.ledger.entries(limit=9))


def test_the_plan_of_a_public_number_is_another(tmp_path: Path) -> None:
    made = policy(tmp_path, rows(9), unit="row", adjacency="replace")
    plans = []
    for totals in ("*", None):
        with publisher(declaring(made, totals)) as door:
            plan = plan_synthesis(door.policy, door.engine, SynthesisRequest("t", 1, "1e-6", NAMED))
            plans.append(replace(plan, policy_version="the same").hash)
    assert plans[0] != plans[1]


def test_the_public_number_of_rows_is_of_all_rows_whatever_they_hold(tmp_path: Path) -> None:
    """To replace a row by one whose value lies outside of its domain does not move what leaves without noise."""
    for cell in ("a", "z", None):
        data = [*rows(50), (50, cell, 3, True)]
        declared = declaring(policy(tmp_path, data, unit="row", adjacency="replace"), "*")
        assert model_of(declared, 1).rows == 51, cell
