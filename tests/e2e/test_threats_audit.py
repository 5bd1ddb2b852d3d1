"""A and H2, from outside: what whole answers give away, counted over tens of thousands of them.

Two neighbouring tables are read by the engine, each once; what a stranger sees is then made again and again. An event
fixed beforehand is counted on either side, and Clopper and Pearson's bounds certify an epsilon from below: above the
epsilon that was typed with probability at most 1e-6 a case. Every case has its faults, which must be noticed.

Many answers are made in one pass: each exact row is copied under a further key, the number of the run. Groups get their
noise independently of each other, so each run is an answer of its own; the first test holds this to the curator's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from conformance.sql_world import World, policy_of, world
from support.sources import Seeded
from tacit.attack import certified
from tacit.core import Adjacency
from tacit.curator import Session
from tacit.curator.answer import answer
from tacit.curator.measuring.measure import measure
from tacit.engines import Exact
from tacit.mechanisms import Exponential, Laplace, PermuteAndFlip
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import Output, Plan
from tacit.sql.expressions.keys import Key

COLUMNS = [
    ColumnPolicy("x", lower=0, upper=10, step="0.5", null=0),
    ColumnPolicy("level", lower=0, upper=20, step=1),
    ColumnPolicy("dept", domain=["A", "B", "C", "D"]),
    ColumnPolicy("kind", domain=["a", "b"]),
    ColumnPolicy("town"),
]
NAMES = {"uid": 0, "x": 5.0, "level": 0, "dept": "A", "kind": "b", "town": "Ulm"}

Row = dict[str, object]
Shown = Mapping[tuple[object, ...], tuple[object, ...]]  # one answer: values by key
Event = Callable[[Shown, Shown], bool]  # of an answer, and of what the unit changes: the groups as they then truly are


def rows(count: int, **values: object) -> list[Row]:
    """Rows of different people, alike but for their unit."""
    return [{**NAMES, "uid": 100 + place, **values} for place in range(count)]


def beyond(shown: Shown, aim: Shown) -> bool:
    """Every number that the unit changes is at least what it truly is with the unit."""
    return all(key in shown and shown[key][0] >= true for key, (true, *_) in aim.items())  # type: ignore[operator]


@dataclass(frozen=True)
class Case:
    """A question, a table, and what one unit adds to it."""

    name: str
    text: str  # the columns of the answer: keys first, then values
    here: list[Row]
    added: list[Row]
    keys: int = 0
    event: Event = beyond
    runs: int = 25_000
    least: float = 0.7  # what the audit must certify of an honest answer: an event that tells nothing finds nothing
    delta: float = 0.0
    table: Mapping[str, Any] | None = None  # of the policy
    dataset: Mapping[str, Any] | None = None
    removed: int = 0  # rows of `here` that the neighbour lacks, where a unit is replaced

    def over(self, *, there: bool, **table: object) -> World:
        kept = self.here[self.removed :] + self.added if there else self.here
        cells = ", ".join(f"({', '.join(_literal(row[name]) for name in NAMES)})" for row in kept)
        made = TablePolicy("t", **{"unit": "row", "columns": COLUMNS, **(self.table or {}), **table})
        return world(
            policy_of([made], **(self.dataset or {})),
            "CREATE TABLE t (uid INTEGER, x DOUBLE, level INTEGER, dept VARCHAR, kind VARCHAR, town VARCHAR)",
            f"INSERT INTO t VALUES {cells}",
        )


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


PER_UNIT = {"unit": "uid", "max_groups": 2, "max_rows": 1}
HEAVY = [{**NAMES, "uid": 1, "dept": dept} for dept in "ABC" for _ in range(2)]  # two rows in each of three groups
CASES = [
    Case("count", "COUNT(*)", rows(3), rows(1)),
    Case("sum", "SUM(x)", rows(2), rows(1, x=10.0)),
    Case(
        "average",
        "AVG(x), COUNT(*)",
        rows(20),
        rows(1, x=10.0),
        event=lambda shown, _: shown[()][1] >= 21 and (shown[()][0] - 5) * shown[()][1] >= 5 - 1e-9,  # type: ignore[operator]
    ),
    Case("key", "town, COUNT(*)", rows(9), rows(1), keys=1, delta=0.02),
    Case(
        "median", "MEDIAN(level)", rows(1), rows(1, level=1), event=lambda s, _: s[()] == (1,), runs=13_000, least=0.5
    ),
    Case("mode", "MODE(kind)", rows(1), rows(1, kind="a"), event=lambda s, _: s[()] == ("a",), runs=6_000),
    Case("sampled", "dept, COUNT(*)", rows(3), HEAVY, keys=1, table={**PER_UNIT, "bounding": "sample"}),
    Case("weighed", "dept, COUNT(*)", rows(3), HEAVY, keys=1, table={**PER_UNIT, "bounding": "weigh"}),
    Case(
        "replaced",
        "dept, COUNT(*)",
        rows(1),
        rows(1, dept="B"),
        keys=1,
        removed=1,
        event=lambda s, _: s["A",][0] <= 0 and s["B",][0] >= 1,  # type: ignore[operator]
        dataset={"adjacency": Adjacency.REPLACE},
    ),
]


def planned(case: Case, over: World) -> Plan:
    grouping = f"GROUP BY {case.text.split(',')[0]}" if case.keys else ""
    delta = f"DELTA {case.delta}" if case.delta else ""
    return over.plan(f"DP-SELECT 1 {delta} {case.text} FROM t {grouping}")


def answers(made: Plan, exact: list[Exact], *, keys: int, runs: int, seed: int) -> list[Shown]:
    """What a stranger sees, `runs` times over."""
    place = len(made.keys)
    numbered = replace(
        made,
        keys=(*made.keys, Key(exp.column("run"), None, tuple(range(runs)))),
        outputs=(*made.outputs, Output("run", key=place)),
    )
    noisy = measure(numbered, [_copied(e, f"k{place}", runs) for e in exact], public={}, source=Seeded(seed))
    seen: list[dict[tuple[object, ...], tuple[object, ...]]] = [{} for _ in range(runs)]
    for row in answer(numbered, noisy).rows:
        seen[row[-1]][row[:keys]] = row[keys:-1]  # type: ignore[index]
    return list(seen)


def _copied(exact: Exact, name: str, runs: int) -> Exact:
    columns: dict[str, Any] = {}
    for column in exact.names:
        values = exact.keys(column)
        numbers = bool(values) and all(type(value) is int for value in values)
        columns[column] = np.tile(np.array(values, dtype=np.int64), runs) if numbers else values * runs
    return Exact({**columns, name: np.repeat(np.arange(runs), exact.rows)})


def epsilon_seen(case: Case, plans: tuple[Plan, Plan], exact: tuple[list[Exact], list[Exact]]) -> float:
    """The epsilon that the event certifies, by the plans and exact numbers of the two sides."""
    base, true = (_true(case, made, found) for made, found in zip(plans, exact, strict=True))
    aim = {key: values for key, values in true.items() if values != base.get(key)}
    counts = []
    for side in (0, 1):
        seen = answers(plans[side], exact[side], keys=case.keys, runs=case.runs, seed=side + len(case.name))
        counts.append(sum(case.event(shown, aim) for shown in seen))
    return certified(counts[1], counts[0], draws=case.runs, delta=case.delta)


def _true(case: Case, made: Plan, exact: list[Exact]) -> Shown:
    """The answer with noise too small to see."""
    still = replace(made, measurements=tuple(replace(m, noise=_still(m.noise)) for m in made.measurements))
    (shown,) = answers(still, exact, keys=case.keys, runs=1, seed=0)
    return shown


def _still(noise: Any) -> Any:
    return Laplace("1e-3") if isinstance(noise, Laplace) else noise


def sides(case: Case, **table: object) -> tuple[tuple[Plan, Plan], tuple[list[Exact], list[Exact]]]:
    here, there = (case.over(there=there, **table) for there in (False, True))
    plans = planned(case, here), planned(case, there)
    return plans, (here.exact(plans[0]), there.exact(plans[1]))


@pytest.fixture(scope="module", params=CASES, ids=[case.name for case in CASES])
def case(request):
    return request.param


def test_an_answer_of_many_is_the_curator_s_own(case, tmp_path):
    over = case.over(there=True)
    made = planned(case, over)
    (shown,) = answers(made, over.exact(made), keys=case.keys, runs=1, seed=7)
    grouping = f"GROUP BY {case.text.split(',')[0]}" if case.keys else ""
    delta = f"DELTA {case.delta}" if case.delta else ""
    curator = over.curator(tmp_path, source=Seeded(7))
    asked = curator.ask(f"DP-SELECT 1 {delta} {case.text} FROM t {grouping}", session=Session("ana"))
    assert shown == {row[: case.keys]: row[case.keys :] for row in asked.rows}


def test_an_answer_gives_away_no_more_than_it_costs(case):
    plans, exact = sides(case)
    assert case.least < epsilon_seen(case, plans, exact) <= 1


def halved(made: Plan) -> Plan:
    """The same plan with half the noise it pays for."""
    return replace(made, measurements=tuple(replace(m, noise=_sharper(m.noise)) for m in made.measurements))


def _sharper(noise: Any) -> Any:
    if isinstance(noise, Laplace):
        return Laplace(noise.scale / 2)
    assert isinstance(noise, (Exponential, PermuteAndFlip))
    return replace(noise, rate=noise.rate * 2)


def test_half_the_noise_is_noticed(case):
    plans, exact = sides(case)
    assert epsilon_seen(case, (halved(plans[0]), halved(plans[1])), exact) > 1


@pytest.mark.parametrize("name", ["sampled", "weighed"])
@pytest.mark.parametrize("unbounded", [{"max_groups": 3}, {"max_rows": 2}, {"max_groups": 3, "max_rows": 2}])
def test_a_unit_that_counts_for_more_than_its_share_is_noticed(name, unbounded):
    """The noise is that of the plan; the exact numbers those of a query that forgot a bound."""
    case = next(case for case in CASES if case.name == name)
    plans, _ = sides(case)
    _, loose = sides(case, **unbounded)
    assert epsilon_seen(case, plans, loose) > 1


# ── H2: a key that one person alone holds ────────────────────────────────────────────────────────────────────────────


LONE = Case("lone key", "town, COUNT(*)", rows(1), rows(1, town="Zug"), keys=1, delta=0.02, runs=30_000)


def lone_shown(case: Case, *, lower: int, **table: object) -> float:
    """The epsilon certified beyond delta, when the key of one unit is shown; the threshold is `lower` than planned."""
    (here, there), exact = sides(case, **table)
    plans = []
    for made in (here, there):
        assert made.selection is not None
        plans.append(replace(made, selection=replace(made.selection, threshold=made.selection.threshold - lower)))
    event = replace(case, event=lambda shown, _: any(key[0] != "Ulm" for key in shown))
    return epsilon_seen(event, (plans[0], plans[1]), exact)


@pytest.mark.parametrize("table", [{}, {**PER_UNIT, "bounding": "sample"}, {**PER_UNIT, "bounding": "weigh"}])
def test_a_lone_key_is_shown_with_probability_at_most_delta(table):
    assert lone_shown(LONE, lower=0, **table) == 0


def test_all_the_lone_keys_of_one_unit_are_shown_with_probability_at_most_delta():
    several = replace(LONE, added=[{**NAMES, "uid": 1, "town": town} for town in ("Zug", "Bonn", "Rom")])
    assert lone_shown(several, lower=0, **PER_UNIT, bounding="sample") == 0
    assert lone_shown(several, lower=4, **PER_UNIT, bounding="sample") > 1


def test_a_threshold_one_too_low_is_noticed():
    assert lone_shown(LONE, lower=1) > 1
