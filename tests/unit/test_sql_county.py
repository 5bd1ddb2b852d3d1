"""A hundred questions as five analysts type them, and forty more: written before any was tried, and kept as they were.

All are answered, and with the noise switched off the answer is that of plain DuckDB; or they are refused, and say why.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from conformance.sql_county import FILLED, county
from conformance.sql_noiseless import switch_off
from conformance.sql_sensitivity import Violation
from tacit.curator import Session, answer
from tacit.curator.computing import computing
from tacit.errors import QueryRefused
from tacit.sql.expressions import numbers
from tacit.sql.expressions.names.scope import Scope
from tacit.sql.expressions.numeric.arithmetic import Width
from tacit.sql.expressions.numeric.grid import Grid
from tacit.sql.expressions.operands import operand
from unit import test_sql_analysts as analysts

CASES = analysts.cases(Path(__file__).parent / "data" / "sql_county.sql")
ANSWERED = [case for case in CASES if case.refused is None]
REFUSED = [case for case in CASES if case.refused is not None]
ANA = Session("ana")


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        patch.setattr(computing, "draws_for", lambda *given: 0)  # errors are simulated elsewhere
        yield county().curator(tmp_path_factory.mktemp("ledger"))


@pytest.fixture(scope="module")
def by_hand():
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for statement in FILLED:
            connection.execute(statement)
        yield connection


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_a_question_is_answered_as_it_is_written(case, curator, by_hand):
    analysts.test_a_question_is_answered_as_it_is_written(case, curator, by_hand)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_is_refused_says_why_before_any_charge(case, curator):
    spent = curator.balance("ana").total.spent
    with pytest.raises(QueryRefused) as refusal:
        curator.ask(case.text, session=ANA)
    assert case.refused in str(refusal.value)
    assert refusal.value.hint
    assert curator.balance("ana").total.spent == spent


def test_nineteen_in_twenty_are_answered():
    assert len(ANSWERED) >= 0.95 * len(CASES) >= 95


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory):
    """The county as it is, and without a person; and the schema by which public tables are counted."""
    whole = county(caps=analysts.TIGHT)
    counted = whole.curator(tmp_path_factory.mktemp("tight"))._schema
    return whole, [county(caps=analysts.TIGHT, without=who) for who in (137, 301)], counted


def test_nobody_moves_an_exact_number_farther_than_its_plan_says(neighbours):
    assert sum(analysts.moved(case.text, neighbours) for case in ANSWERED) > len(ANSWERED)


def test_two_keys_of_one_name_are_two(curator):
    """Both are called person_id, and neither is a column that an analyst may see."""
    keys = "v.person_id IS NOT NULL AS dosed, s.person_id IS NOT NULL AS ill"
    joins = (
        "LEFT JOIN (SELECT DISTINCT person_id FROM vaccinations) v ON v.person_id = p.id"
        " LEFT JOIN (SELECT DISTINCT person_id FROM stays WHERE icd LIKE 'J%') s ON s.person_id = p.id"
    )
    answer = curator.ask(f"SELECT {keys}, COUNT(*) AS n FROM persons p {joins} GROUP BY 1, 2", session=ANA)
    assert sorted(row[:2] for row in answer.rows) == [(False, False), (False, True), (True, False), (True, True)]
    assert not any(" j" in note for note in answer.notes)


def test_bins_of_one_column_stand_together_only_where_a_moment_has_both(curator):
    keys = "YEAR(given) AS y, DATE_TRUNC('quarter', given) AS q, DATE_TRUNC('month', given) AS m"
    months = curator.ask(f"SELECT {keys}, COUNT(*) AS n FROM vaccinations GROUP BY 1, 2, 3", session=ANA).rows
    assert len(months) == 4 * 12
    assert all(row[0] == row[1].year == row[2].year and 0 <= row[2].month - row[1].month <= 2 for row in months)
    apart = "SELECT YEAR(admitted_at) AS y, YEAR(discharged_at) AS d, COUNT(*) AS n FROM stays GROUP BY 1, 2"
    assert len(curator.ask(apart, session=ANA).rows) == 9


def test_what_a_public_table_says_of_a_group_is_looked_up(curator):
    asked = "SELECT s.ward, COUNT(*) AS n, MAX(w.beds) AS b FROM stays s JOIN wards w ON w.ward = s.ward{} GROUP BY 1"
    beds = {row[0]: row[2] for row in curator.ask(asked.format(""), session=ANA).rows}
    assert beds == {"ICU": 12, "Surgery": 40, "Medicine": 60, "Paediatrics": 20}
    held = curator.explain(asked.format(" AND w.beds > 15"), session=ANA)  # which rows there are depends on more
    assert "MAX(w.beds)" in str(held)


# ── planted bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────

LENGTHS = "SELECT SUM(LEAST(LENGTH(purpose), 2)) AS n FROM trips"


def test_a_length_that_is_not_held_is_noticed(neighbours, monkeypatch):
    assert analysts.moved(LENGTHS, neighbours) == 1

    def as_it_is(node, scope, most):
        return Grid(operand(node, scope).sql, Fraction(1), 0, most, nullable=True, width=Width.BIGINT)

    monkeypatch.setattr(numbers, "_held_characters", as_it_is)
    monkeypatch.setattr(numbers.g, "extreme", lambda parts, *, least: parts[0])
    with pytest.raises(Violation):
        analysts.moved(LENGTHS, neighbours)


def test_keys_that_are_known_by_their_names_alone_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(Scope, "known_as", lambda self, node: node.name)
    with pytest.raises(AssertionError):
        test_two_keys_of_one_name_are_two(county().curator(tmp_path))  # one that remembers no plan


def test_bins_that_are_never_held_against_each_other_are_noticed(curator, monkeypatch):
    monkeypatch.setattr(answer, "agreement", lambda bins: None)
    with pytest.raises(AssertionError):
        test_bins_of_one_column_stand_together_only_where_a_moment_has_both(curator)
