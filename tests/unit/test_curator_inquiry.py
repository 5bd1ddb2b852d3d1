"""The ledger keeps the question: from an entry alone it can be asked again, planned alike and priced alike."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from conformance.sql_clinic import VISITS, clinic
from tacit.core import Loss
from tacit.curator import Curator, Session
from tacit.errors import QueryRefused
from tacit.ledger import Entry, Inquiry
from tacit.sql import Query, parse
from tacit.sql.parsing.question import parameters_text, question_text, read_parameters

ANA = Session("ana", Fraction(1, 4), Fraction(1, 10**6))
OPTIONS = "epsilon=0.5, max_groups_contributed=1, max_rows_contributed=1"
OTHER = Inquiry(questions=("DP-SELECT 0.5 COUNT(*) FROM visits WHERE age > 20",), parameters=("{}",), tables=())
QUESTIONS = [
    ("DP-SELECT 0.5 COUNT(*) FROM visits", ()),
    ("dp-select 1/3 count( * ) as n -- how many?\n from VISITS where age > 30", ()),
    ("SELECT COUNT(*) FROM visits", ()),
    ("DP-SELECT 0.5 CONFIDENCE 0.9 dept, AVG(age) FROM visits GROUP BY dept ORDER BY 2 DESC LIMIT 2", ()),
    ("DP-SELECT ? SUM(amount) FROM visits WHERE age BETWEEN ? AND ?", (0.25, 20, Decimal("40.5"))),
    ("DP-SELECT 0.2 COUNT(*) FROM visits WHERE city = :d AND insured = :i", {"d": "it's; -- \u00e9", "i": True}),
    ("DP-SELECT 0.2 COUNT(*) FROM visits WHERE dept IN (?, 'Bio') OR dept IS NULL", ("CS",)),
    ("DP-SELECT 0.3 DELTA 1e-6 city, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY city HAVING n > 3", ()),
    ("DP-SELECT 0.3 city, COUNT(*) FROM visits GROUP BY city", ()),
    ("DP-SELECT WITHIN 100 COUNT(*) FROM visits", ()),
    ("DP-SELECT 0.5 WITH BIAS COUNT(*) FROM visits", ()),
    ("DP-SELECT 0.4 FRESH MEDIAN(age) FROM visits", ()),
    ("WITH old AS (SELECT * FROM visits WHERE age > ?) DP-SELECT 0.1 COUNT(*) FROM old", (50,)),
    (f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({OPTIONS}) dept, COUNT(*) FROM visits GROUP BY dept", ()),
    ("DP-SELECT 0.6 dept, insured, COUNT(*) FROM visits GROUP BY ROLLUP(dept, insured)", ()),
    ("DP-SELECT 0.6 STDDEV(age), MIN(age) FROM visits WHERE NOT insured", ()),
]  # fmt: skip


@pytest.fixture
def curator(tmp_path):
    return clinic().curator(tmp_path)


def newest_charge(curator: Curator) -> Entry:
    return next(entry for entry in curator.log("ana") if entry.act == "charge")


@pytest.mark.parametrize(("text", "values"), QUESTIONS)
def test_an_entry_can_be_replayed(curator, text, values):
    try:
        curator.ask(text, values, session=ANA)
    except QueryRefused as refusal:
        pytest.fail(refusal.message)
    entry = newest_charge(curator)
    assert entry.asked is not None
    assert entry.asked.tables == ("visits",)
    replayed = curator.replay(entry)
    assert (replayed.plan_hash, replayed.loss) == (entry.plan_hash, Loss(entry.epsilon, entry.delta))
    assert replayed.agrees


@pytest.mark.parametrize(("text", "values"), QUESTIONS)
def test_the_canonical_question_is_its_own_canonical_form(curator, text, values):
    asked = parse(text, values)
    written = question_text(asked, Loss("0.5", "1e-6"))
    again = parse(written, read_parameters(parameters_text(asked)))
    assert question_text(again, Loss("0.5", "1e-6")) == written
    assert parameters_text(again) == parameters_text(asked)
    assert "\n" not in written
    assert "how many" not in written


@pytest.mark.parametrize(
    "text",
    [
        "DP-SELECT 0.5 DELTA 1e-6 CONFIDENCE 0.9 FRESH WITH BIAS dept, COUNT(*) FROM visits GROUP BY dept",
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({OPTIONS}, privacy_unit_column=patient_id) COUNT(*) FROM visits",
    ],
)
def test_no_part_of_a_question_is_forgotten(text):
    """A field that a question gains is written down as well, or this fails."""
    asked = parse(text)
    again = parse(question_text(asked, Loss("0.5", asked.delta or 0)))
    for field in fields(Query):
        if field.name != "explain":  # which is free, and charged to nobody
            assert getattr(again, field.name) == getattr(asked, field.name), field.name
    unset = {"unit", "caps"} if "DP-" in text else {"delta", "confidence", "fresh", "bias"}
    unset |= {"explain", "parameters", "perturbed"}  # the last asks for no aggregate, and is kept as what it publishes
    bare = parse("SELECT 1")
    assert {field.name for field in fields(Query) if getattr(asked, field.name) == getattr(bare, field.name)} == unset


def test_a_batch_can_be_replayed(curator):
    questions = ["SELECT COUNT(*) FROM visits", ("SELECT COUNT(*) FROM visits WHERE dept = ?", ["CS"])]
    curator.batch(questions, session=ANA, epsilon="0.5")
    entry = newest_charge(curator)
    assert entry.asked.questions == (
        "SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE dept = $1",
    )  # fmt: skip
    assert curator.replay(entry).agrees


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": Fraction(1, 20)},
        {"rho": Fraction(1, 10**6)},
        {"plan_hash": "0" * 64},
        {"asked": OTHER},
    ],
)  # fmt: skip
def test_a_charge_that_does_not_follow_from_its_question_is_told(curator, change):
    curator.ask("DP-SELECT 0.5 COUNT(*) FROM visits", session=ANA)
    entry = newest_charge(curator)
    assert curator.replay(entry).agrees
    assert not curator.replay(replace(entry, **change)).agrees


def test_own_words_are_kept_only_where_the_policy_says(tmp_path):
    words = "DP-SELECT 0.5 COUNT(*) -- for the board\nFROM visits"
    plain = clinic().curator(tmp_path)
    plain.ask(words, session=ANA)
    assert newest_charge(plain).asked.words == ()
    (tmp_path / "kept").mkdir()
    kept = clinic(dataset={"keep_words": True}).curator(tmp_path / "kept")
    assert kept.policy.version == plain.policy.version  # it promises nothing
    kept.ask(words, session=ANA)
    kept.batch(["SELECT COUNT(*)  FROM visits"], session=ANA, epsilon="0.1", fresh=True)
    assert [entry.asked.words for entry in kept.log("ana") if entry.act == "charge"] == [
        ("SELECT COUNT(*)  FROM visits",), (words,),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -7, 10**30, 0.1, Decimal("1e-9"), Fraction(1, 3), "", "30", "o'clock", "\u00e9\n;",
     date(2026, 1, 31), datetime.fromisoformat("2026-01-31T12:30"), datetime(2026, 1, 31, 12, 30, tzinfo=UTC)],
)  # fmt: skip
def test_every_kind_of_value_comes_back(value):
    query = parse("DP-SELECT 1 COUNT(*) FROM visits WHERE age > ?", [value])
    (found,) = read_parameters(parameters_text(query)).values()
    expected = value.replace(tzinfo=None) if isinstance(value, datetime) else value
    assert found == (Fraction(str(value)) if isinstance(value, float) else expected)
    assert isinstance(found, bool) == isinstance(value, bool)


def test_a_question_too_long_for_the_record_is_refused_at_no_charge(curator):
    long = "SELECT COUNT(*) FROM visits WHERE city = '" + "x" * 2000 + "'"
    with pytest.raises(QueryRefused, match="put on record"):
        curator.batch([f"{long} AND age > {n % 90}" for n in range(600)], session=ANA, epsilon="0.5")
    assert curator.log("ana") == ()


def test_tables_are_told_through_views_and_joins(curator):
    assert VISITS is not None
    curator.ask("DP-SELECT 0.5 COUNT(*) FROM visits v WHERE v.age > 1", session=ANA)
    assert newest_charge(curator).asked.tables == ("visits",)
