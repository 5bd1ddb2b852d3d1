"""Hierarchical counts: consistent at every level, as good as least squares can be, and refused in clear words."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.places import COLUMNS, PLACES, Person, people, policy
from support.sources import Seeded
from support.synthetic import publisher
from tacit.accounting import zcdp_to_dp
from tacit.core import Loss
from tacit.errors import BudgetExceeded, EngineError, InvalidParameter, TacitError
from tacit.noise import IntArray
from tacit.policy import BudgetPolicy, ColumnPolicy
from tacit.release.hierarchies import HierarchicalCounts, HierarchyRequest
from tacit.release.hierarchies.least_squares import fitted_levels
from tacit.release.hierarchies.measuring import HierarchyPlan, consistent
from tacit.release.hierarchies.request import shares_of_levels
from tacit.release.hierarchies.tree import PlaceTree, tree_of
from tacit.release.hierarchies.whole import shared_out, table_with_margins, whole_levels
from tacit.release.publishing import Publication

LEVELS = ("country", "region")
CENSUS = (104, 1440, 447, 687, 1256, 165)  # of 4099 parts of rho: nation, state, county, tract, block group, block


def counted(base: Path, data: list[Person], **declared: object) -> Publication[HierarchicalCounts]:
    asked = declared.pop("asked", {})
    made = policy(base, data, **declared)  # type: ignore[arg-type]
    wish = {"levels": LEVELS, "by": ("age", "sex"), "epsilon": 1, **asked}  # type: ignore[dict-item]
    with publisher(made) as door:
        return door.publish(HierarchyRequest("people", "town", **wish), made.analyst("ana"))  # type: ignore[arg-type]


def adds_up(counts: HierarchicalCounts) -> bool:
    """Whether every node is the sum of its children, cell by cell, and nothing is negative or broken."""
    for level in range(1, len(counts.levels)):
        above: IntArray = np.zeros_like(counts.counts[level - 1])
        index = {path: place for place, path in enumerate(counts.paths[level - 1])}
        np.add.at(above, [index[path[:-1]] for path in counts.paths[level]], counts.counts[level])
        if not np.array_equal(above, counts.counts[level - 1]):
            return False
    return all(each.dtype == np.int64 and int(each.min()) >= 0 for each in counts.counts)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "50"])
@pytest.mark.parametrize("held", [None, "*", "country", "region", "town"])
def test_every_level_adds_up_and_public_totals_are_exact(tmp_path: Path, epsilon: str, held: str | None) -> None:
    data = people(200)
    adjacency = "add/remove" if held is None else "replace"
    found = counted(tmp_path, data, public_totals=held, adjacency=adjacency, asked={"epsilon": epsilon}).value
    assert adds_up(found)
    assert found.levels == ("all", "country", "region", "town")
    assert list(map(len, found.paths)) == [1, 2, 3, 5]
    exact = {"*": 0, "country": 1, "region": 2, "town": 3}.get(held or "", -1)
    lies = {town: (country, region, town) for town, region, country in (line.split(",") for line in PLACES)}
    for level in range(exact + 1):
        for path in found.paths[level]:
            assert found.total(*path) == sum(lies[str(row[1])][:level] == path for row in data)
        assert not found.error(found.levels[level]).any()
    if exact < 3:
        assert found.error().any(), "what is not held is not exact"


def test_a_level_that_does_not_add_up_would_be_noticed(tmp_path: Path) -> None:
    found = counted(tmp_path, people(200)).value
    found.counts[1][0, 0] += 1
    assert not adds_up(found)


def test_with_much_paid_the_counts_are_the_truth(tmp_path: Path) -> None:
    data = people(400)
    found = counted(tmp_path, data, asked={"epsilon": 5_000}, budget=BudgetPolicy(9_000, "1e-3", default_delta="1e-6"))
    truth: dict[tuple[object, ...], int] = {}
    for _, town, age, sex in data:
        truth[town, age, sex] = truth.get((town, age, sex), 0) + 1
    rows = list(found.value.rows())
    assert len(rows) == 5 * 4 * 2
    assert {row[2:5]: row[5] for row in rows if row[5]} == truth


@pytest.mark.parametrize("data", [[], [(1, "t1", 2, "m")], [(1, None, None, None)], [(1, "elsewhere", 9, "x")]])
def test_an_empty_table_and_one_of_a_single_row_work(tmp_path: Path, data: list[Person]) -> None:
    for held, adjacency in ((None, "add/remove"), ("region", "replace")):
        found = counted(tmp_path, data, public_totals=held, adjacency=adjacency).value
        assert adds_up(found)
        if held:
            assert found.total() == sum(row[1] in {"t1"} for row in data)


ODD = [(9, "t1", 7, "m"), (9, "t1", 2, "x"), (9, None, 2, "m"), (9, "elsewhere", 2, "m")]


@pytest.mark.parametrize(("held", "odd"), [("*", ODD), ("region", ODD[:2])])
def test_public_totals_are_of_all_rows_whatever_they_hold(tmp_path: Path, held: str, odd: list[Person]) -> None:
    """To replace a row by one whose values lie outside of their domains moves no number that leaves without noise."""
    for row in [(9, "t1", 2, "m"), *odd]:
        data = [*people(60), row]
        found = counted(tmp_path, data, public_totals=held, adjacency="replace", asked={"fresh": True}).value
        assert adds_up(found)
        assert found.total() == 61, row
        if held == "region":
            assert found.total("n", "r1") == sum(each[1] in {"t1", "t2"} for each in data)


def test_places_alone_and_a_single_place_work(tmp_path: Path) -> None:
    found = counted(tmp_path, people(300), asked={"levels": (), "by": ()}).value
    assert found.levels == ("all", "town")
    assert adds_up(found)
    one = counted(tmp_path, people(30), places=("t1,r1,n",), asked={"fresh": True}).value
    assert adds_up(one)
    assert list(map(len, one.paths)) == [1, 1, 1, 1]


def test_the_same_again_is_free_and_the_bytes_are_the_same(tmp_path: Path) -> None:
    declared = policy(tmp_path, people(100))

    def asked(epsilon: object, who: str = "ana", **more: object) -> Publication[HierarchicalCounts]:
        with publisher(declared) as door:
            wish = HierarchyRequest("people", "town", epsilon, levels=LEVELS, **more)  # type: ignore[arg-type]
            return door.publish(wish, declared.analyst(who))

    first = asked(1)
    assert (first.cost, first.reused) == (Loss(1, "1e-6"), False)
    again = asked("0.5", "ben")
    assert (again.cost, again.reused, again.entry) == (Loss(0), True, first.entry)
    assert again.value.to_bytes() == first.value.to_bytes()
    assert not asked(1, shares=(1, 2, 3, 4)).reused, "other shares are another release"
    assert not asked(1, fresh=True).reused
    assert not asked("1.5").reused
    with pytest.raises(BudgetExceeded):
        asked("1.75", "ben")
    with pytest.raises(InvalidParameter, match="no hierarchy"):
        HierarchicalCounts.from_bytes(first.value.to_bytes()[:-30])


WRONG: list[tuple[dict[str, object], str, str]] = [
    ({"table": "none"}, "unknown table", ""),
    ({"table": "places"}, "is public", ""),
    ({"place": "who"}, "no listed places", 'add who = { domain = { table = "…", column = "…" } }'),
    ({"place": "age"}, "no listed places", "[tables.people.columns]"),
    ({"place": "sex"}, "nothing says where each sex lies", "public table"),
    ({"place": "nowhere"}, "unknown column", ""),
    ({"levels": ("planet",)}, "no column planet", ""),
    ({"levels": ("region", "region")}, "named twice", ""),
    ({"levels": ("region", "country")}, "", ""),
    ({"by": ("free",)}, "no public domain", 'add free = { domain = ["…"] } to [tables.people.columns]'),
    ({"by": ("town",)}, "named twice", ""),
    ({"by": ("wide", "wider")}, "cells together: at most 2,000,000", "coarser"),
    ({"shares": (1, 2)}, "2 shares for 4 levels", "all, country, region, town"),
    ({"shares": (1, 1, 1, 0)}, "lowest level", ""),
    ({"shares": (1, 1, -1, 1)}, "negative", ""),
    ({"shares": (1, "x", 1, 1)}, "a share", ""),
    ({"epsilon": 0}, "epsilon", ""),
    ({"epsilon": "1e-30", "delta": "1e-30"}, "", ""),
    ({"delta": 0}, "delta", ""),
    ({"epsilon": 101}, "ε", ""),
]


@pytest.mark.parametrize(("asked", "what", "hint"), WRONG)
def test_what_makes_no_sense_is_refused_and_costs_nothing(
    tmp_path: Path, asked: dict[str, object], what: str, hint: str
) -> None:
    more = (
        ColumnPolicy("free", type="text"),
        ColumnPolicy("wide", type="text", domain=[f"v{i}" for i in range(900)]),
        ColumnPolicy("wider", type="text", domain=[f"v{i}" for i in range(900)]),
    )
    declared = policy(tmp_path, [], columns=(*COLUMNS, *more))
    (tmp_path / "people.csv").write_text("who,town,age,sex,free,wide,wider\n1,t1,2,f,SECRET,v1,v2\n")
    wish = {"table": "people", "place": "town", "epsilon": 1, "levels": LEVELS, "by": (), **asked}
    with publisher(declared) as door:
        if asked == {"levels": ("region", "country")}:  # a region lies in one country, so this is a tree as well
            assert adds_up(door.publish(HierarchyRequest(**wish), declared.analyst("ana")).value)  # type: ignore[arg-type]
            return
        with pytest.raises(TacitError) as refused:
            door.publish(HierarchyRequest(**wish), declared.analyst("ana"))  # type: ignore[arg-type]
        assert what in str(refused.value)
        assert hint in refused.value.hint
        assert "SECRET" not in str(refused.value)
        assert all(entry.act == "open" for entry in door.ledger.entries(limit=9))


@pytest.mark.parametrize(
    ("declared", "what"),
    [
        ({"public_totals": "region"}, "need replacement"),
        ({"public_totals": "*", "adjacency": "replace", "unit": "who", "max_rows": 3}, "may have several of them"),
        ({"public_totals": "*", "adjacency": "replace", "unit": "who", "max_rows": 1}, "may have several of them"),
        ({"places": (*PLACES, "t1,r2,n")}, "lies in two places"),
        ({"places": (*PLACES, "t9,,n")}, "lies nowhere"),
        ({"budget": BudgetPolicy(5)}, "pure"),
        ({"budget": BudgetPolicy(5, "1e-6")}, "need a delta"),
    ],
)
def test_a_policy_that_does_not_do_is_refused_and_costs_nothing(
    tmp_path: Path, declared: dict[str, object], what: str
) -> None:
    made = policy(tmp_path, people(9), **declared)  # type: ignore[arg-type]
    with publisher(made) as door:
        with pytest.raises(TacitError, match=what):
            door.publish(HierarchyRequest("people", "town", 1, levels=LEVELS), made.analyst("ana"))
        assert all(entry.act == "open" for entry in door.ledger.entries(limit=9))


def test_what_fails_while_counting_stays_charged_and_tells_nothing(tmp_path: Path) -> None:
    broken = patch("tacit.release.synthesise.counting.execute", side_effect=ValueError("SECRET"))
    with broken, pytest.raises(EngineError, match="the hierarchy could not be computed") as failed:
        counted(tmp_path, people(9))
    assert failed.value.__cause__ is failed.value.__context__ is None
    with publisher(policy(tmp_path, people(9))) as door:
        assert [entry.act for entry in door.ledger.entries(limit=9)] == ["fail", "charge", "open"]


# ── least squares, and whole numbers ─────────────────────────────────────────────────────────────────────────────────

TREES = st.lists(st.integers(0, 3), min_size=4, max_size=9).map(
    lambda above: (np.zeros(4, dtype=np.int64), np.array([0, 1, 2, 3, *above], dtype=np.int64))
)


@given(TREES, st.integers(0, 2**32), st.lists(st.sampled_from([0.5, 1.0, 7.0]), min_size=3, max_size=3))
def test_two_passes_are_the_least_squares_of_all_levels(
    parents: tuple[IntArray, IntArray], seed: int, variances: list[float]
) -> None:
    leaves = parents[1].size
    design = np.vstack([np.ones((1, leaves)), np.eye(4)[parents[1]].T, np.eye(leaves)])
    measured = np.random.default_rng(seed).normal(0, 10, (len(design), 2))
    weights = np.diag(1 / np.repeat(variances, [1, 4, leaves]))
    spread = np.linalg.inv(design.T @ weights @ design)
    best = design @ spread @ design.T @ weights @ measured
    found = fitted_levels(parents, [measured[:1], measured[1:5], measured[5:]], variances)
    assert np.allclose(np.vstack(found.values), best)
    assert np.allclose(np.concatenate(found.variances), np.diag(design @ spread @ design.T))


def test_a_level_that_is_exact_stays_and_one_that_was_not_seen_is_a_sum() -> None:
    parents = [np.zeros(2, dtype=np.int64), np.array([0, 0, 1])]
    measured = [np.array([[9.0]]), np.array([[100.0], [100.0]]), np.array([[1.0], [2.0], [3.0]])]
    found = fitted_levels(parents, measured, [0.0, np.inf, 1.0])
    assert [float(each.sum()) for each in found.values] == pytest.approx([9, 9, 9])
    assert found.values[2].ravel() == pytest.approx([2, 3, 4])
    assert found.variances[0][0] == 0


VALUES = st.lists(st.floats(-50, 50), min_size=1, max_size=5)


@given(st.lists(st.tuples(VALUES, st.integers(0, 60)), min_size=1, max_size=4))
def test_counts_are_shared_out_exactly_and_not_negatively(parts: list[tuple[list[float], int]]) -> None:
    values = np.array([value for members, _ in parts for value in members])
    groups = np.repeat(np.arange(len(parts)), [len(members) for members, _ in parts])
    totals = np.array([total for _, total in parts])
    found = shared_out(values, groups, totals)
    assert found.min() >= 0
    assert np.array_equal(np.bincount(groups, found, minlength=len(parts)), totals)


@given(st.lists(st.integers(-30, 60).map(lambda tenths: tenths / 10), min_size=2, max_size=3), st.integers(0, 6))
def test_what_is_shared_out_is_nearly_the_nearest(values: list[float], total: int) -> None:
    group = np.zeros(len(values), dtype=np.int64)
    found = shared_out(np.array(values), group, np.array([total]))
    every = [each for each in itertools.product(range(total + 1), repeat=len(values)) if sum(each) == total]
    gap = min(float(np.square(np.array(each) - values).sum()) for each in every)
    assert float(np.square(found - np.array(values)).sum()) <= gap + len(values) / 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4), st.integers(0, 2**32))
def test_a_table_has_both_margins(cells: list[list[int]], seed: int) -> None:
    true = np.array(cells)
    noisy = true + np.random.default_rng(seed).normal(0, 6, true.shape)
    found = table_with_margins(noisy, true.sum(axis=1), true.sum(axis=0))
    assert found.min() >= 0
    assert np.array_equal(found.sum(axis=0), true.sum(axis=0))
    assert np.array_equal(found.sum(axis=1), true.sum(axis=1))
    assert np.array_equal(table_with_margins(true + 0.3 * np.tanh(noisy), true.sum(axis=1), true.sum(axis=0)), true)


def test_rounding_keeps_what_is_whole_already() -> None:
    parents = [np.array([0, 0]), np.array([0, 0, 1])]
    leaves = np.array([[3, 0], [2, 5], [0, 1]])
    levels = [leaves.sum(axis=0, keepdims=True), np.array([[5, 5], [0, 1]]), leaves]
    found = whole_levels([each.astype(float) for each in levels], parents, totals=[None] * 3)
    assert all(np.array_equal(one, other) for one, other in zip(found, levels, strict=True))


# ── how good it is ───────────────────────────────────────────────────────────────────────────────────────────────────


def wide_plan(base: Path, shares: tuple[object, ...], *, epsilon: object = 1) -> tuple[HierarchyPlan, list[IntArray]]:
    """The plan of a hundred towns in ten regions, and true counts of each level: forty in two towns of three."""
    declared = policy(base, people(3), places=tuple(f"t{i},r{i // 10},n" for i in range(100)))
    captured: list[HierarchyPlan] = []

    def kept(plan: HierarchyPlan, *_: object) -> None:
        captured.append(plan)

    with publisher(declared) as door, patch("tacit.release.hierarchies.request.read_hierarchy", kept):
        wish = HierarchyRequest("people", "town", epsilon, "1e-6", ("region",), ("sex",), shares)  # type: ignore[arg-type]
        door.plan(wish).read(None, Seeded(1))  # type: ignore[arg-type]
    (plan,) = captured
    true: IntArray = np.full((100, 2), 20, dtype=np.int64)
    true[::3] = 0  # places without anybody take from their neighbours, as no count is negative
    return plan, plan.tree.summed(true)


def errors_of(plan: HierarchyPlan, exact: list[IntArray], runs: int) -> tuple[list[float], float]:
    """The root mean square error of the totals of every level, and how many totals and cells keep what is stated."""
    squares, kept = [0.0] * 3, []
    for run in range(runs):
        found = consistent(plan, exact, Seeded(run), held=[None] * len(exact))
        for level, true in enumerate(exact):
            gap = found.counts[level].sum(axis=1) - true.sum(axis=1)
            squares[level] += float(np.square(gap).mean()) / runs
            kept += (np.abs(gap) <= found.error(found.levels[level])).tolist()
            cells = np.abs(found.counts[level] - true) <= found.error(found.levels[level], totals=False)
            kept += cells.ravel().tolist()
    return [square**0.5 for square in squares], float(np.mean(kept))


def test_top_levels_err_less_than_bottom_up_and_errors_are_what_is_said(tmp_path: Path) -> None:
    """Of 40 runs, 13,320 totals and cells: 94 of 100 for what should be 95, as those of one run hang together.

    Bottom-up gives leaves the whole price; the sum of a hundred has ten times the error of one.
    """
    top_down, kept = errors_of(*wide_plan(tmp_path, ()), 40)
    bottom_up, _ = errors_of(*wide_plan(tmp_path, (0, 0, 1)), 40)
    assert top_down[0] < bottom_up[0] / 2
    assert top_down[1] < bottom_up[1]
    assert kept > 0.94


def test_errors_of_half_the_noise_would_be_noticed(tmp_path: Path) -> None:
    plan, exact = wide_plan(tmp_path, ())
    _, kept = errors_of(plan, exact, 20)
    with patch("tacit.release.hierarchies.counts._SIDES", 0.98):
        _, wrong = errors_of(plan, exact, 20)
    assert wrong < 0.94 < kept


def test_the_census_of_2020_is_reproduced() -> None:
    """Persons of the redistricting files: six levels share rho = 2.5562, which is epsilon = 17.14 at delta = 1e-10."""
    levels = ("all", "state", "county", "tract", "group", "block")
    shares = shares_of_levels(CENSUS, levels)
    assert sum(CENSUS) == 4099
    assert sum(shares) == 1
    rho = sum((Fraction(542, 339) ** 2 * share for share in shares), Fraction(0))
    assert round(float(rho), 4) == 2.5562
    assert round(float(zcdp_to_dp(rho, Fraction(1, 10**10)).epsilon), 2) == 17.14


def test_a_tree_knows_where_each_leaf_lies() -> None:
    tree = tree_of(["c", "r"], [("n", "x", "a"), ("s", "x", "b"), ("n", "x", "d")], leaf="t", values=["b", "a", "d"])
    assert tree.paths[1] == (("n",), ("s",))
    assert tree.paths[2] == (("n", "x"), ("s", "x")), "regions of one name in two countries are two"
    assert tree.paths[3] == (("s", "x", "b"), ("n", "x", "a"), ("n", "x", "d"))
    assert [each.tolist() for each in tree.summed(np.array([1, 10, 100]))] == [[111], [110, 1], [110, 1], [1, 10, 100]]
    assert isinstance(tree, PlaceTree)


def test_a_level_is_drawn_with_its_errors(tmp_path: Path) -> None:
    found = counted(tmp_path, people(100)).value
    figure = found.plot("region")
    assert "95%" in figure.get_suptitle()
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["n / r1", "n / r2", "s / r3"]
    assert repr(found).startswith("<hierarchical counts of people: 1 all, 2 country, 3 region, 5 town")
    for wrong in ("planet", ""):
        with pytest.raises(InvalidParameter, match="no level"):
            found.error(wrong)
    with pytest.raises(InvalidParameter, match="no such place"):
        found.total("n", "r9")
