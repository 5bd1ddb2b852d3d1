"""Questions of six trades as their people type them, in the habits of six databases: written before any was tried.

All are answered, and with the noise switched off the answer is that of plain DuckDB; or they are refused for privacy,
or for a slip of the pen that the refusal names.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from conformance.sql_lists import filled, noiseless
from conformance.sql_trades import FILLED, trade, without
from tacit.core import Loss
from tacit.mechanisms import Gaussian
from tacit.sql import plan
from unit import test_sql_analysts as analysts
from unit import test_sql_offices as offices

DATA = Path(__file__).parent / "data"
BLIND = analysts.cases(DATA / "sql_trades.sql")
CASES = [*BLIND, *analysts.cases(DATA / "sql_trades_further.sql")]  # the latter in forms that the former asked for
ANSWERED = [case for case in CASES if case.refused is None]
REFUSED = [case for case in CASES if case.refused is not None]


@pytest.fixture(scope="module")
def curators(tmp_path_factory):
    yield from noiseless(list(FILLED), trade, tmp_path_factory.mktemp)


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


def test_nine_in_ten_are_answered():
    assert sum(case.refused is None for case in BLIND) >= 0.88 * len(BLIND) >= 140  # others: rows, slips, privacy


@pytest.mark.parametrize("name", FILLED)
def test_nobody_moves_an_exact_number_farther_than_its_plan_says(name, tmp_path):
    ours = [case for case in ANSWERED if offices.where(case) == name]
    compared = analysts.all_moved(ours, analysts.beside(name, trade, without, tmp_path))
    assert compared > 0.9 * len(ours) > 9  # those with several sets of keys are compared elsewhere


def test_a_plan_whose_every_answer_has_a_finite_error_is_taken_before_one_without():
    """Laplace noise states the smaller error for what it states one for; of the quotient it has none."""
    world = trade("telephone")
    rate = "SUM(CASE WHEN csat > 3 THEN 1 ELSE 0 END) * 1.0 / COUNT(csat)"
    bound = world.bound(f"DP-SELECT 50 DELTA 1e-6 topic, COUNT(*), {rate} FROM tickets GROUP BY topic")
    made = plan(bound, world.policy, price=Loss(50, Fraction(1, 10**6)))
    assert all(isinstance(measurement.noise, Gaussian) for measurement in made.measurements)
    assert made.selection.threshold < 100
