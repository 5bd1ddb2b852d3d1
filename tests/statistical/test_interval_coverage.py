"""Error bars hold what the answer would be without noise at least 93 times in a hundred, whatever is made of sums.

The noise of one plan is drawn a hundred times over four groups. False alarm 1e-9, by Chernoff's bound: of 400 intervals
333 must hold the truth, so that a bar which holds it three times in four is noticed all but once in a thousand runs.
"""

from __future__ import annotations

import functools
import math
from datetime import date, datetime

import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import World, policy_of, world
from support.sources import Seeded
from tacit.curator.answer import AnswerTable, answer
from tacit.curator.measuring.measure import measure
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import Plan

FALSE_ALARM = 1e-9
DRAWS = 100
PROMISED = 0.93
PLAIN = ("COUNT(*)", "SUM(x)", "SQRT(SUM(y))", "COUNT_IF(x > 5)")  # whose bars are as narrow as they can be
MADE = (
    *("AVG(x)", "SUM(x) / COUNT(*)", "SUM(x) / SUM(y)", "SUM(x) - 2 * SUM(y)", "SUM(x) * COUNT(*)", "AVG(x) / AVG(y)"),
    *("STDDEV_SAMP(x)", "VAR_POP(x)", "STDDEV_SAMP(x) / AVG(x)", "SKEWNESS(x)", "KURTOSIS(x)", "GEOMEAN(x + 1)"),
    *("CORR(x, y)", "COVAR_POP(x, y)", "COVAR_SAMP(x, y)", "REGR_SLOPE(y, x)", "REGR_INTERCEPT(y, x)", "REGR_R2(y, x)"),
    *("REGR_SXY(y, x)", "REGR_AVGX(y, x)", "WEIGHTED_AVG(x, y)", "AVG(d)", "AVG(t)", "AVG((x > 5)::INT)"),
    *("COUNT(*) FILTER (WHERE x > 5) * 100.0 / COUNT(*)", "AVG(LN(y + 1))", "ROUND(AVG(x), 1)"),
    "ABS(SUM(x) - 2 * SUM(y))",
)


@functools.cache
def table() -> World:
    """Two thousand rows in four groups."""
    columns = [
        ColumnPolicy("g", domain=list("abcd")),
        ColumnPolicy("x", lower=0, upper=10, step="0.1"),
        ColumnPolicy("y", lower=0, upper=20, step="0.5"),
        ColumnPolicy("d", type="date", lower="2024-01-01", upper="2024-12-31"),
        ColumnPolicy("t", type="timestamp", lower="2024-01-01", upper="2024-12-31 23:00:00", step="1h"),
    ]
    return world(
        policy_of([TablePolicy("v", "row", columns=columns)]),
        """CREATE TABLE v AS SELECT ['a', 'b', 'c', 'd'][1 + i % 4] AS g, (i * 37 % 101) / 10.0 AS x,
        LEAST(20, (i * 37 % 101) / 10.0 + (i * 13 % 21) * 0.5) AS y, DATE '2024-01-01' + (i * 71 % 366)::INTEGER AS d,
        TIMESTAMP '2024-01-01' + to_hours(i * 97 % 8760) AS t FROM range(2000) AS made(i)""",
    )


def released(made: Plan, exact: list, number: int) -> AnswerTable:
    return answer(made, measure(made, exact, public={}, source=Seeded(number)))


def apart(one: object, other: object) -> float:
    """How far one cell is from another: in seconds between times, in days between dates."""
    if isinstance(one, datetime) and isinstance(other, datetime):
        return abs((one - other).total_seconds())
    if isinstance(one, date) and isinstance(other, date):
        return abs((one - other).days)
    return abs(float(one) - float(other))  # type: ignore[arg-type]  # numbers


def intervals(asked: str, epsilon: str, *, factor: float = 1.0) -> list[bool]:
    """Whether each bar that is shown, `factor` times as wide, holds the answer without noise."""
    made = table().plan(f"DP-SELECT {epsilon} g, {asked} FROM v GROUP BY g")
    exact = table().exact(made)
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        truth = released(made, exact, 0)
    found = []
    for number in range(DRAWS):
        drawn = released(made, exact, number + 1)
        for (_, value), (_, width), (_, sure) in zip(drawn.rows, drawn.errors, truth.rows, strict=True):
            if width is not None and value is not None:
                found.append(apart(value, sure) <= width * factor * (1 + 1e-9) + 1e-9)
    return found


def p_value(held: list[bool]) -> float:
    """The chance of no more of them, were it `PROMISED`, by Chernoff's bound."""
    share, found = PROMISED, sum(held) / len(held)
    if found >= share:
        return 1.0
    divergence = (found * math.log(found / share) if found else 0.0) + (1 - found) * math.log((1 - found) / (1 - share))
    return math.exp(-len(held) * divergence)


@pytest.mark.parametrize("asked", [*PLAIN, *MADE])
def test_a_bar_holds_the_truth_as_often_as_it_says(asked):
    held = intervals(asked, "1")
    assert len(held) >= 2 * DRAWS
    assert p_value(held) > FALSE_ALARM, sum(held) / len(held)
    harsh = intervals(asked, "0.1")  # bars are wide, or not shown, where a divisor may be anything
    assert not harsh or p_value(harsh) > FALSE_ALARM, sum(harsh) / len(harsh)


@pytest.mark.parametrize("asked", PLAIN)
def test_a_bar_that_is_too_narrow_is_noticed(asked):
    assert p_value(intervals(asked, "0.1", factor=0.4)) < FALSE_ALARM


@pytest.mark.parametrize(
    ("asked", "factor"),
    [
        ("AVG(x)", 0.5),
        ("SUM(x) / COUNT(*)", 0.5),
        ("SUM(x) / SUM(y)", 0.5),
        ("STDDEV_SAMP(x)", 0.4),
        ("VAR_POP(x)", 0.4),
    ],
)
def test_bars_of_quotients_are_hardly_wider_than_they_need_be(asked, factor):
    """Half as wide they hold too little: that of a box around two noisy numbers, or three, would hold enough."""
    assert p_value(intervals(asked, "1", factor=factor)) < FALSE_ALARM
