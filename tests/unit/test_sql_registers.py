"""Questions of four registers of public health as their people type them: written before any was tried.

All are answered, and with the noise switched off the answer is that of plain DuckDB; or they are refused for privacy,
or for a slip of the pen that the refusal names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.sql_lists import filled, noiseless
from conformance.sql_registers import FILLED, register, without
from conformance.sql_sensitivity import Violation
from tacit.errors import QueryRefused
from tacit.sql.relations.deriving import windows
from unit import test_sql_analysts as analysts
from unit import test_sql_offices as offices

DATA = Path(__file__).parent / "data"
BLIND = analysts.cases(DATA / "sql_registers.sql")
CASES = [*BLIND, *analysts.cases(DATA / "sql_registers_further.sql")]  # the latter in forms that the former asked for
ANSWERED = [case for case in CASES if case.refused is None]
REFUSED = [case for case in CASES if case.refused is not None]


@pytest.fixture(scope="module")
def curators(tmp_path_factory):
    yield from noiseless(list(FILLED), register, tmp_path_factory.mktemp)


@pytest.fixture(scope="module")
def by_hand():
    yield from filled(FILLED)


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_a_question_is_answered_as_it_is_written(case, curators, by_hand):
    name = offices.where(case)
    analysts.test_a_question_is_answered_as_it_is_written(case, curators[name], by_hand[name])


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_is_refused_says_why_before_any_charge(case, curators):
    offices.test_what_is_refused_says_why_before_any_charge(case, curators)


def test_nineteen_in_twenty_are_answered():
    assert sum(case.refused is None for case in BLIND) >= 0.95 * len(BLIND) >= 130  # others: rows, slips, privacy


@pytest.mark.parametrize("name", FILLED)
def test_nobody_moves_an_exact_number_farther_than_its_plan_says(name, tmp_path):
    ours = [case for case in ANSWERED if offices.where(case) == name]
    compared = analysts.all_moved(ours, analysts.beside(name, register, without, tmp_path))
    assert compared > 0.9 * len(ours) > 9  # those with several sets of keys are compared elsewhere


RECENT = "COUNT(*) OVER (PARTITION BY pid ORDER BY called_at RANGE BETWEEN INTERVAL 3 DAY PRECEDING AND CURRENT ROW)"


def test_a_frame_by_values_that_looks_at_others_would_be_noticed(tmp_path, monkeypatch):
    neighbours = analysts.beside("ambulances", register, without, tmp_path)
    asked = f"SELECT COUNT(*) AS n FROM (SELECT {RECENT} AS k FROM dispatches) AS t WHERE k = 7"
    assert analysts.moved(asked, neighbours) == 1
    monkeypatch.setattr(windows, "_frame", analysts.without_partition(windows._frame))
    with pytest.raises(Violation):
        analysts.moved(asked, neighbours)


@pytest.mark.parametrize("laterals", [10, 18])
def test_what_laterals_compute_of_each_other_does_not_grow_without_end(laterals):
    world = register("ambulances")
    counted = [f"COUNT(*) + {f'l{index - 1}.n + l{index - 1}.n' if index else '0'} AS n" for index in range(laterals)]
    joined = "".join(
        f", LATERAL (SELECT {each} FROM vitals v{index} WHERE v{index}.dispatch_id = d.id) l{index}"
        for index, each in enumerate(counted)
    )
    with pytest.raises(QueryRefused, match="too long"):
        world.bound(f"DP-SELECT 1 SUM(l{laterals - 1}.n) FROM dispatches d{joined}")
