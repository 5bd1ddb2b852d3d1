"""Parts of a date that a subquery gives away: those alone that the date's bounds leave are public keys outside."""

from __future__ import annotations

import pytest

from conformance.sql_lists import world_with
from tacit.curator import Session
from tacit.policy import ColumnPolicy

_SINCE = "DATE '2024-02-01' + (i % 120)::INTEGER AS since"
ROWS = f"CREATE TABLE stays AS SELECT i % 40 AS person, {_SINCE} FROM range(400) t(i)"


@pytest.mark.parametrize(
    ("part", "upper", "keys"),
    [
        ("QUARTER(since)", "2024-05-31", [1, 2]),
        ("MONTH(since)", "2024-05-31", [2, 3, 4, 5]),
        ("MONTH(since)", "2024-02-29", [2]),
        ("DAY(since)", "2024-02-07", list(range(1, 8))),
        ("YEAR(since)", "2024-05-31", [2024]),
    ],
)
def test_a_part_of_a_date_has_the_values_that_its_bounds_leave(part, upper, keys, tmp_path):
    private = {"stays": ("person", [ColumnPolicy("since", type="date", lower="2024-02-01", upper=upper)])}
    curator = world_with(private, [], [ROWS], caps={"max_groups": 5, "max_rows": 20}).curator(tmp_path)
    asked = f"DP-SELECT 50 k, COUNT(*) AS n FROM (SELECT {part} AS k FROM stays) AS t GROUP BY k ORDER BY k"
    assert [row[0] for row in curator.ask(asked, session=Session("ana")).rows] == keys
