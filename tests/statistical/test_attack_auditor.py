"""The auditor's bars: what it certifies of the right mechanisms, what it catches of the wrong ones, how often it errs.

An audit's false alarm is 1e-6 unless a test says otherwise. Sources are seeded, so a run that passes passes again.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from conformance.mechanism_broken import SparseVector, stopping_with_values
from support.sources import Seeded
from tacit.accounting import zcdp_to_dp
from tacit.attack import audit, audit_one_run, audit_sequentially, mechanism_draw
from tacit.core import Adjacency, Loss, Zcdp
from tacit.mechanisms import Exponential, Gaussian, Laplace, NoisyMax, RandomisedResponse

FALSE_ALARM = 1e-9  # of a comparison


def laplace(scale="1", *, seed=1):
    return mechanism_draw(Laplace(scale), (0, 1), source=Seeded(seed))


def test_of_the_discrete_laplace_nearly_all_is_certified_without_being_told_where_to_look():
    assert 0.95 <= audit(laplace(), claimed=1).epsilon <= 1


def test_five_percent_too_little_noise_is_caught_nine_times_in_ten():
    caught = [audit(laplace("20/21", seed=seed), draws=500_000, claimed=1).violates for seed in range(20)]
    assert sum(caught) >= 18


def test_a_sequential_audit_stops_early_at_a_gross_fault_and_late_at_a_small_one():
    gross = audit_sequentially(laplace("1/3"), claimed=1)
    small = audit_sequentially(laplace("20/21"), claimed=1, enough=2)
    honest = audit_sequentially(laplace(), claimed=1, enough=0.95)
    assert gross.violates
    assert small.violates
    assert not honest.violates
    assert gross.draws <= 4096 < small.draws
    assert honest.epsilon >= 0.95


def test_numpys_laplace_gives_itself_away_and_ours_does_not():
    floating = np.random.default_rng(3)
    found = audit(lambda side, times: side + floating.laplace(0, 1, times), draws=200_000, claimed=1)
    assert found.epsilon >= 5
    assert max(audit(laplace(seed=seed), draws=200_000).epsilon for seed in range(5)) <= 1


def truly_one(seed: int):
    """A mechanism of which the epsilon of every event is exactly 1: what an audit can most easily overstate."""
    mechanism, source = RandomisedResponse.costing(Loss(1), 1), Seeded(seed)
    return lambda side, times: mechanism.release(np.full(times, side, dtype=np.int64), source)


@pytest.mark.parametrize("sequential", [False, True])
def test_an_audit_errs_no_more_often_than_it_says(sequential):
    """At a false alarm of one in twenty. The wrong ones are at most binomial; naive bounds would be a half."""
    runs, alarm, wrong = 150, 0.05, 0
    for seed in range(runs):
        draw = truly_one(seed)
        if sequential:
            found = audit_sequentially(draw, claimed=1, enough=2, most=1 << 13, false_alarm=alarm)
        else:
            found = audit(draw, draws=1000, false_alarm=alarm)
        wrong += found.epsilon > 1
    assert stats.binom.sf(wrong - 1, runs, alarm) > FALSE_ALARM


@pytest.mark.parametrize("sequential", [False, True])
def test_two_sides_that_are_alike_are_not_told_apart_however_many_outcomes_there_are(sequential):
    """Counted on the draws it was learnt from, an event over four hundred outcomes would tell anything apart."""
    wrong = 0
    for seed in range(40):
        draws = np.random.default_rng(seed)
        draw = lambda side, times, draws=draws: draws.integers(0, 400, times)  # noqa: E731
        if sequential:
            found = audit_sequentially(draw, claimed=1, most=1 << 12, false_alarm=0.05)
        else:
            found = audit(draw, draws=4000, false_alarm=0.05)
        wrong += found.epsilon > 0
    assert stats.binom.sf(wrong - 1, 40, 0.05) > FALSE_ALARM


def test_an_estimate_without_a_bound_would_err_about_half_of_the_time():
    wrong = 0
    for seed in range(100):
        draw = truly_one(seed)
        counts = [np.count_nonzero(draw(side, 1000)) for side in (1, 0)]
        wrong += np.log(counts[0] / counts[1]) > 1
    assert stats.binom.sf(wrong - 1, 100, 0.05) < FALSE_ALARM


# ── published and wrong ──────────────────────────────────────────────────────────────────────────────────────────────

CLAIMED = Fraction(2)
HALF = 2 / CLAIMED
STEPS = ((-1, -1, -1, -1, 0, 0), (0, 0, 0, 0, -1, -1))
THREES = ((-1, -1, -1, 0, 0, 0), (0, 0, 0, -1, -1, -1))
BROKEN = {
    "no noise on questions (Stoddard et al. 2014)": (SparseVector(HALF, None, None), ((0, 1), (1, 0))),
    "noise that does not grow with the hits (Lee and Clifton 2014)": (
        SparseVector(4 / CLAIMED, 4 / (3 * CLAIMED), 2),
        STEPS,
    ),
    "hits without end (Chen et al. 2015)": (SparseVector(HALF, HALF, None), THREES),
    "hits without end, at any split (generalised threshold testing)": (
        SparseVector(4 / CLAIMED, 4 / (3 * CLAIMED), None),
        THREES,
    ),
    "no noise on the threshold": (SparseVector(Fraction(1, 100), 2 / CLAIMED, None), ((0,) * 6, (-1,) * 6)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_sparse_vector_is_caught_without_being_told_where_to_look(name):
    broken, values = BROKEN[name]
    source = Seeded(12)
    found = audit(lambda side, times: broken.run(values[side], times, source), draws=300_000, claimed=float(CLAIMED))
    assert found.violates


def test_a_sparse_vector_that_tells_the_value_it_compared_is_caught():
    """Roth's notes of 2011."""
    values = ((-1, -1, -1, -1, 0), (0, 0, 0, 0, -1))
    source = Seeded(13)

    def run(side, times):
        above, told = stopping_with_values(HALF, HALF, values[side], times=times, source=source)
        return np.column_stack([above, told])

    assert audit(run, draws=600_000, claimed=float(CLAIMED)).violates


