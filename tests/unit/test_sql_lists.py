"""A list after ANY or ALL is its values, however it is given: as a parameter, or as the text that PostgreSQL writes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from tacit.errors import InvalidParameter, QueryRefused
from tacit.sql import parse
from tacit.sql.parsing.lists import read_list
from tacit.sql.parsing.question import parameters_text

ASKED = "DP-SELECT 1 COUNT(*) AS n FROM t WHERE x {}"


def condition(written: str, *parameters: object) -> str:
    return parse(ASKED.format(written), parameters).select.args["where"].this.sql()


@pytest.mark.parametrize("how", ["= ANY({})", "<> ALL({})", "= ANY(({}))", "LIKE ANY({})", "> ALL({})", "= SOME({})"])
@pytest.mark.parametrize("given", [["CS", "Bio"], ("CS", "Bio"), "{CS,Bio}", ' { "CS" , Bio } '])
def test_a_list_means_what_its_values_written_out_mean(how: str, given: object) -> None:
    assert "ARRAY('CS', 'Bio')" in condition(how.format("?"), given)
    if isinstance(given, str):
        assert condition(how.format(f"'{given}'")) == condition(how.format("?"), ["CS", "Bio"])


def test_values_keep_their_kinds() -> None:
    moment = datetime(2024, 1, 31, 12, tzinfo=UTC)
    values = [1, -2, 0.1, Decimal("2.50"), Fraction(1, 4), True, None, date(2024, 1, 31), moment, "it's"]
    assert condition("= ANY(?)", values) == (
        "x = ANY(ARRAY(1, -2, 0.1, 2.5, 0.25, TRUE, NULL, CAST('2024-01-31' AS DATE), "
        "CAST('2024-01-31 12:00:00' AS TIMESTAMP), 'it''s'))"
    )


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("{}", []),
        ("{a}", ["a"]),
        ('{"a,b","c\\"d","e\\\\f",NULL,"NULL",null}', ["a,b", 'c"d', "e\\f", None, "NULL", None]),
        ('{ a b , "" }', ["a b", ""]),
        ("{a\\,b}", ["a,b"]),
    ],
)
def test_a_list_is_read_as_postgresql_writes_it(text: str, items: list[str | None]) -> None:
    assert read_list(text) == items


@pytest.mark.parametrize(
    "text", ["{a", "{a,}", "{,a}", "{{a},{b}}", '{"a}', '{a"b"}', "a,b", "{a}b", "{", "[1:2]={a,b}"]
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused, match="no list"):
        read_list(text)


def test_one_value_is_a_list_of_itself_as_other_databases_write_it() -> None:
    assert condition("= ANY('CS')") == "x = ANY('CS')"
    assert condition("= ANY(?)", "CS") == condition("= ANY(?)", 5)


@pytest.mark.parametrize("wrong", [[], "{}", ["a"] * 2_001])
def test_a_list_has_a_value_and_not_too_many(wrong: object) -> None:
    with pytest.raises(QueryRefused, match="a list has"):
        condition("= ANY(?)", wrong)


@pytest.mark.parametrize("wrong", [[[1]], [object()], [Fraction(1, 3)], [10**401], [float("nan")]])
def test_a_list_holds_constants_alone(wrong: object) -> None:
    with pytest.raises(InvalidParameter):
        condition("= ANY(?)", wrong)


@pytest.mark.parametrize("wrong", ["a\0b", "\ud800"])
def test_a_text_of_a_list_is_one_that_sql_can_carry(wrong: str) -> None:
    with pytest.raises(QueryRefused, match="a character that no column can"):
        condition("= ANY(?)", [wrong])


def test_what_is_kept_of_the_question_has_the_values_and_no_parameter() -> None:
    query = parse(ASKED.format("= ANY(?) AND y = ?"), [["CS", "Bio"], 5])
    assert parameters_text(query) == '{"2": ["number", "5"]}'
