"""Frames by values: what they are ordered by is moved by the engine itself, and no row may fail there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.sql_world import World, policy_of, world
from tacit.errors import EngineError, QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.relations.deriving import frames

END = 2**62  # the farthest that a bound may be
FAR = f"RANGE BETWEEN {frames._LONGEST - 1} PRECEDING AND {frames._LONGEST - 1} FOLLOWING"
ORDERED = (
    "x", "-x", f"x - {END}", f"x + {END - 1}", f"-x - {END}", "x + y", "ABS(x) * 2 - 1", "COALESCE(x, 0) + y",
    f"GREATEST(x, y) + {END - 1}", f"LEAST(x, 5) - {END}", f"CASE WHEN x > 5 THEN x + {END - 1} ELSE -{END} END",
)  # fmt: skip


@pytest.fixture(scope="module")
def extremes() -> Iterator[World]:
    bounds = {"lower": -END, "upper": END, "step": 1}
    moment = ColumnPolicy("at", type="timestamp", lower="0001-01-01", upper="9999-12-31", step="1s")
    columns = [ColumnPolicy("x", **bounds), ColumnPolicy("y", **bounds), moment]
    cells = f"(-{END}, -{END}, '-infinity'), ({END}, {END}, 'infinity'), (NULL, 0, NULL), (-{2**63}, {2**63 - 1}, NULL)"
    cast = 'x::BIGINT AS x, y::BIGINT AS y, "at"::TIMESTAMP AS "at"'
    table = f'CREATE TABLE t AS SELECT 1 AS id, {cast} FROM (VALUES {cells}) AS m(x, y, "at")'
    made = world(policy_of([TablePolicy("t", "id", columns=columns, max_groups=3, max_rows=5)]), table)
    yield made
    made.engine.close()


def _rows(there: World, order: str, frame: str) -> int:
    inside = f"SELECT COUNT(*) OVER (PARTITION BY id ORDER BY {order} {frame}) AS k FROM t"
    (exact,) = there.exact(there.plan(f"DP-SELECT 1 COUNT(*) FROM ({inside}) AS q WHERE k >= 1"))
    return int(exact.integers("m0")[0])


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("order", ORDERED)
def test_no_row_at_the_end_of_its_type_fails(order: str, direction: str, extremes: World) -> None:
    assert _rows(extremes, f"{order} {direction}", FAR) == 4


@pytest.mark.parametrize("days", [0, 30, 3_650_000])
def test_nor_does_a_moment(days: int, extremes: World) -> None:
    assert (
        _rows(extremes, '"at"', f"RANGE BETWEEN INTERVAL {days} DAY PRECEDING AND INTERVAL {days} DAY FOLLOWING") == 4
    )


def test_a_frame_that_reaches_farther_than_a_number_may_is_refused(extremes: World) -> None:
    with pytest.raises(QueryRefused, match="such a frame"):
        _rows(extremes, "x", f"RANGE BETWEEN {frames._LONGEST} PRECEDING AND CURRENT ROW")


def test_a_frame_that_reaches_too_far_is_noticed(extremes: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: any length is taken."""
    monkeypatch.setattr(frames, "_LONGEST", 2**63)
    with pytest.raises(EngineError):
        _rows(extremes, "x", f"RANGE BETWEEN {2**63 - 1} PRECEDING AND CURRENT ROW")
