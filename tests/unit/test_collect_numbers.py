"""Numbers in the local model: clamping, means, distributions, and what it costs to trust nobody."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.laws import FALSE_ALARM, p_value, two_sided_cells
from support.sources import Seeded
from tacit import collect
from tacit.collect.numbers.windows import Window, lie_for
from tacit.core import Bounds, Loss
from tacit.errors import InvalidParameter

SALARY = Bounds(0, 100_000, step=100)
MEANS = (collect.OneBit, collect.Piecewise, collect.Hybrid, collect.LocalLaplace)


def test_the_lectures_salary_costs_a_hundred_times_more_without_a_curator() -> None:
    gap = collect.trust_gap(Bounds(0, 100_000), Loss(1), people=10_000)
    assert gap.local == pytest.approx(1414.213562373095, abs=5e-6)
    assert gap.central == pytest.approx(14.142135623730951, abs=5e-8)
    assert gap.factor == pytest.approx(100)
    assert str(gap) == "10,000 people: sd 1,414.21 if nobody is trusted, 14.1421 with a curator, 100 times less"


@pytest.mark.parametrize("value", [-1e300, -5.0, float("-inf"), float("nan")])
def test_what_lies_below_or_is_no_number_goes_to_the_lower_end(value: float) -> None:
    assert collect.Scale.of(SALARY).places([value]).tolist() == [0]


@pytest.mark.parametrize("value", [1e300, 100_001.0, float("inf")])
def test_what_lies_above_goes_to_the_upper_end(value: float) -> None:
    assert collect.Scale.of(SALARY).places([value]).tolist() == [1000]


def test_a_number_between_two_places_goes_to_the_nearer() -> None:
    assert collect.Scale.of(SALARY).places([149.0, 151.0, 50.0, 150.0]).tolist() == [1, 2, 0, 2]


def test_a_grid_too_fine_to_count_on_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="too fine"):
        collect.Piecewise.costing(Loss(1), bounds=Bounds(0, 1, step="1e-9"))
    with pytest.raises(InvalidParameter, match="too fine for a distribution"):
        collect.SquareWave.costing(Loss(1), bounds=Bounds(0, 5000))


@pytest.mark.parametrize("kind", MEANS, ids=lambda kind: kind.__name__)
def test_a_mean_lies_within_its_stated_error(kind: Any) -> None:
    """Five standard errors: a false alarm has probability 6e-7 for each, if the estimate is normal."""
    people = np.random.default_rng(2).normal(30_000, 8000, 40_000)
    protocol = kind.costing(Loss(1), bounds=SALARY)
    found = protocol.estimate(protocol.tally(protocol.encode(people, Seeded(3))))
    assert abs(found.values[0] - np.clip(people, 0, 100_000).mean()) < 5 * found.errors[0] + 50
    assert 100 < found.errors[0] < 1500


@pytest.mark.parametrize("kind", MEANS, ids=lambda kind: kind.__name__)
def test_the_stated_error_is_the_spread_of_repeated_estimates(kind: Any) -> None:
    """200 repeats: their spread is off by more than a third with probability below 1e-9 (chi-square)."""
    protocol = kind.costing(Loss(1), bounds=Bounds(0, 10))
    source = Seeded(4)
    found = [protocol.estimate(protocol.tally(protocol.encode(np.full(400, 3), source))) for _ in range(200)]
    spread = float(np.std([one.values[0] for one in found]))
    stated = float(np.mean([one.errors[0] for one in found]))
    assert 0.67 < spread / stated < 1.33


def test_the_piecewise_mean_is_nearly_as_sharp_as_in_the_paper() -> None:
    epsilon = 2.0
    protocol = collect.Piecewise.costing(Loss(2), bounds=Bounds(-1, 1, step="0.001"))
    guesses = protocol.window.guesses() * 0.001 - 1
    chances = protocol.window.chances()[:, -1]
    variance = float(chances @ (guesses - 1) ** 2)
    rise = math.exp(epsilon / 2)
    assert variance == pytest.approx(1 / (rise - 1) + (rise + 3) / (3 * (rise - 1) ** 2), rel=0.01)


def test_the_hybrid_is_never_worse_than_both_halves() -> None:
    for epsilon in ("0.3", "1", "3"):
        bounds = Bounds(0, 50)
        worst = {}
        for kind in (collect.OneBit, collect.Piecewise, collect.Hybrid):
            protocol = kind.costing(Loss(epsilon), bounds=bounds)
            found = [
                protocol.estimate(protocol.tally(protocol.encode(np.full(20_000, at), Seeded(5)))) for at in (0, 25)
            ]
            worst[kind] = max(float(one.errors[0]) for one in found)
        assert worst[collect.Hybrid] < 1.03 * max(worst[collect.OneBit], worst[collect.Piecewise])


def test_local_laplace_reports_follow_their_law_at_exactly_the_price() -> None:
    protocol = collect.LocalLaplace.costing(Loss("0.5"), bounds=Bounds(0, 10))
    assert protocol.noise == 20
    assert protocol.loss() == Loss("0.5")
    for at in (0, 10):
        reports = protocol.encode(np.full(100_000, at), Seeded(9)).view("<i8").ravel() - at
        assert p_value(reports, two_sided_cells(protocol.noise)) > FALSE_ALARM
        assert p_value(reports, two_sided_cells(protocol.noise * Fraction(7, 10))) < FALSE_ALARM, "the test has power"


def test_a_report_from_beyond_all_noise_is_dropped() -> None:
    protocol = collect.LocalLaplace.costing(Loss(1), bounds=Bounds(0, 10))
    far = np.array([2**62, -(2**63), 3], dtype="<i8").view(np.uint8).reshape(-1, 8)
    tally = protocol.tally(far)
    assert (tally.reports, tally.dropped) == (1, 2)
    assert protocol.estimate(tally).values.tolist() == [3.0]


def test_the_square_wave_finds_the_shape() -> None:
    people = np.random.default_rng(6).beta(5, 2, 100_000) * 40
    protocol = collect.SquareWave.costing(Loss(2), bounds=Bounds(0, 40))
    tally = protocol.tally(protocol.encode(people, Seeded(7)))
    truth = np.bincount(np.rint(people).astype(int), minlength=41) / people.size
    shape = protocol.reconstruct(tally)
    assert shape.biased
    assert shape.values.sum() == pytest.approx(1)
    assert np.abs(shape.values - truth).sum() / 2 < 0.1
    assert np.abs(np.full(41, 1 / 41) - truth).sum() / 2 > 0.3, "knowing nothing is much worse"
    with pytest.raises(InvalidParameter, match="no interval for a biased estimate"):
        shape.interval("0.95")
    plain = protocol.estimate(tally)
    low, high = plain.interval("0.999999", together=True)
    assert ((low < truth) & (truth < high)).all()
    assert plain.on_simplex().biased


def test_the_likeliest_shape_without_smoothing_fits_the_reports_at_least_as_well() -> None:
    protocol = collect.SquareWave.costing(Loss(2), bounds=Bounds(0, 20))
    tally = protocol.tally(protocol.encode(np.repeat([3, 15], 5000), Seeded(8)))
    fit = [
        float(tally.counts @ np.log(protocol.window.chances() @ protocol.reconstruct(tally, smooth=smooth).values))
        for smooth in (False, True)
    ]
    assert fit[0] > fit[1]


def test_a_window_is_exactly_as_much_likelier_as_was_paid_for() -> None:
    window = Window(7, 3, lie_for(Fraction(5, 2), steps=7, size=3))
    assert window.ratio == Fraction(5, 2)
    assert window.chances().sum(axis=0) == pytest.approx(np.ones(8))
    with pytest.raises(InvalidParameter, match="no likelier"):
        Window(7, 3, Fraction(7, 10))
