"""A unit of time may be a parameter, or a text that is cast to one; a constant that is compared may have a zone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tacit.sql import parse

CALLS = ("DATE_TRUNC({}, day)", "DATE_PART({}, day)", "DATEDIFF({}, day, x)", "DATE_ADD({}, 2, day)")
CALLS += ("TIMESTAMPDIFF({}, day, x)", "DATE_SUB({}, day, x)", "DATENAME({}, day)")


def tree(written: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> str:
    return repr(parse(f"DP-SELECT 1 COUNT(*) FROM t WHERE {written} = 1 AND y = 2", parameters).select)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("unit", "parameters"),
    [
        ("?", ["month"]),
        ("$1", ["month"]),
        (":month", {"month": "month"}),
        ("$1::text", ["month"]),
        ("CAST(? AS VARCHAR)", ["month"]),
        ("'month'::varchar", ()),
    ],
)
def test_a_unit_that_is_a_value_is_as_good_as_one_that_is_written(
    call: str, unit: str, parameters: Sequence[object] | Mapping[str, object]
) -> None:
    assert tree(call.format(unit), parameters) == tree(call.format("'month'"))


@pytest.mark.parametrize("call", CALLS)
def test_the_name_of_a_parameter_is_never_the_unit(call: str) -> None:
    """`:month` with a year for its value was cut to months."""
    assert tree(call.format(":month"), {"month": "year"}) == tree(call.format("'year'"))
    for value in (5, None, "no unit", "1; DROP"):
        assert "MONTH" not in tree(call.format(":month"), {"month": value}).upper().replace("THIS=MONTH", "")


def test_parameters_keep_their_order_beside_a_unit() -> None:
    asked = "DP-SELECT 1 COUNT(*) FROM t WHERE DATE_TRUNC(?, day) > ? AND x = ?"
    read = parse(asked, ["month", "2025-01-01", 3])
    assert read.select.sql().endswith("> :2 AND x = :3")


def test_a_column_or_a_date_that_comes_first_stays() -> None:
    assert tree("DATE_DIFF(?, day, MONTH)", ["2025-01-01"]) != tree("DATE_DIFF('month', day, x)")
    assert tree("s.DATE_TRUNC(?, day)", ["month"]).count("Placeholder") == 1


@pytest.mark.parametrize(
    ("zoned", "zoneless"),
    [
        ("CAST(CURRENT_DATE AS TIMESTAMPTZ)", "CAST(CURRENT_DATE AS TIMESTAMP)"),
        ("TIMESTAMPTZ '2025-03-01 02:00:00+02:00'", "TIMESTAMP '2025-03-01 00:00:00'"),
        ("TIMESTAMP WITH TIME ZONE '2025-03-01'", "TIMESTAMP '2025-03-01'"),
        ("TO_TIMESTAMP('01.03.2025 12:30', 'DD.MM.YYYY HH24:MI')", "TIMESTAMP '2025-03-01 12:30:00'"),
    ],
)
def test_a_constant_that_is_compared_needs_no_zone(zoned: str, zoneless: str) -> None:
    for compared in ("at > {}", "at BETWEEN {} AND ({})", "NOT at <> ({})"):
        asked = f"DP-SELECT 1 COUNT(*) FROM t WHERE {compared}"
        zoned_sql, zoneless_sql = (parse(asked.format(*[each] * 2)).select.sql("duckdb") for each in (zoned, zoneless))
        assert zoned_sql == zoneless_sql


@pytest.mark.parametrize(
    "zoned",
    ["CAST(at AS TIMESTAMPTZ) > x", "x > CAST(? AS TIMESTAMPTZ)", "x > TIMESTAMPTZ '2025-03-01' AT TIME ZONE 'UTC'"],
)
def test_a_zone_that_means_something_stays(zoned: str) -> None:
    asked = f"DP-SELECT 1 COUNT(*) FROM t WHERE {zoned}"
    assert "TIMESTAMPTZ" in parse(asked, ["2025-03-01"][: zoned.count("?")]).select.sql("duckdb")


def test_a_text_that_is_no_moment_of_its_picture_is_refused_by_name() -> None:
    for written in ("TO_TIMESTAMP('1 March', 'YYYY-MM-DD')", "TO_TIMESTAMP(x, 'YYYY')"):
        assert "TO_TIMESTAMP(" in parse(f"DP-SELECT 1 COUNT(*) FROM t WHERE at > {written}").select.sql()
