"""Published counts promise: a unit moves no level further than is said, and the noise drawn is what was paid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.charges import overheard
from support.places import Person, people, policy
from support.synthetic import publisher
from tacit.accounting import zcdp_to_dp
from tacit.errors import EngineError
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray
from tacit.policy import Policy
from tacit.release.distributions import DistributionRequest
from tacit.release.hierarchies import HierarchyRequest
from tacit.release.publishing import Publishable
from tacit.release.synthesise.fitting.measuring import Meter

PERSON = st.tuples(
    st.integers(0, 2),  # few units, so that they have many rows
    st.sampled_from(["t1", "t2", "t4", "elsewhere", None]),
    st.sampled_from([0, 1, 3, -7, 90, None]),
    st.sampled_from(["f", "m", "x", None]),
)
QUIET = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WISHES: dict[str, Publishable[object]] = {
    "hierarchy": HierarchyRequest("people", "town", 1, "1e-6", ("country", "region"), ("age", "sex"), fresh=True),
    "histogram": DistributionRequest("people", "age", 1, "1e-6", fresh=True),
}


@contextmanager
def exact_seen() -> Iterator[tuple[dict[tuple[int, ...], IntArray], list[tuple[int, Fraction | None]]]]:
    """Every exact table that a meter gives noise to, by its name, and how far each is said to move: L1, and L2."""
    seen: dict[tuple[int, ...], IntArray] = {}
    said: list[tuple[int, Fraction | None]] = []
    honest = Meter.measure

    def listening(self: Meter, axes: tuple[int, ...], *args: object) -> object:
        seen[axes] = self.exact(axes).copy()
        said.append((self.sensitivity, self.l2))
        return honest(self, axes, *args)  # type: ignore[arg-type]

    with patch.object(Meter, "measure", listening):
        yield seen, said


def tables(wish: Publishable[object], declared: Policy) -> tuple[dict[tuple[int, ...], IntArray], int, Fraction]:
    """Every exact table of a release, and how far one unit is said to move each in L1 and in L2."""
    with exact_seen() as (seen, said), publisher(declared) as door:
        door.publish(wish, declared.analyst("ana"))
    ((l1, l2),) = set(said)
    return dict(seen), l1, Fraction(l1 if l2 is None else l2)


@pytest.mark.parametrize("name", WISHES)
@QUIET
@given(data=st.lists(PERSON, min_size=1, max_size=12), max_rows=st.integers(1, 3))
def test_removing_one_unit_moves_no_table_further_than_is_said(
    tmp_path: Path, name: str, data: list[Person], max_rows: int
) -> None:
    whole, l1, l2 = tables(WISHES[name], policy(tmp_path, data, unit="who", max_rows=max_rows))
    assert l1 in {max_rows, 1024 * max_rows}
    for unit in {row[0] for row in data}:
        left = [row for row in data if row[0] != unit]
        without, _, _ = tables(WISHES[name], policy(tmp_path, left, unit="who", max_rows=max_rows))
        for axes, counts in whole.items():
            moved = np.abs(counts - without[axes])
            assert int(moved.sum()) <= l1
            assert float(np.square(moved).sum()) <= float(l2) ** 2 + 1e-9


@pytest.mark.parametrize("name", WISHES)
@QUIET
@given(data=st.lists(PERSON, min_size=1, max_size=6), new=PERSON)
def test_replacing_one_row_moves_no_table_further_than_is_said(
    tmp_path: Path, name: str, data: list[Person], new: Person
) -> None:
    whole, _, l2 = tables(WISHES[name], policy(tmp_path, data, adjacency="replace"))
    other, _, _ = tables(WISHES[name], policy(tmp_path, [new, *data[1:]], adjacency="replace"))
    for axes, counts in whole.items():
        assert float(np.square(counts - other[axes]).sum()) <= float(l2) ** 2


def test_contributions_without_a_bound_would_be_noticed(tmp_path: Path) -> None:
    data: list[Person] = [(0, "t1", 1, "f")] * 9 + [(1, "t2", 2, "m")]
    wish = WISHES["hierarchy"]
    _, said, _ = tables(wish, policy(tmp_path, data, unit="who", max_rows=2))
    whole, _, _ = tables(wish, policy(tmp_path, data, unit="who", max_rows=9))
    without, _, _ = tables(wish, policy(tmp_path, data[9:], unit="who", max_rows=9))
    assert max(int(np.abs(counts - without[axes]).sum()) for axes, counts in whole.items()) > said


def paid_for(tmp_path: Path, wish: Publishable[object], **declared: object) -> tuple[Fraction, Fraction]:
    """What the ledger was told in rho, and what the draws that were overheard cost."""
    made = policy(tmp_path, people(40), **declared)  # type: ignore[arg-type]
    _, l1, _ = tables(wish, made)
    with overheard() as heard, publisher(made) as door:
        door.publish(wish, made.analyst("ana"))
    (paid,) = heard
    assert all(isinstance(mechanism, Gaussian) for mechanism in paid.drawn)
    apart = made.adjacency.steps * l1**2  # the square of what a unit, added or replaced, moves in L2
    assert paid.charge.zcdp is not None
    assert paid.charge.kind == "publish"
    assert zcdp_to_dp(paid.charge.zcdp.rho, "1e-6").epsilon <= 1
    return paid.charge.zcdp.rho, sum((Fraction(apart) / (2 * each.sigma**2) for each in paid.drawn), Fraction(0))


@pytest.mark.parametrize("name", WISHES)
@pytest.mark.parametrize(
    "declared",
    [{}, {"unit": "who", "max_rows": 3}, {"adjacency": "replace"}, {"adjacency": "replace", "public_totals": "region"}],
)
def test_the_charge_is_the_price_of_the_noise_that_was_drawn(
    tmp_path: Path, name: str, declared: dict[str, object]
) -> None:
    charged, drawn = paid_for(tmp_path, WISHES[name], **declared)
    assert charged * (1 - Fraction(1, 10**6)) < drawn <= charged


def test_noise_of_nine_tenths_would_be_noticed(tmp_path: Path) -> None:
    honest = Gaussian.concentrated

    def smaller(rho: Fraction, sensitivity: Fraction, *, delta: Fraction) -> Gaussian:
        return Gaussian(honest(rho, sensitivity, delta=delta).sigma * Fraction(9, 10), delta)

    with patch.object(Gaussian, "concentrated", smaller), pytest.raises(EngineError, match="beyond what was paid"):
        paid_for(tmp_path, WISHES["hierarchy"])  # the meter itself refuses to give out more than was paid


@pytest.mark.parametrize("name", WISHES)
def test_the_plan_is_the_same_whatever_the_data_hold(tmp_path: Path, name: str) -> None:
    plans = []
    data: Sequence[list[Person]]
    data = ([], people(7), [(1, "nowhere", 99, None)])
    for held in data:
        with publisher(policy(tmp_path, held)) as door:
            plan = door.plan(WISHES[name])
            plans.append((plan.said, plan.shape, plan.loss, plan.rho))
    assert plans[0] == plans[1] == plans[2]


def told(_: Gaussian, values: IntArray, __: object = None) -> IntArray:
    """Noisy numbers that owe nothing to the values: the same for as many of them."""
    return np.random.default_rng(np.size(values)).integers(-60, 400, np.size(values))


@pytest.mark.parametrize("name", WISHES)
def test_equal_noisy_numbers_give_equal_releases_whatever_the_data_hold(tmp_path: Path, name: str) -> None:
    """Nothing of the data comes in but through the noise: neither how levels are joined, nor how they are rounded."""
    found = []
    with patch.object(Gaussian, "release", told):
        for data in ([], people(300), [(1, "t4", 3, "m")] * 90):
            made = policy(tmp_path, data)
            with publisher(made) as door:
                value = door.publish(WISHES[name], made.analyst("ana")).value
                found.append(door.plan(WISHES[name]).pack(value))
    assert found[0] == found[1] == found[2]