@pytest.mark.parametrize(
    ("wrong", "scores"),
    [
        pytest.param(
            Exponential(CLAIMED, adjacency=Adjacency.REPLACE),
            ([0] * 28, [-1] + [1] * 27),
            id="exponential without its 2",
        ),
        pytest.param(
            NoisyMax(1 / CLAIMED, adjacency=Adjacency.REPLACE), ([5] * 28, [4] + [6] * 27), id="noisy max under replace"
        ),
    ],
)
def test_what_the_lectures_state_loosely_costs_twice_as_much(wrong, scores):
    source = Seeded(14)
    found = audit(
        lambda side, times: wrong.simulate(np.array(scores[side]), times, source=source),
        draws=900_000,
        claimed=float(CLAIMED),
    )
    assert 0.9 * 2 * CLAIMED <= found.epsilon <= 2 * CLAIMED


# ── one run ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def noisy_mean(epsilon: Fraction, seed: int):
    """A sum in which each canary has a coordinate of its own: what is said of a canary is what it added, and noise."""
    noise, source = Laplace(1 / epsilon), Seeded(seed)
    return lambda inside: noise.release(inside.astype(np.int64), source).astype(np.float64)


def test_one_run_certifies_most_of_a_noisy_mean_and_no_more():
    found = [audit_one_run(noisy_mean(Fraction(2), seed), 2000, source=Seeded(99 + seed)).epsilon for seed in range(5)]
    assert 1 < max(found) <= 2


def test_one_run_catches_half_the_noise():
    found = audit_one_run(noisy_mean(Fraction(8), 1), 2000, claimed=4, source=Seeded(2))
    assert found.violates


def noisy_descent(sigma: int, seed: int, *, rounds: int = 8):
    """Gradient descent whose sum of clipped gradients has noise: canary i's gradient is one step along axis i."""
    noise, source = Gaussian(sigma, "1e-5"), Seeded(seed)

    def run(inside):
        weights = np.zeros(inside.size)
        for _ in range(rounds):
            gradient = noise.release(100 * inside.astype(np.int64), source) / 100
            weights += gradient
        return weights

    return run


def test_one_run_holds_a_noisy_gradient_descent_to_its_price():
    sigma, rounds = 400, 8
    rho = Fraction(rounds * 100**2, 2 * sigma**2)
    claimed = float(zcdp_to_dp(Zcdp(rho), "1e-5").epsilon)
    honest = audit_one_run(noisy_descent(sigma, 3), 1500, delta=1e-5, claimed=claimed, source=Seeded(4))
    careless = audit_one_run(noisy_descent(sigma // 8, 3), 1500, delta=1e-5, claimed=claimed, source=Seeded(4))
    assert 0.1 * claimed < honest.epsilon <= claimed
    assert careless.violates


def test_one_run_errs_no_more_often_than_it_says():
    wrong = sum(
        audit_one_run(noisy_mean(Fraction(1), seed), 200, shares=(1.0,), source=Seeded(seed)).epsilon > 1
        for seed in range(200)
    )
    assert stats.binom.sf(wrong - 1, 200, 0.05) > FALSE_ALARM
