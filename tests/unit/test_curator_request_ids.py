"""Request ids of questions that kept answers serve: they are used up like any other, and cost nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from conformance.sql_clinic import clinic
from tacit.core import Loss
from tacit.curator import Curator, Session
from tacit.errors import RequestConflict

ANA = Session("ana")
COUNT = "DP-SELECT 0.5 COUNT(*) FROM visits WHERE insured"
OTHER = "DP-SELECT 0.25 COUNT(*) FROM visits"


def spent(curator: Curator) -> Fraction:
    return curator.balance("ana").total.spent.epsilon


@pytest.fixture
def curator(tmp_path):
    """Both questions are asked, so both are served from what is kept."""
    opened = clinic().curator(tmp_path)
    for sql in (COUNT, OTHER):
        opened.ask(sql, session=ANA)
    return opened


def test_an_id_that_cost_nothing_stands_for_its_question(curator, tmp_path):
    first = curator.ask(COUNT, session=ANA, request_id="one")
    assert first.cost == Loss(0)
    for sql in (OTHER, "DP-SELECT 0.1 COUNT(*) FROM visits WHERE age > 30", COUNT.replace("SELECT 0.5", "SELECT 2")):
        with pytest.raises(RequestConflict, match="'one' stands for"):
            curator.ask(sql, session=ANA, request_id="one")
    with pytest.raises(RequestConflict, match="'one' stands for"):
        curator.batch(["SELECT COUNT(*) FROM visits"], session=ANA, epsilon=1, request_id="one")
    again = curator.ask(COUNT, session=ANA, request_id="one")
    assert (again.rows, again.cost) == (first.rows, Loss(0))
    assert spent(curator) == Fraction(3, 4)


def test_it_does_so_in_another_process_too(curator, tmp_path):
    curator.ask(COUNT, session=ANA, request_id="one")
    curator.close()
    reopened = clinic().curator(tmp_path)
    with pytest.raises(RequestConflict):
        reopened.ask(OTHER, session=ANA, request_id="one")
    assert reopened.ask(COUNT, session=ANA, request_id="one").cost == Loss(0)


def test_an_id_that_was_paid_for_is_not_lent_to_a_kept_answer(curator):
    paid = curator.ask(COUNT.replace("0.5", "0.5 FRESH"), session=ANA, request_id="two")
    with pytest.raises(RequestConflict):
        curator.ask(OTHER, session=ANA, request_id="two")
    again = curator.ask(COUNT.replace("0.5", "0.5 FRESH"), session=ANA, request_id="two")
    assert (again.rows, again.cost) == (paid.rows, Loss(0))


def test_the_question_that_paid_for_an_id_is_given_again_whatever_is_kept_since(curator):
    sql = "DP-SELECT 0.1 COUNT(*) FROM visits WHERE age > 40"
    first = curator.ask(sql, session=ANA, request_id="three")
    curator.ask(sql.replace("0.1", "1"), session=ANA)  # a better one is kept now
    again = curator.ask(sql, session=ANA, request_id="three")
    assert (again.rows, again.reused) == (first.rows, "the same request")


def test_one_analysts_id_is_not_anothers(curator):
    curator.ask(COUNT, session=ANA, request_id="one")
    assert curator.ask(OTHER, session=Session("bob"), request_id="one").rows


def test_it_works_when_nothing_is_left(tmp_path):
    curator = clinic().curator(tmp_path)
    everything = curator.balance("ana").total.cap.epsilon
    sql = f"DP-SELECT {everything} COUNT(*) FROM visits"
    first = curator.ask(sql, session=ANA)
    assert curator.ask(sql, session=ANA, request_id="late").rows == first.rows
    entry = curator.log("ana")[1]
    assert (entry.epsilon, entry.kind, entry.outcome) == (0, "kept", "settle")
