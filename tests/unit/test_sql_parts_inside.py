"""Parts of a date that a subquery gives away: those alone that the date's bounds leave are public keys outside."""

from __future__ import annotations

import pytest

from conformance.sql_lists import day, world_with
from tacit.curator import Session

_SINCE = "DATE '2024-02-01' + (i % 120)::INTEGER AS since"
ROWS = f"CREATE TABLE stays AS SELECT i % 40 AS person, {_SINCE} FROM range(400) t(i)"


@pytest.mark.parametrize(
    ("part", "keys"), [("QUARTER(since)", [1, 2]), ("MONTH(since)", [2, 3, 4, 5]), ("YEAR(since)", [2024])]
)
def test_a_part_of_a_date_has_the_values_that_its_bounds_leave(part, keys, tmp_path):
    private = {"stays": ("person", [day("since", "2024-02-01", "2024-05-31")])}
    curator = world_with(private, [], [ROWS], caps={"max_groups": 5, "max_rows": 20}).curator(tmp_path)
    asked = f"DP-SELECT 50 k, COUNT(*) AS n FROM (SELECT {part} AS k FROM stays) AS t GROUP BY k ORDER BY k"
    assert [row[0] for row in curator.ask(asked, session=Session("ana")).rows] == keys
