"""Questions of four firms as analysts type them and as BI tools generate them: written before any was tried.

All are answered, and with the noise switched off the answer is that of plain DuckDB; or they are refused, and say why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.sql_firms import FILLED, firm, without
from conformance.sql_lists import filled, noiseless
from unit import test_sql_analysts as analysts
from unit import test_sql_bureaus as bureaus

CASES = analysts.cases(Path(__file__).parent / "data" / "sql_firms.sql")
ANSWERED = [case for case in CASES if case.refused is None]
REFUSED = [case for case in CASES if case.refused is not None]
FREE = "public"  # in the names of questions that read nobody's rows


@pytest.fixture(scope="module")
def curators(tmp_path_factory):
    yield from noiseless(list(FILLED), firm, tmp_path_factory.mktemp)


@pytest.fixture(scope="module")
def by_hand():
    yield from filled(FILLED)


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_a_question_is_answered_as_it_is_written(case, curators, by_hand):
    name = bureaus.where(case)
    analysts.test_a_question_is_answered_as_it_is_written(case, curators[name], by_hand[name])


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_is_refused_says_why_before_any_charge(case, curators):
    bureaus.test_what_is_refused_says_why_before_any_charge(case, curators)


def test_nineteen_in_twenty_are_answered():
    assert len(ANSWERED) >= 0.95 * len(CASES) >= 200


@pytest.mark.parametrize("name", FILLED)
def test_nobody_moves_an_exact_number_farther_than_its_plan_says(name, tmp_path):
    whole = firm(name, caps=analysts.TIGHT)
    others = [firm(name, caps=analysts.TIGHT, left_out=without(name, who)) for who in (137, 301)]
    neighbours = whole, others, whole.curator(tmp_path)._schema
    ours = [case for case in ANSWERED if bureaus.where(case) == name and f": {FREE} " not in case.name]
    compared = sum(analysts.moved(case.text, neighbours) for case in ours)
    assert compared > 0.9 * len(ours) > 9  # those with several sets of keys are compared elsewhere
