"""The laws of estimates: weighed as least squares weighs them, narrower than any bound, and kept with the answer."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from tacit.curator.measuring.noisy import Noisy, NoisyColumn
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.strategy import (
    Chain,
    EstimateSpread,
    Part,
    Ranges,
    Strategy,
    StrategyNoise,
    apply,
    each,
    estimate_spread,
    everything,
    flat,
    half_width,
    picked,
)
from tacit.mechanisms.strategy.estimates import _weights

HALF = Fraction(1, 2)
BINARY = Chain(8, (2, 2, 2))
RANGES = Ranges(np.array([0, 1, 3, 2]), np.array([8, 7, 4, 2]))  # the last counts nothing
SOME = picked(np.array([[1, 0, 1], [0, 1, 1]], dtype=bool))
CASES = {
    "hierarchy": (Strategy((BINARY,), (Part((1,), HALF), Part((3,), HALF))), (RANGES,)),
    "uneven blocks": (Strategy((Chain(7, (2, 2, 2)),), (Part((2,), HALF), Part((3,), HALF))), (each(7),)),
    "residuals": (Strategy((flat(8),), (Part((0,), HALF), Part((1,), HALF, residual=True))), (RANGES,)),
    "marginals": (
        Strategy((flat(3), BINARY), (Part((1, 0), HALF), Part((0, 3), HALF / 2), Part((1, 3), HALF / 2))),
        (SOME, RANGES),
    ),
    "beside all": (
        Strategy((flat(3), BINARY), (Part((1, 1), HALF), Part((1, 3), HALF))),
        (each(3), everything(8)),
    ),
}


def noise_of(name, scale=Fraction(1, 2)):
    return StrategyNoise.laplace(CASES[name][0], scale)


@pytest.mark.parametrize("name", CASES)
def test_every_noisy_number_counts_what_least_squares_makes_of_it(name):
    noise, block = noise_of(name), CASES[name][1]
    parts = noise.exact(np.zeros([chain.values for chain in noise.strategy.chains], dtype=np.int64))
    weights = _weights(block, noise)
    for part, numbers in enumerate(parts):
        for index in range(numbers.size):
            unit = [np.zeros(other.shape) for other in parts]
            unit[part].ravel()[index] = 1.0
            assert np.allclose(apply(block, noise.cells(unit)).ravel(), weights[part][index], atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_laws_have_the_variances(name):
    noise, block = noise_of(name), CASES[name][1]
    spread = estimate_spread(block, noise, step=Fraction(3), order=range(len(block)))
    known = np.array([*(law.deviation**2 for law in spread.laws), 0.0])
    assert np.allclose(known[spread.indices], spread.variances)
    turned = estimate_spread(block, noise, step=Fraction(3), order=tuple(reversed(range(len(block)))))
    shape = [picks.count for picks in block]
    assert np.array_equal(turned.indices, spread.indices.reshape(shape).T.ravel())


@pytest.mark.parametrize("name", CASES)
def test_at_a_large_budget_they_are_far_narrower_than_the_bound(name):
    noise, block = noise_of(name, Fraction(1, 5)), CASES[name][1]
    spread = estimate_spread(block, noise, step=Fraction(1), order=range(len(block)))
    widths = spread.half_widths(noise.noises[0], "0.95", step=1.0)
    bound = half_width(spread.variances, noise=noise.noises[0], confidence="0.95")
    some = spread.variances > 0
    assert np.all(widths[some] < 0.85 * bound[some])
    assert np.all(widths[~some] == 0)


def test_where_the_lattice_does_not_show_the_bound_stays():
    noise = StrategyNoise.laplace(CASES["hierarchy"][0], Fraction(1000))
    spread = estimate_spread((RANGES,), noise, step=Fraction(1), order=(0,))
    assert spread.indices is None
    widths = spread.half_widths(noise.noises[0], "0.95", step=1.0)
    assert np.array_equal(widths, half_width(spread.variances, noise=noise.noises[0], confidence="0.95"))


@pytest.mark.parametrize("noises", ["laplace", "gaussian"])
def test_a_kept_answer_has_the_half_widths_that_it_had(noises):
    strategy, block = CASES["marginals"]
    noise = StrategyNoise.laplace(strategy, HALF)
    if noises == "gaussian":
        noise = StrategyNoise(strategy, tuple(Gaussian(f"{place + 1}/3", "1e-6") for place in range(3)))
    spread = estimate_spread(block, noise, step=Fraction(1, 4), order=(0, 1))
    column = NoisyColumn("n", Fraction(1), values=np.zeros(8), estimates=spread)
    kept = Noisy(tuple((i,) for i in range(8)), (column,), private_keys=False).to_bytes()
    again = Noisy.from_bytes(kept).columns[0].estimates
    assert len(spread.laws) > 2
    for confidence in ("0.9", "0.975"):
        stated = spread.half_widths(noise.noises[0], confidence, step=0.25)
        assert np.array_equal(again.half_widths(noise.noises[0], confidence, step=0.25), stated)
        groups = np.array([5, 0, 2])
        assert np.array_equal(
            spread.picked([[g] for g in groups]).half_widths(noise.noises[0], confidence, step=0.25), stated[groups]
        )
    assert spread.picked([[], [1]]).half_widths(noise.noises[0], "0.95", step=0.25)[0] == 0


def test_an_answer_kept_without_laws_or_with_a_law_unknown_here_has_the_bound():
    spread = estimate_spread(CASES["hierarchy"][1], noise_of("hierarchy"), step=Fraction(1), order=(0,))
    column = NoisyColumn("n", Fraction(1), values=np.zeros(4), estimates=spread)
    plain = json.loads(Noisy(((1,), (2,), (3,), (4,)), (column,), private_keys=False).to_bytes())
    other = json.loads(json.dumps(plain))
    other["columns"][0]["laws"][-1][0][2] = "Stranger"
    del plain["columns"][0]["laws"], plain["columns"][0]["law"]
    for kept in (plain, other):
        again = Noisy.from_bytes(json.dumps(kept).encode()).columns[0].estimates
        assert np.array_equal(
            again.half_widths(Laplace(1), "0.95", step=1.0),
            EstimateSpread(spread.variances).half_widths(Laplace(1), "0.95", step=1.0),
        )
