"""What is said of answers that are chosen, thresholded or made of next to nothing holds as often as it says.

Noise of one plan is drawn many times. A share of what holds is compared with the promise by Chernoff's bound at a
false-alarm rate of 1e-9; each kind has a twin that is too narrow, and must be noticed.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import World, policy_of, world
from support.sources import Seeded
from tacit.curator import answer as answering
from tacit.curator.answer import AnswerTable, answer
from tacit.curator.explaining.explain import accuracy_notes
from tacit.curator.measuring.measure import measure
from tacit.curator.measuring.ranks import rank_error
from tacit.engines import Exact
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import Plan

FALSE_ALARM, PROMISED = 1e-9, 0.95


def p_value(held: list[bool], *, promised: float = PROMISED) -> float:
    """The chance of no more of them, were it `promised`, by Chernoff's bound."""
    found = sum(held) / len(held)
    if found >= promised:
        return 1.0
    divergence = (found * math.log(found / promised) if found else 0.0) + (1 - found) * math.log(
        (1 - found) / (1 - promised)
    )
    return math.exp(-len(held) * divergence)


def drawn(plan: Plan, exact: list[Exact], seed: int) -> AnswerTable:
    return answer(plan, measure(plan, exact, public={}, source=Seeded(seed)))


# ── private keys, shown for the very number that is shown ───────────────────────────────────────────────────────────

SIZES = (2, 6, 9, 12, 14, 16, 20, 40)


@functools.cache
def towns() -> World:
    """Sixty towns of each size. Nobody has listed them."""
    counts = ", ".join(f"({size})" for size in SIZES)
    columns = [ColumnPolicy("town"), ColumnPolicy("x", lower=0, upper=5, step=1)]
    return world(
        policy_of([TablePolicy("v", "row", columns=columns)]),
        f"""CREATE TABLE v AS SELECT 's' || size || '_' || copy AS town, 3 AS x FROM (VALUES {counts}) AS s(size),
        range(60) AS c(copy), range(40) AS r(row) WHERE row < size""",
    )


def shown_towns(price: str, asked: str = "COUNT(*)") -> dict[int, list[bool]]:
    """For each size, whether the intervals of those that were shown hold it."""
    plan = towns().plan(f"DP-SELECT {price} town, {asked} FROM v GROUP BY town")
    held: dict[int, list[bool]] = {size: [] for size in SIZES}
    exact = towns().exact(plan)
    for seed in range(150):
        table = drawn(plan, exact, seed)
        for (town, value), (_, width) in zip(table.rows, table.errors, strict=True):
            size = int(town[1:].partition("_")[0])
            truth = size if asked == "COUNT(*)" else 3.0
            held[size].append(width is None or abs(value - truth) <= width + 1e-9)
    return held


@pytest.mark.parametrize("price", ["1 DELTA 1e-3", "1 DELTA 1e-6", "4 DELTA 1e-6", "0.5 DELTA 1e-2"])
def test_the_interval_of_a_key_that_is_shown_holds_its_number(price):
    held = {size: each for size, each in shown_towns(price).items() if each}
    together = [one for each in held.values() for one in each]
    for some in (*held.values(), together):
        assert p_value(some) > FALSE_ALARM, (sum(some), len(some))


def test_of_what_is_made_of_it_too():
    held = [one for each in shown_towns("2 DELTA 1e-3", "AVG(x)").values() for one in each]
    assert p_value(held) > FALSE_ALARM


def test_an_interval_that_forgets_the_threshold_is_noticed(monkeypatch):
    """Planted: noise that raised a number above the threshold is taken for any other."""
    monkeypatch.setattr(answering, "_given_shown", lambda band, *_: band)
    held = shown_towns("1 DELTA 1e-3")
    assert min(p_value(each) for each in held.values() if each) < FALSE_ALARM


# ── values that are chosen, where most of them lie at an end ─────────────────────────────────────────────────────────

LYING = {
    "at the low end": "0",
    "at the high end": "100",
    "at both": "i % 2 * 100",
    "spread": "i % 101",
    "two": "i // 99",
}


@functools.cache
def lying(where: str) -> World:
    columns = [
        ColumnPolicy("x", type="integer", lower=0, upper=100, step=1),
        ColumnPolicy("k", domain=["a", "b", "c"]),
    ]
    cells = f"({LYING[where]})::INTEGER AS x, ['a', 'a', 'b'][1 + i % 3] AS k"
    return world(
        policy_of([TablePolicy("v", "row", columns=columns)]),
        f"CREATE TABLE v AS SELECT {cells} FROM range(200) AS r(i)",
    )


