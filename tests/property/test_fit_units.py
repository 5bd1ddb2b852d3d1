"""Rows in memory of which several are one unit's: without it nothing moves further than was charged for it, whatever it
holds. Every estimator on arrays is run, and told again over the neighbour with the same answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conformance.retold import retold, rho_between, told
from support.sources import Seeded
from tacit.accounting import zcdp_of
from tacit.attack import audit, callable_draw
from tacit.core import Loss
from tacit.learn import (
    AdditiveClassifier,
    GaussianBayesClassifier,
    KMeansClusters,
    LogisticClassifier,
    NaiveBayesClassifier,
    NeighbourVotesClassifier,
    NetworkClassifier,
    PrincipalComponents,
    PrivateSearch,
    RidgeRegressor,
    TreeClassifier,
    searching,
)
from tacit.learn.classifiers import logistic
from tacit.learn.classifiers.logistic import Stage
from tacit.learn.networks import network
from tacit.learn.networks.network import Layers, gradient_sums
from tacit.learn.networks.network_plan import CLIP, plan_network
from tacit.learn.sums import studies, units
from tacit.learn.sums.units import UnitRows, rows_of_units
from tacit.mechanisms import Gaussian

Row = tuple[Any, Any, Any, int]  # whose it is, a number, a category, a class
MOST = 3
FEATURES: list[Any] = [(0, 10), ["a", "b"]]
BOX: dict[str, Any] = {"features": FEATURES, "classes": [0, 1]}
MODELS: dict[str, Any] = {
    "additive": lambda **given: AdditiveClassifier(rounds=2, **BOX, **given),
    "bayes": lambda **given: NaiveBayesClassifier(**BOX, **given),
    "gaussian bayes": lambda **given: GaussianBayesClassifier(**BOX, **given),
    "logistic": lambda **given: LogisticClassifier(**BOX, **given),
    "votes": lambda **given: NeighbourVotesClassifier(places=3, partitions=2, **BOX, **given),
    "tree": lambda **given: TreeClassifier(2, **BOX, **given),
    "network": lambda **given: NetworkClassifier(2, rounds=2, **BOX, **given),
    "ridge": lambda **given: RidgeRegressor(features=FEATURES, target=(0, 1), **given),
    "components": lambda **given: PrincipalComponents(features=FEATURES, **given),
    "clusters": lambda **given: KMeansClusters(2, rounds=2, features=FEATURES, **given),
}
OWNERS = st.sampled_from(["ana", "bob", "b\0", "", 1, 1.0, "1", ("ana", 1)])
NUMBERS = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, None, 10**400, 0, 10, 5.0])
SORTS = st.sampled_from(["a", "b", "never declared", None, 7])
TABLES = st.lists(st.tuples(OWNERS, NUMBERS, SORTS, st.integers(0, 1)), min_size=2, max_size=14)
CROWD: list[Row] = [(f"p{i}", i % 11, "ab"[i % 2], i % 3 % 2) for i in range(12)]
FAR: list[list[Row]] = [  # units of more rows than count, all at one end, or at both
    [("far", 10, "b", 1)] * 5,
    [("far", 10, "b", 0)] * 5,
    [("far", 1e300, "a", 1), ("far", -5, "b", 0), ("far", 10, "b", 1), ("far", 0, "a", 0)],
]


def fitted(model: Any, table: Sequence[Row]) -> Any:
    rows = np.empty((len(table), 2), dtype=object)
    rows[:, 0], rows[:, 1] = [row[1] for row in table], [row[2] for row in table]
    return model.fit(rows, np.array([row[3] for row in table]), units=[row[0] for row in table])


def charged(model: Any) -> Fraction:
    """What a fit is charged, in rho."""
    if isinstance(model, NetworkClassifier):
        (count, _), (each, rounds) = model.event_.parts
        return Fraction(count.rho + rounds * each.rho)
    return zcdp_of(model.event_).rho


def share_moved(name: str, table: Sequence[Row], owner: Any) -> Fraction:
    """What one unit moves, in rho, as a share of what was charged."""
    made = {"epsilon": 3, "max_rows": MOST}
    models = [MODELS[name](source=Seeded(4), **made) for _ in range(2)]
    steps = told(lambda: fitted(models[0], table))
    again = retold(steps, lambda: fitted(models[1], [row for row in table if row[0] != owner]))
    return rho_between(steps, again) / charged(models[0])


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    """Of a logistic model one stage, at the whole price."""
    monkeypatch.setattr(logistic, "STAGES", (Stage(Fraction(1, 5), Fraction(4, 5), 2),))


@pytest.mark.parametrize("name", MODELS)
def test_no_unit_moves_more_than_is_charged(name):
    """Whatever the tables hold."""

    @settings(max_examples=12, deadline=None)
    @given(TABLES, st.integers(0, 13))
    def holds(table: list[Row], place: int) -> None:
        owner = table[place % len(table)][0]
        assume(any(row[0] != owner for row in table))
        assert share_moved(name, table, owner) <= 1

    holds()


LEAST = {"logistic": Fraction(1, 20), "network": Fraction(1, 100)}  # as a row's gradient is shorter than it may be


@pytest.mark.parametrize("name", MODELS)
def test_some_unit_moves_much_of_it(name):
    share = max(share_moved(name, [*CROWD, *far], "far") for far in FAR)
    assert LEAST.get(name, Fraction(4, 5)) <= share <= 1


# ── a search ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def dearest_run(table: Sequence[Row], owner: Any, *, inside: bool, patch: Any) -> tuple[Fraction, Fraction]:
    """What a unit moves in the run where it moves the most, in rho, and what a run may cost.

    The unit's own coin, which falls last, says in which part it is; all others' are fixed.
    """
    real, plans = searching.bernoulli, []
    ordered = [row for row in table if row[0] != owner] + [row for row in table if row[0] == owner]
    size = len({row[0] for row in table})

    def coins(chance: Any, count: Any = None, *, source: Any) -> Any:
        if chance == Fraction(7, 10):
            fallen = np.arange(count) % 2 == 0
            fallen[size - 1 : size] = inside
            return fallen
        return real(chance, source=source) if count is None else real(chance, count, source=source)

    whole = searching.plan_search

    def planned(*given: Any, **named: Any) -> Any:
        plans.append(whole(*given, **named))
        return plans[-1]

    patch.setattr(searching, "bernoulli", coins)
    patch.setattr(searching, "plan_search", planned)
    models = [PrivateSearch([NaiveBayesClassifier(**BOX)], runs=3, max_rows=MOST, source=Seeded(3)) for _ in range(2)]
    steps = told(lambda: fitted(models[0], ordered))
    again = retold(steps, lambda: fitted(models[1], [row for row in ordered if row[0] != owner]))
    runs = [slice(start, start + 2) for start in range(0, len(steps), 2)]  # a histogram, then its score
    return max(rho_between(steps[run], again[run]) for run in runs), plans[0].rho


@pytest.mark.parametrize("inside", [True, False])
def test_no_unit_moves_a_run_of_a_search_more_than_it_may_cost(inside):
    @settings(max_examples=15, deadline=None)
    @given(TABLES, st.integers(0, 13))
    def holds(table: list[Row], place: int) -> None:
        owner = table[place % len(table)][0]
        assume(any(row[0] != owner for row in table))
        with pytest.MonkeyPatch.context() as patch:
            moved, most = dearest_run(table, owner, inside=inside, patch=patch)
        assert moved <= most

    holds()


@pytest.mark.parametrize("inside", [True, False])
def test_some_unit_moves_a_run_as_much(inside, monkeypatch):
    found = [dearest_run([*CROWD, *far], "far", inside=inside, patch=monkeypatch) for far in FAR]
    assert all(Fraction(9, 10) * most < max(moved for moved, _ in found) <= most for _, most in found)


def test_a_search_of_one_row_is_no_refusal():
    """Whether a part is empty hangs on a coin, and on how many there are."""
    for seed in range(8):
        fitted(PrivateSearch([NaiveBayesClassifier(**BOX)], runs=2, source=Seeded(seed)), CROWD[:1])


# ── whose a row is ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_nobody_else_has_a_say_in_which_rows_of_a_unit_count():
    rng = np.random.default_rng(2)
    for _ in range(50):
        owners = rng.integers(0, 5, 20)
        whole = rows_of_units(owners, 20, 2)
        assert np.unique(owners[whole.kept], return_counts=True)[1].max() <= 2
        gone = int(owners[0])
        rest = np.flatnonzero(owners != gone)
        without = rows_of_units(owners[rest], rest.size, 2)
        assert set(rest[without.kept].tolist()) == {int(row) for row in whole.kept if owners[row] != gone}


def test_units_stand_one_after_another():
    counted = rows_of_units(["b", "a", "b", "b", "c"], 5, 2)
    assert (counted.kept.tolist(), counted.starts.tolist(), counted.units) == ([0, 2, 1, 4], [0, 2, 3], 3)
    rows, starts = counted.of(np.array([0, 2]))
    assert (rows.tolist(), starts.tolist()) == ([0, 1, 3], [0, 2])


@pytest.mark.parametrize("other", ["x", 0.5, b"x", True, None])
def test_no_identifier_in_a_list_renames_another(other):
    """numpy would make texts or doubles of all, and then two of one, or one of two."""
    ids: list[Any] = [1, 1.0, 2**53, 2**53 + 1, "1", "a", "a\0"]
    alone = rows_of_units(ids, len(ids), 1)
    if other is not None:
        with_other = rows_of_units([*ids, other], len(ids) + 1, 1)
        assert [row for row in with_other.kept.tolist() if row < len(ids)] == alone.kept.tolist()
    assert alone.units == 6  # 1 and 1.0 are one number


# ── planted ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def nobody_bounds(patch: Any) -> None:
    real = units.rows_of_units

    def unbounded(owners: Any, count: int, most: Any) -> UnitRows:
        return real(owners, count, 1_000_000)

    def claims(owners: Any, count: int, most: Any) -> UnitRows:
        every = unbounded(owners, count, most)
        return UnitRows(every.kept, every.starts, most)

    patch.setattr(studies, "rows_of_units", claims)


def rows_as_units(patch: Any) -> None:
    for room in (network, searching):
        patch.setattr(room, "rows_of_units", lambda _, count, __: rows_of_units(None, count, 1))


def sums_that_nobody_shares(patch: Any) -> None:
    patch.setattr(network, "shared", lambda steps, _: steps)


@pytest.mark.parametrize("name", ["bayes", "ridge", "clusters", "additive"])
def test_rows_that_nobody_bounds_are_noticed(name, monkeypatch):
    nobody_bounds(monkeypatch)
    assert max(share_moved(name, [*CROWD, *far], "far") for far in FAR) > 1


def furthest(net: Layers, wide: int = 3) -> float:
    """How far units of five rows move a sum of gradients, at most, in clips."""
    rng = np.random.default_rng(1)
    rows, which = np.hstack([np.ones((40, 1)), rng.choice([-1.0, 1.0], (40, wide - 1))]), rng.integers(0, 2, 40)
    most = 0.0
    for unit in range(8):
        others = np.flatnonzero(np.arange(40) // 5 != unit)
        whole = network.gradient_sums(net, rows, which, np.arange(0, 40, 5))
        rest = network.gradient_sums(net, rows[others], which[others], np.arange(0, 35, 5))
        most = max(most, float(np.linalg.norm((whole - rest).astype(float))))
    return most / CLIP


STEEP = Layers(np.zeros((3, 0)), np.array([[9.0, -9.0], [3.0, 0.0], [0.0, 5.0]]))


def test_no_unit_moves_a_sum_of_gradients_by_more_than_the_clip(monkeypatch):
    assert 0.5 < furthest(STEEP) <= 1
    monkeypatch.setattr(network, "_CHUNK", 7)  # one unit at a time
    assert 0.5 < furthest(STEEP) <= 1


def test_gradients_that_rows_of_a_unit_do_not_share_are_noticed(monkeypatch):
    sums_that_nobody_shares(monkeypatch)
    assert furthest(STEEP) > 1


def test_a_search_that_takes_rows_for_units_is_noticed(monkeypatch):
    rows_as_units(monkeypatch)
    moved, most = dearest_run([*CROWD, *FAR[0]], "far", inside=True, patch=monkeypatch)
    assert moved > most


# ── what an auditor sees ─────────────────────────────────────────────────────────────────────────────────────────────


def certificate() -> Any:
    """Of one round at ε = ½, δ = .01, with and without a unit of five rows whose gradients are long."""
    plan = plan_network(Loss("0.5", "0.01"), rounds=1, sampling=Fraction(1))
    rows, which = np.ones((45, 3)), np.array([0] * 40 + [1] * 5)
    starts = np.append(np.arange(0, 40, 5), 40)
    net = Layers(np.zeros((3, 0)), np.full((3, 3), [9.0, 0.0, 0.0]))  # sure of the first class
    sums = [
        network.gradient_sums(net, rows[:count], which[:count], starts[: 1 + (count - 1) // 5]) for count in (40, 45)
    ]

    def released(exact: np.ndarray, times: int) -> np.ndarray:
        return plan.noise.simulate(exact, times) @ np.sign(sums[1] - sums[0]).astype(np.int64)

    return audit(callable_draw(released, (sums[1], sums[0])), draws=60_000, delta=0.01, claimed=0.5)


def test_the_auditor_finds_no_more_than_is_claimed_of_a_unit():
    """Wrong once in a million times."""
    assert not certificate().violates


def test_the_auditor_catches_rows_of_a_unit_that_are_clipped_each_for_itself(monkeypatch):
    sums_that_nobody_shares(monkeypatch)
    found = certificate()
    assert found.violates
    assert found.epsilon > 0.75


def test_noise_for_the_score_of_one_row_is_noticed(monkeypatch):
    """A planted price: of a search whose unit has three rows, the score is noised as if it had one."""
    real = Gaussian.concentrated.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(
        Gaussian, "concentrated", classmethod(lambda cls, rho, moved, **named: real(cls, rho, moved / MOST, **named))
    )
    found = [dearest_run([*CROWD, *far], "far", inside=False, patch=monkeypatch) for far in FAR]
    assert max(moved / most for moved, most in found) > 1


def test_a_unit_of_one_row_moves_what_a_row_does():
    steps = gradient_sums(STEEP, np.ones((4, 3)), np.zeros(4, dtype=np.int64))
    alone = gradient_sums(STEEP, np.ones((4, 3)), np.zeros(4, dtype=np.int64), np.arange(4))
    assert (steps == alone).all()
