"""When a question is asked is written into it: by the day, and by the minute where it asks for the time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlglot import parse_one

from tacit.sql.parsing.today import asked_at, dated

NOON = datetime(2026, 3, 4, 12, 30, 15, 99, tzinfo=UTC)


def written(text, now=NOON):
    return dated(parse_one(f"SELECT {text}", read="duckdb"), now).sql("duckdb").removeprefix("SELECT ")


@pytest.mark.parametrize(
    "call", ["NOW()", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP(3)", "GETDATE()", "SYSDATETIME()", "LOCALTIMESTAMP"]
)
def test_every_name_of_now_is_the_start_of_the_minute(call):
    assert written(call) == "CAST('2026-03-04 12:30:00' AS TIMESTAMP)"
    later = NOON.replace(second=59)
    assert written(call, later) == written(call)
    assert asked_at(f"SELECT {call}", later) == asked_at(f"SELECT {call}", NOON)


def test_the_next_minute_is_another_question_and_is_planned_anew():
    later = NOON.replace(minute=31)
    assert written("now()", later) != written("now()")
    assert asked_at("SELECT now()", later) != asked_at("SELECT now()", NOON)


def test_a_question_that_does_not_ask_for_the_time_is_the_same_all_day():
    assert asked_at("SELECT COUNT(*) FROM visits", NOON) == asked_at(
        "SELECT COUNT(*) FROM visits", NOON.replace(hour=1)
    )
    assert written("CURRENT_DATE") == "CAST('2026-03-04' AS DATE)"


def test_a_column_or_a_text_that_is_called_now_stays_what_it_is():
    assert written("\"now\", now, 'NOW()', now(1)") == "\"now\", now, 'NOW()', NOW(1)"
