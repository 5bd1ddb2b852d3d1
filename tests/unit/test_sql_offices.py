"""Questions of five offices as their people type them, in the habits of six databases: written before any was tried.

All are answered, and with the noise switched off the answer is that of plain DuckDB; or they are refused for privacy.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.sql_lists import filled, noiseless
from conformance.sql_offices import FILLED, office, without
from tacit.curator import Session
from tacit.errors import QueryRefused
from unit import test_sql_analysts as analysts

CASES = analysts.cases(Path(__file__).parent / "data" / "sql_offices.sql")
ANSWERED = [case for case in CASES if case.refused is None]
REFUSED = [case for case in CASES if case.refused is not None]
ANA = Session("ana")


def where(case):
    return case.name.split(":")[0]


@pytest.fixture(scope="module")
def curators(tmp_path_factory):
    yield from noiseless(list(FILLED), office, tmp_path_factory.mktemp)


@pytest.fixture(scope="module")
def by_hand():
    yield from filled(FILLED)


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_a_question_is_answered_as_it_is_written(case, curators, by_hand):
    analysts.test_a_question_is_answered_as_it_is_written(case, curators[where(case)], by_hand[where(case)])


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_is_refused_says_why_before_any_charge(case, curators):
    curator = curators[where(case)]
    spent = curator.balance("ana").total.spent
    with pytest.raises(QueryRefused) as refusal:
        curator.ask(case.text, session=ANA)
    assert case.refused in str(refusal.value)
    assert refusal.value.hint
    assert not analysts.PARSER_WORDS.search(f"{refusal.value} {refusal.value.hint}")
    assert curator.balance("ana").total.spent == spent


def test_nine_in_ten_are_answered():
    assert len(ANSWERED) >= 0.95 * len(CASES) >= 300


@pytest.mark.parametrize("name", FILLED)
def test_nobody_moves_an_exact_number_farther_than_its_plan_says(name, tmp_path):
    ours = [case for case in ANSWERED if where(case) == name]
    compared = analysts.all_moved(ours, analysts.beside(name, office, without, tmp_path))
    assert compared > 0.9 * len(ours) > 9  # those with several sets of keys are compared elsewhere
