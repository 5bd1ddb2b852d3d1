"""What an engine has no words for is refused before anything is charged, whatever rows it holds."""

from __future__ import annotations

import pytest

from conformance.sql_clinic import clinic
from tacit.curator import Session
from tacit.errors import QueryRefused

ANA = Session("ana")
BACKTRACKING = {  # what takes such an engine longer for some texts than for others, without bound
    "postgres": ("REGEXP_MATCHES(city, '(a|b)+c')", "city SIMILAR TO '%(a|b)+c'"),
    "spark": ("city LIKE '%a%b%c'", "city ILIKE 'a%b%c%d'", "NOT (city LIKE '%a_%b%%c%')", "city ~ '(a|b)+c'"),
}
REFUSED = [(dialect, condition) for dialect, conditions in BACKTRACKING.items() for condition in conditions]


def speaking(world, dialect, monkeypatch):
    """The world's engine, as if it spoke another dialect. Nothing may be put to it."""
    monkeypatch.setattr(type(world.engine), "dialect", dialect)
    monkeypatch.setattr(type(world.engine), "execute", None)
    return world


@pytest.mark.parametrize(("dialect", "condition"), REFUSED)
def test_a_pattern_that_an_engine_backtracks_on_is_refused_free_of_charge(tmp_path, monkeypatch, dialect, condition):
    curator = speaking(clinic(), dialect, monkeypatch).curator(tmp_path)
    text = f"SELECT COUNT(*) FROM visits WHERE {condition}"
    with pytest.raises(QueryRefused, match="it backtracks"):
        curator.ask(f"DP-{text.replace('SELECT', 'SELECT 1')}", session=ANA)
    with pytest.raises(QueryRefused, match="it backtracks"):
        curator.batch([text, "SELECT COUNT(*) FROM visits"], session=ANA, epsilon=1)
    assert curator.log("ana") == ()


@pytest.mark.parametrize(
    "condition", ["city LIKE '%a%b%'", "city LIKE 'a%b%'", "city LIKE '%a%b_'", "city LIKE 'a_%%'"]
)
def test_two_gaps_are_taken(monkeypatch, condition):
    world = speaking(clinic(), "spark", monkeypatch)
    (statement,) = world.plan(f"DP-SELECT 1 COUNT(*) FROM visits WHERE {condition}").statements
    assert "LIKE" in statement.sql("spark")
