"""A date and an interval make the day that DuckDB makes of them, and are refused where there is none."""

from __future__ import annotations

from datetime import date, datetime

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import QueryRefused
from tacit.policy import TablePolicy
from tacit.sql import parse
from tacit.sql.expressions.names.scope import Scope

PARAMETERS = {"day": date(2024, 1, 31), "n": 3, "at": datetime(2024, 1, 31, 10)}  # noqa: DTZ001 - zoneless
SCOPE = Scope(TablePolicy("t", "row"), (), PARAMETERS)
DUCKDB = duckdb.connect()
DAYS = st.dates(date(1900, 1, 1), date(2100, 12, 31))
UNITS = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "HOUR", "MINUTE", "SECOND")
SPANS = st.tuples(st.integers(-200, 200), st.sampled_from(UNITS))


def folded(text: str) -> object:
    node = parse(f"SELECT COUNT(*) FROM t WHERE x < {text}", PARAMETERS).select.args["where"].this.expression
    assert SCOPE.is_constant(node)
    return SCOPE.value(node)


@settings(max_examples=150, deadline=None)
@given(DAYS, st.lists(st.tuples(SPANS, st.sampled_from("+-")), min_size=1, max_size=3))
def test_a_day_moved_by_intervals_is_the_engines_own(day: date, spans: list[tuple[tuple[int, str], str]]) -> None:
    text = f"DATE '{day}'" + "".join(f" {sign} INTERVAL ({count}) {unit}" for (count, unit), sign in spans)
    (wanted,) = DUCKDB.execute(f"SELECT {text}").fetchall()[0]
    found = folded(text)
    assert isinstance(found, date)
    midnight = found if isinstance(found, datetime) else datetime(found.year, found.month, found.day)  # noqa: DTZ001
    assert midnight == wanted
    if all(unit not in {"HOUR", "MINUTE", "SECOND"} for (_, unit), _ in spans):
        assert not isinstance(found, datetime)  # whole days keep a date a date


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("DATE '1998-12-01' - INTERVAL '90' DAY", date(1998, 9, 2)),
        ("date '1998-12-01' - interval '90' day (3)", date(1998, 9, 2)),
        ("DATE '2024-01-31' + INTERVAL 1 MONTH", date(2024, 2, 29)),
        ("INTERVAL '3' MONTH + DATE '1993-07-01'", date(1993, 10, 1)),
        ("CAST('1994-01-01' AS DATE) + INTERVAL '1 year 2 months'", date(1995, 3, 1)),
        ("(DATE '1994-01-01') + 90", date(1994, 4, 1)),
        (":day + INTERVAL '1' MONTH", date(2024, 2, 29)),
        (":day - :n", date(2024, 1, 28)),
        (":at + INTERVAL '36' HOUR", datetime(2024, 2, 1, 22)),  # noqa: DTZ001 - zoneless
        ("DATE_ADD(DATE '2024-01-01', INTERVAL 1 YEAR)", date(2025, 1, 1)),
    ],
)
def test_intervals_are_written_in_many_ways(text: str, wanted: date) -> None:
    assert folded(text) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("DATE '9999-12-31' + INTERVAL '1' DAY", "beyond the years"),
        ("DATE '0001-01-01' - INTERVAL '1' MONTH", "beyond the years"),
        ("DATE '2024-01-01' + INTERVAL '1' FORTNIGHT", "FORTNIGHT is refused"),
        ("DATE '2024-01-01' + INTERVAL '1.5' DAY", "whole number"),
        ("DATE '2024-01-01' + INTERVAL 'soon'", "not an INTERVAL"),
        ("DATE '2024-01-01' + INTERVAL '99999999999' DAY", "whole number"),
        (":at + 3", "of what"),
    ],
)
def test_what_is_no_date_is_refused(text: str, words: str) -> None:
    with pytest.raises(QueryRefused, match=words):
        folded(text)
