"""Synthetic tables promise: a unit moves no marginal further than is said, and the noise drawn is what was paid."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.charges import overheard
from support.sources import Seeded
from support.synthetic import Row, opened, policy, publisher, rows
from tacit.accounting import range_rho, zcdp_to_dp
from tacit.core import Loss
from tacit.engines import one_state
from tacit.errors import EngineError
from tacit.mechanisms import Exponential, Gaussian
from tacit.noise import IntArray
from tacit.release.synthesise import SynthesisRequest, plan_synthesis
from tacit.release.synthesise.counting import MarginalCounter
from tacit.release.synthesise.fitting.measuring import Meter, NoisyMarginal, merged, shares_of

ROW = st.tuples(
    st.integers(0, 2),  # few units, so that they have many rows
    st.sampled_from(["a", "b", "c", "elsewhere", None]),
    st.sampled_from([0, 1, 5, 9, -3, 400, None]),
    st.sampled_from([True, False, None]),
)
QUIET = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def marginals(data: Sequence[Row], base: Path, *, max_rows: int, unit: str = "unit") -> tuple[dict, int]:
    """Every exact marginal of one and of two columns, and how far one unit is said to move each."""
    declared = policy(base, data, max_rows=max_rows, unit=unit)
    with opened(declared) as (engine, _):
        plan = plan_synthesis(declared, engine, SynthesisRequest("t", 1, columns=("town", "age", "ok")))
        with one_state(engine) as state:
            counter = MarginalCounter(plan.counted, state)
            return {axes: counter(axes) for axes in plan.counted.plans}, plan.counted.sensitivity


def furthest(data: Sequence[Row], base: Path, *, max_rows: int) -> int:
    """The most that removing a unit moves a marginal in L1, its cells as they are or all put together."""
    whole, _ = marginals(data, base, max_rows=max_rows)
    most = 0
    for unit in {row[0] for row in data}:
        without, _ = marginals([row for row in data if row[0] != unit], base, max_rows=max_rows)
        for axes, counts in whole.items():
            moved: IntArray = np.abs(counts - without[axes])
            coarse = merged(counts - without[axes], np.zeros(counts.shape[0], dtype=np.int64), axis=0)
            most = max(most, int(moved.sum()), int(np.abs(coarse).sum()))
    return most


@QUIET
@given(data=st.lists(ROW, min_size=1, max_size=14), max_rows=st.integers(1, 3))
def test_removing_one_unit_moves_no_marginal_further_than_is_said(
    tmp_path: Path, data: list[Row], max_rows: int
) -> None:
    _, said = marginals(data, tmp_path, max_rows=max_rows)
    assert said in {max_rows, 1024 * max_rows}
    assert furthest(data, tmp_path, max_rows=max_rows) <= said


def test_contributions_without_a_bound_would_be_noticed(tmp_path: Path) -> None:
    """The same look at a table whose units count with all their rows, beside what is said of two."""
    data: list[Row] = [(0, "a", 1, True)] * 9 + [(1, "b", 2, False)]
    _, said = marginals(data, tmp_path, max_rows=2)
    assert furthest(data, tmp_path, max_rows=2) <= said < furthest(data, tmp_path, max_rows=9)


def test_where_a_row_is_a_unit_it_moves_one_cell_by_one(tmp_path: Path) -> None:
    data = rows(9)
    whole, said = marginals(data, tmp_path, max_rows=1, unit="row")
    fewer, _ = marginals(data[1:], tmp_path, max_rows=1, unit="row")
    assert said == 1
    assert {axes: int(np.abs(counts - fewer[axes]).sum()) for axes, counts in whole.items()} == dict.fromkeys(whole, 1)


def paid_for(tmp_path: Path, method: str, *, adjacency: str = "add/remove") -> tuple[Fraction, Fraction, Loss]:
    """What the ledger was told in rho, what the draws that were overheard cost, and the loss."""
    declared = policy(tmp_path, rows(40), adjacency=adjacency)
    with overheard() as heard, publisher(declared) as door:
        request = SynthesisRequest("t", 1, "1e-6", columns=("town", "age", "ok"), method=method)
        sensitivity = plan_synthesis(declared, door.engine, request).counted.sensitivity * declared.adjacency.steps
        door.publish(request, declared.analyst("ana"))
    (paid,) = heard
    drawn = Fraction(0)
    for mechanism in paid.drawn:
        if isinstance(mechanism, Gaussian):
            drawn += Fraction(sensitivity) ** 2 / (2 * mechanism.sigma**2)
        else:
            assert isinstance(mechanism, Exponential)
            drawn += range_rho(2 * mechanism.rate * sensitivity)
    assert paid.charge.zcdp is not None
    return paid.charge.zcdp.rho, drawn, paid.charge.loss


@pytest.mark.parametrize("method", ["hybrid", "tree", "mst", "aim"])
def test_the_charge_is_the_price_of_the_noise_that_was_drawn(tmp_path: Path, method: str) -> None:
    charged, drawn, loss = paid_for(tmp_path, method)
    assert charged * (1 - Fraction(1, 10**6)) < drawn <= charged
    assert loss == Loss(1, "1e-6")
    assert zcdp_to_dp(charged, "1e-6").epsilon <= 1


def test_the_charge_covers_a_unit_that_is_replaced(tmp_path: Path) -> None:
    charged, drawn, _ = paid_for(tmp_path, "tree", adjacency="replace")
    assert charged * (1 - Fraction(1, 10**6)) < drawn <= charged


def test_noise_of_nine_tenths_would_be_noticed(tmp_path: Path) -> None:
    honest = Gaussian.concentrated

    def smaller(rho: Fraction, sensitivity: int, *, delta: Fraction) -> Gaussian:
        return Gaussian(honest(rho, sensitivity, delta=delta).sigma * Fraction(9, 10), delta)

    with patch.object(Gaussian, "concentrated", smaller), pytest.raises(EngineError, match="beyond what was paid"):
        paid_for(tmp_path, "tree")  # the meter itself refuses to give out more than was paid


def test_a_meter_gives_out_no_more_than_was_paid() -> None:
    meter = Meter(lambda _: np.zeros(4, dtype=np.int64), 1, Fraction(1, 100))
    meter.measure((0,), Fraction(1, 2))
    with pytest.raises(EngineError, match="beyond what was paid"):
        meter.measure((0,), Fraction(51, 100))


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30))
def test_shares_are_no_more_than_the_whole(weights: list[float]) -> None:
    shares = shares_of(weights, Fraction(1, 3))
    assert sum(shares) <= Fraction(1, 3)
    assert sum(shares) > Fraction(1, 3) * (1 - Fraction(1, 10**9))


@QUIET
@given(data=st.lists(ROW, min_size=1, max_size=8))
def test_the_plan_is_the_same_whatever_the_data_hold(tmp_path: Path, data: list[Row]) -> None:
    """So are its cells: a domain is read off the policy, never off the data."""
    plans = []
    for held in (data, rows(3)):
        declared = policy(tmp_path, held)
        with opened(declared) as (engine, _):
            plan = plan_synthesis(declared, engine, SynthesisRequest("t", 1))
            plans.append((plan.hash, plan.counted.sizes, plan.method, plan.settings))
    assert plans[0] == plans[1]


def models_of_equal_noise(base: Path, method: str) -> list[bytes]:
    """The models of no rows and of sixty, where noisy numbers and private choices are the same for both."""

    def told(_: Gaussian, values: IntArray, __: object = None) -> IntArray:
        return np.random.default_rng(np.size(values)).integers(-60, 400, np.size(values))

    found = []
    with patch.object(Gaussian, "release", told), patch.object(Exponential, "release", lambda *_: 0):
        for data in ([], rows(60)):
            declared = policy(base, data)
            with publisher(declared, Seeded(3)) as door:
                request = SynthesisRequest("t", 1, "1e-6", ("town", "age", "ok"), method, fresh=True)
                found.append(door.publish(request, declared.analyst("ana")).value.to_bytes())
    return found


@pytest.mark.parametrize("method", ["hybrid", "tree", "mst", "aim"])
def test_equal_noisy_numbers_give_equal_models_whatever_the_data_hold(tmp_path: Path, method: str) -> None:
    """Nothing of the data comes in but through noise and private choices: bins, targets and rows are made of those."""
    one, other = models_of_equal_noise(tmp_path, method)
    assert one == other


def empty_cells_stay_empty(self: Meter, axes: tuple[int, ...], *args: object) -> NoisyMarginal:
    """The planted bug of many a package: what nobody has is shown to be so."""
    found = HONEST(self, axes, *args)  # type: ignore[arg-type]
    exact = self.exact(axes)
    counts = np.where(exact == 0, 0, found.counts) if exact.shape == found.counts.shape else found.counts
    return NoisyMarginal(axes, counts, found.sigma)


def counts_that_add_up_to_the_truth(self: Meter, axes: tuple[int, ...], *args: object) -> NoisyMarginal:
    """Each count has its noise, and all of them are moved so that the number of rows is right."""
    found = HONEST(self, axes, *args)  # type: ignore[arg-type]
    missing = float(self.exact(axes).sum()) / self.weight - float(found.counts.sum())
    return NoisyMarginal(axes, found.counts + missing / found.counts.size, found.sigma)


HONEST = Meter.measure


@pytest.mark.parametrize("planted", [empty_cells_stay_empty, counts_that_add_up_to_the_truth])
@pytest.mark.parametrize("method", ["hybrid", "tree", "mst", "aim"])
def test_a_model_that_looks_past_the_noise_is_noticed(tmp_path: Path, method: str, planted: object) -> None:
    with patch.object(Meter, "measure", planted):
        one, other = models_of_equal_noise(tmp_path, method)
    assert one != other


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_a_pair_that_is_chosen_by_exact_scores_is_noticed(tmp_path: Path, method: str) -> None:
    """The planted bug: which pair is measured next is decided without the exponential mechanism."""

    def by_exact_scores(self: Meter, candidates: Sequence[tuple[int, ...]], *_: object, **__: object) -> int:
        return int(self.exact(candidates[-1]).sum() > 0) * (len(candidates) - 1)

    with patch.object(Meter, "choose", by_exact_scores):
        one, other = models_of_equal_noise(tmp_path, method)
    assert one != other