def ranks_off(where: str, asked: str, share: float, *, price: str = "0.5") -> tuple[list[float], float]:
    """How many rows the chosen value is from the wanted rank in each draw, and how many it may be."""
    made = lying(where)
    plan = made.plan(f"DP-SELECT {price} {asked} FROM v")
    values = np.array([row[0] for row in made.engine._connection.cursor().execute("SELECT x FROM v").fetchall()])
    (measured,) = plan.measurements
    allowed = rank_error(measured.measure, measured.choice, cells=measured.measure.cells, confidence=plan.confidence)
    wanted, off, exact = share * values.size, [], made.exact(plan)
    for seed in range(400):
        value = float(drawn(plan, exact, seed).rows[0][0])
        below, not_above = np.sum(values < value), np.sum(values <= value)
        off.append(max(below - wanted, wanted - not_above, 0.0))
    return off, allowed


@pytest.mark.parametrize("where", LYING)
@pytest.mark.parametrize(
    ("asked", "share"), [("MEDIAN(x)", 0.5), ("QUANTILE_CONT(x, 0.02)", 0.02), ("QUANTILE_CONT(x, 0.99)", 0.99)]
)
def test_a_quantile_is_no_more_ranks_off_than_is_said(where, asked, share):
    off, allowed = ranks_off(where, asked, share)
    assert p_value([each <= allowed for each in off]) > FALSE_ALARM


def test_ranks_that_are_too_few_are_noticed():
    """A quarter of what is said: the bound is that of the worst table, and this one is not it."""
    off, allowed = ranks_off("spread", "MEDIAN(x)", 0.5)
    assert p_value([each <= allowed / 4 for each in off]) < FALSE_ALARM


@pytest.mark.parametrize("asked", ["MODE(k)", "HISTOGRAM(k)"])
def test_what_is_chosen_or_counted_is_no_further_off_than_the_note_says(asked):
    made = lying("spread")
    plan = made.plan(f"DP-SELECT 0.1 {asked} FROM v")
    exact, (note,) = made.exact(plan), accuracy_notes(plan)
    allowed = int(note.split(" at most ")[1].split()[0].strip(",").replace(",", ""))
    rows = dict(made.engine._connection.cursor().execute("SELECT k, COUNT(*) FROM v GROUP BY k").fetchall())
    held, half = [], []
    for seed in range(400):
        cell = drawn(plan, exact, seed).rows[0][0]
        if asked == "MODE(k)":
            off = [max(rows.values()) - rows.get(cell, 0)]
        else:
            off = [abs(count - rows.get(key, 0)) for key, count in cell.items()]
        held += [each <= allowed for each in off]
        half += [each <= 0.4 * allowed for each in off]
    assert p_value(held) > FALSE_ALARM
    assert asked == "MODE(k)" or p_value(half) < FALSE_ALARM  # of a choice the bound is that of the worst table


# ── next to nothing ──────────────────────────────────────────────────────────────────────────────────────────────────


@functools.cache
def few() -> World:
    """Groups of no rows, one, three and thirty, of four people with up to thirty values each."""
    columns = [
        ColumnPolicy("g", domain=list("abcd")),
        ColumnPolicy("who", type="integer"),
        ColumnPolicy("x", type="integer", lower=0, upper=10, step=1),
    ]
    rows = """CREATE TABLE v AS SELECT g, row % 4 AS who, row * 7 % 11 AS x
    FROM (VALUES ('b', 1), ('c', 3), ('d', 30)) AS s(g, size), range(30) AS r(row) WHERE row < size"""
    table = TablePolicy("v", "who", columns=columns, max_rows=10, max_groups=4, max_distinct=11)
    return world(policy_of([table]), rows)


SMALL = [
    "AVG(x)",
    "SUM(x) / COUNT(*)",
    "SUM(x) / COUNT(DISTINCT who)",
    "COUNT(*) * 1.0 / COUNT(DISTINCT who)",
    "STDDEV_POP(x)",
    "COUNT(DISTINCT who)",
    "COUNT(DISTINCT x)",
    "SUM(x) - COUNT(*)",
    "COUNT(*) + COUNT(DISTINCT who) + SUM(x)",
]


def small(asked: str, price: str, *, factor: float = 1.0) -> list[bool]:
    plan = few().plan(f"DP-SELECT {price} g, {asked} FROM v GROUP BY g")
    exact = few().exact(plan)
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        truth = drawn(plan, exact, 0)
    held = []
    for seed in range(1, 150):
        table = drawn(plan, exact, seed)
        for (_, value), (_, width), (_, sure) in zip(table.rows, table.errors, truth.rows, strict=True):
            if value is not None and width is not None and sure is not None:
                held.append(abs(float(value) - float(sure)) <= width * factor * (1 + 1e-9) + 1e-9)
    return held


@pytest.mark.parametrize("asked", SMALL)
@pytest.mark.parametrize("price", ["1", "10"])
def test_an_interval_over_next_to_nothing_holds_the_truth(asked, price):
    held = small(asked, price)
    assert not held or p_value(held) > FALSE_ALARM, sum(held) / len(held)


@pytest.mark.parametrize("asked", ["COUNT(DISTINCT who)", "COUNT(DISTINCT x)", "SUM(x) - COUNT(*)"])
def test_one_that_is_too_narrow_is_noticed(asked):
    assert p_value(small(asked, "1", factor=0.6)) < FALSE_ALARM
