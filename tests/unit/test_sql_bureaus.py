"""Questions of seven bureaus as twelve people type them, in the habits of six databases: written before any was tried.

All are answered, and with the noise switched off the answer is that of plain DuckDB; or they are refused, and say why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.sql_bureaus import FILLED, bureau, without
from conformance.sql_lists import filled, noiseless
from conformance.sql_noiseless import switch_off
from conformance.sql_sensitivity import Violation
from tacit.curator import Session
from tacit.errors import QueryRefused
from tacit.sql.binding import possible_keys
from tacit.sql.expressions import numbers
from tacit.sql.expressions.numeric import grid as g
from unit import test_sql_analysts as analysts

CASES = analysts.cases(Path(__file__).parent / "data" / "sql_bureaus.sql")
ANSWERED = [case for case in CASES if case.refused is None]
REFUSED = [case for case in CASES if case.refused is not None]
ANA = Session("ana")


def where(case):
    return case.name.split(":")[0]


@pytest.fixture(scope="module")
def curators(tmp_path_factory):
    yield from noiseless(list(FILLED), bureau, tmp_path_factory.mktemp)


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


def test_nineteen_in_twenty_are_answered():
    assert len(ANSWERED) >= 0.95 * len(CASES) >= 130


@pytest.mark.parametrize("name", FILLED)
def test_nobody_moves_an_exact_number_farther_than_its_plan_says(name, tmp_path):
    ours = [case for case in ANSWERED if where(case) == name]
    compared = analysts.all_moved(ours, analysts.beside(name, bureau, without, tmp_path))
    assert compared > 0.8 * len(ours) > 8  # those with several sets of keys are compared elsewhere


PAIRS = (
    "JOIN lines l ON l.line = t.line GROUP BY t.line, l.capacity",
    "JOIN lines l USING (line) GROUP BY t.line, l.capacity",
    "LEFT JOIN lines l ON t.line = l.line GROUP BY t.line, l.capacity",
    ", lines l WHERE t.line = l.line GROUP BY t.line, l.capacity",
)
APART = "JOIN lines l ON l.line = t.line JOIN lines m ON m.line = t.line GROUP BY m.line, l.capacity"
LOOSE = "FROM trips t JOIN lines l ON l.line <> t.line LEFT JOIN stops s ON s.stop_id = t.from_stop AND l.line = t.line"


@pytest.mark.parametrize("joined", PAIRS)
def test_what_a_join_ties_to_a_public_row_stands_in_it(joined, curators):
    rows = curators["rail"].ask(f"SELECT t.line, l.capacity, COUNT(*) AS n FROM trips t {joined}", session=ANA).rows
    assert {row[:2] for row in rows} == {("R1", 400), ("R2", 350), ("S5", 700), ("S9", 700)}
    assert sum(row[2] for row in rows) == 6000


def test_what_a_join_does_not_tie_stands_apart(curators):
    """A condition of LEFT JOIN on other tables holds for no row that it keeps without a partner."""
    rows = curators["rail"].ask(f"SELECT m.line, l.capacity, COUNT(*) AS n FROM trips t {APART}", session=ANA).rows
    assert len(rows) == 12
    asked = f"SELECT t.line, l.capacity, COUNT(*) AS n {LOOSE} GROUP BY t.line, l.capacity"
    rows = curators["rail"].ask(asked, session=ANA).rows
    assert {("R1", 350), ("S9", 400)} < {row[:2] for row in rows if row[2] > 1000}


# ── planted bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_condition_that_a_left_join_does_not_enforce_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(possible_keys, "_enforced", lambda join: possible_keys.conjuncts(join.args["on"]))
    switch_off(monkeypatch)
    with pytest.raises(AssertionError):
        test_what_a_join_does_not_tie_stands_apart({"rail": bureau("rail").curator(tmp_path)})


def test_a_text_whose_number_is_not_held_is_noticed(tmp_path, monkeypatch):
    both = analysts.beside("clinic", bureau, without, tmp_path)
    asked = "SELECT SUM(TRY_CAST(result AS DECIMAL(1, 0))) AS n FROM labs"
    assert analysts.moved(asked, both) == 1
    read = numbers.number_in

    def too_small(text, kind):
        found = read(text, numbers.exp.DataType.build("DECIMAL(5, 0)"))
        return g.Grid(found.sql, found.step, -1, 1, nullable=True, width=found.width)

    monkeypatch.setattr(numbers, "number_in", too_small)
    with pytest.raises(Violation):
        analysts.moved(asked, both)
