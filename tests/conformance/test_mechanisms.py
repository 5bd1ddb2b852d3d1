"""One suite for all mechanisms: their law, their loss, their grid, their refusals and their docstrings.

False alarms: a law is rejected wrongly with probability 1e-9, a loss certified wrongly with probability 1e-6. Sources
are seeded, so that a run that passes passes again.
"""

from __future__ import annotations

import dataclasses
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from conformance.mechanism_broken import SparseVector, stopping_with_values
from conformance.mechanism_cases import CASES, GRADUAL_RELEASE, Case, both_tellings
from support.laws import FALSE_ALARM, p_value_of_counts
from support.sources import Seeded
from tacit import mechanisms
from tacit.attack import audit
from tacit.core import Adjacency, ComposedEvent, GaussianEvent, Loss
from tacit.errors import InvalidParameter, NoiseUnavailable
from tacit.mechanisms import Exponential, NoisyMax, on_grid
from tacit.noise import MAX_SCALE, MAX_SIGMA, Source

FIELDS = ("Guarantee", "Sensitivity", "Error", "Exactness", "Reference")
LAW_DRAWS = 400_000
CLASSES = [getattr(mechanisms, name) for name in mechanisms.__all__ if isinstance(getattr(mechanisms, name), type)]
each_case = pytest.mark.parametrize("case", CASES, ids=str)


def certified(case: Case, mechanism: Any, *, seed: int) -> float:
    source = Seeded(seed)
    return audit(
        lambda side, times: case.run(mechanism, case.inputs[side], times, source),
        case.event,
        draws=case.draws,
        delta=float(case.delta),
    ).epsilon


def disagreement(case: Case, *, drawn: Fraction, claimed: Fraction) -> float:
    law = case.law(case.build(claimed))
    outcomes = case.run(case.build(drawn), case.inputs[2], LAW_DRAWS, Seeded(7))
    return p_value_of_counts(np.bincount(outcomes, minlength=law.size), law)


@each_case
def test_outcomes_follow_their_law(case):
    assert disagreement(case, drawn=case.epsilon, claimed=case.epsilon) > FALSE_ALARM


@each_case
@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10)], ids=["30 % less", "30 % more"])
def test_a_wrong_scale_is_noticed(case, factor):
    assert disagreement(case, drawn=case.epsilon / factor, claimed=case.epsilon) < FALSE_ALARM


@each_case
def test_an_audit_certifies_the_claimed_loss_and_no_more(case):
    mechanism = case.build(case.epsilon)
    claimed = mechanism.loss(case.sensitivity)
    assert claimed.within(Loss(case.epsilon, case.delta))
    assert 0.95 * float(claimed.epsilon) <= certified(case, mechanism, seed=1) <= float(claimed.epsilon)


@each_case
def test_an_audit_catches_a_violation_of_five_percent(case):
    claimed = case.build(case.epsilon).loss(case.sensitivity)
    careless = case.build(case.epsilon * Fraction(21, 20))
    assert certified(case, careless, seed=2) > float(claimed.epsilon)


@each_case
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(20)], ids=str)
def test_what_is_calibrated_to_a_loss_costs_no_more(case, epsilon):
    loss = Loss(epsilon, case.delta)
    price = case.costing(loss, case.sensitivity).loss(case.sensitivity)
    assert price.within(loss)
    assert price.epsilon >= epsilon * Fraction(9999, 10000)


@each_case
def test_an_event_tells_an_accountant_the_price_of_a_release(case):
    mechanism = case.build(case.epsilon)
    event = mechanism.event(case.sensitivity)
    if isinstance(event, GaussianEvent):
        assert event.rho == Fraction(case.sensitivity) ** 2 / (2 * mechanism.sigma**2)
    else:
        parts = event.parts if isinstance(event, ComposedEvent) else ((event, 1),)
        assert sum(part.epsilon * times for part, times in parts) == mechanism.loss(case.sensitivity).epsilon


@each_case
def test_values_are_whole_numbers_on_the_grid(case):
    outcomes = case.run(case.build(case.epsilon), case.inputs[0], 1000, Seeded(3))
    assert outcomes.dtype == np.int64


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 1024), Fraction(1, 100), Fraction(5, 2)], ids=str)
def test_every_noisy_number_is_a_whole_multiple_of_its_step(step):
    for mechanism in (mechanisms.Laplace(7), mechanisms.Gaussian(7, "1e-6")):
        shown = on_grid(mechanism.release(np.arange(10_000), Seeded(4)), step)
        assert all((number / step).denominator == 1 for number in shown)


def test_a_noisy_number_off_the_grid_is_noticed():
    textbook = 3 + np.random.default_rng(5).laplace(0, 7, size=1000)
    assert not all((Fraction(number) * 1024).denominator == 1 for number in textbook)
    with pytest.raises(InvalidParameter):
        mechanisms.Laplace(7).release(textbook)


@each_case
@pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", float("nan"), float("inf"), "1e400", "0x1", None, True])
def test_a_loss_that_would_mean_no_noise_is_refused(case, epsilon):
    with pytest.raises(InvalidParameter):
        case.costing(Loss(epsilon, case.delta), case.sensitivity)


@each_case
@pytest.mark.parametrize("sensitivity", [0, -1, float("nan"), float("inf"), "many", None, True])
def test_a_sensitivity_that_would_mean_no_noise_is_refused(case, sensitivity):
    with pytest.raises(InvalidParameter):
        case.costing(Loss(1, case.delta), sensitivity)
    with pytest.raises(InvalidParameter):
        case.build(case.epsilon).loss(sensitivity)


# ── noise beyond 64 bits ─────────────────────────────────────────────────────────────────────────────────────────────

NOISY = [case for case in CASES if not case.name.startswith(("Randomised", "Kary", "Exponential", "Permute"))]
WIDE = [case for case in NOISY if isinstance(case.build(case.epsilon), (mechanisms.Laplace, mechanisms.Gaussian))]
NARROW = [case for case in NOISY if case not in WIDE]
HIGHEST = (1 << 63) - 1


def own(number: int) -> Any:
    found = np.empty(1, dtype=object)
    found[0] = number
    return found


@pytest.mark.parametrize("case", NARROW, ids=str)
def test_noise_beyond_64_bits_is_refused_rather_than_wrapped(case):
    with pytest.raises(InvalidParameter, match="too large"):
        case.costing(Loss(1, case.delta), 10**30)


def test_an_answer_beyond_64_bits_is_refused_before_anything_is_compared():
    test = next(case for case in CASES if case.name.startswith("Thresholdout")).build(Fraction(1)).test
    mechanisms.Thresholdout(test, mechanisms.Laplace(MAX_SCALE))
    with pytest.raises(InvalidParameter, match="too large"):
        mechanisms.Thresholdout(test, mechanisms.Laplace(MAX_SCALE + 1))


@pytest.mark.parametrize("case", NOISY, ids=str)
def test_noise_beyond_128_bits_is_refused(case):
    with pytest.raises(InvalidParameter, match="too large"):
        case.costing(Loss(1, case.delta), 10**40)


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_noise_beyond_64_bits_is_refused_for_64_bit_numbers_rather_than_wrapped(case):
    noise = case.costing(Loss(1, case.delta), 10**30)
    for values in (1, [1], [1 << 80], np.array([1]), np.array([1], dtype=np.uint64), np.array([1], dtype=np.int8)):
        with pytest.raises(InvalidParameter, match="64-bit"):
            noise.release(values)
        if isinstance(noise, mechanisms.Gaussian):
            with pytest.raises(InvalidParameter, match="64-bit"):
                noise.simulate(values, 2)


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_noise_beyond_64_bits_is_added_exactly_to_whole_numbers_without_end(case):
    noise = case.costing(Loss(1, case.delta), 10**30)
    alone = [int(noise.release(own(0), Seeded(seed))[0]) for seed in range(20)]
    assert max(map(abs, alone)) > 1 << 90  # nothing held it at the ends of 64 bits
    for value in (1, HIGHEST, -(1 << 64), (1 << 120) + 1):
        together = [noise.release(own(value), Seeded(seed)) for seed in range(20)]
        assert all(found.dtype == object and type(found[0]) is int for found in together)
        assert [found[0] - value for found in together] == alone


@pytest.mark.parametrize(
    "noise", [mechanisms.Laplace(MAX_SCALE), mechanisms.Gaussian(MAX_SIGMA, "1e-6")], ids=["Laplace", "Gaussian"]
)
def test_the_most_noise_that_64_bit_numbers_may_have_holds_them_at_their_ends(noise):
    for end in (HIGHEST, -HIGHEST - 1):
        released = noise.release(np.full(1000, end), Seeded(6)).tolist()
        assert all((number < 0) == (end < 0) for number in released)  # none has come out at the other end
        assert 300 < released.count(end) < 700


class Broken:
    """A source whose operating system has no random bits left."""

    def draw(self, count: int) -> Any:
        raise NoiseUnavailable("no random bits: this source has none")


@each_case
def test_nothing_is_released_without_random_bits(case):
    with pytest.raises(NoiseUnavailable):
        case.run(case.build(case.epsilon), case.inputs[0], 1, Broken())


def test_every_mechanism_is_in_the_suite():
    assert {type(case.build(case.epsilon)) for case in CASES} == set(CLASSES)


def fields_of(docstring: str) -> list[str]:
    return re.findall(r"^    (\w+):\s+\S", docstring, flags=re.MULTILINE)


@pytest.mark.parametrize("mechanism", CLASSES)
def test_a_docstring_has_its_five_fields(mechanism):
    assert tuple(fields_of(mechanism.__doc__)) == FIELDS


def test_a_docstring_without_its_proof_is_noticed():
    assert tuple(fields_of(mechanisms.Laplace.__doc__.replace("Guarantee:", "Promise:"))) != FIELDS
    assert tuple(fields_of(mechanisms.Laplace.__doc__.replace("Error:", "Error"))) != FIELDS


@pytest.mark.parametrize("mechanism", CLASSES)
def test_a_mechanism_is_a_frozen_value_without_ancestors(mechanism):
    assert dataclasses.is_dataclass(mechanism)
    assert mechanism.__dataclass_params__.frozen
    assert hasattr(mechanism, "__slots__")
    assert mechanism.__bases__ == (object,)


# What others have got wrong. Each twin claims epsilon = 2 and costs more; the audit must say so.

CLAIMED = Fraction(2)
HALF = 2 / CLAIMED  # the scale of noise that costs half of it


def test_independent_tellings_do_not_share_a_price():
    def independent(mechanism: Any, value: int, times: int, source: Source) -> Any:
        first, second = (mechanisms.Laplace(scale).release(np.full(times, value), source) for scale in mechanism.scales)
        return (first <= 0) & (second <= 0)

    coarse_to_fine = GRADUAL_RELEASE.build(CLAIMED)
    source = Seeded(11)
    leaked = audit(
        lambda side, times: independent(coarse_to_fine, 2 * side, times, source), lambda both: both, draws=10**6
    ).epsilon
    assert leaked > float(CLAIMED)
    told = audit(
        lambda side, times: both_tellings(coarse_to_fine, 2 * side, times, source),
        lambda both: (both % 41 <= 20) & (both // 41 <= 20),
        draws=10**6,
    ).epsilon
    assert told <= float(CLAIMED)


@pytest.mark.parametrize(
    ("broken", "values"),
    [
        pytest.param(SparseVector(HALF, None, None), ((0, 1), (1, 0)), id="no noise on questions (Stoddard et al.)"),
        pytest.param(
            SparseVector(4 / CLAIMED, 4 / (3 * CLAIMED), 2),
            ((-1, -1, -1, -1, 0, 0), (0, 0, 0, 0, -1, -1)),
            id="noise that does not grow with the hits (Lee and Clifton)",
        ),
        pytest.param(
            SparseVector(HALF, HALF, None),
            ((-1, -1, -1, 0, 0, 0), (0, 0, 0, -1, -1, -1)),
            id="hits without end (Chen et al.)",
        ),
    ],
)
def test_a_broken_sparse_vector_is_caught(broken, values):
    pattern = np.array([value < max(values[0]) for value in values[0]])  # "below" for these, "above" for the rest
    source = Seeded(12)
    leaked = audit(
        lambda side, times: broken.run(values[side], times, source),
        lambda answers: (answers == ~pattern).all(axis=1),
        draws=10**6,
    ).epsilon
    assert leaked > float(CLAIMED)


def test_a_sparse_vector_that_tells_the_value_it_compared_is_caught():
    values = ((-1, -1, -1, -1, 0), (0, 0, 0, 0, -1))  # (Roth's notes of 2011)
    source = Seeded(13)

    def run(side: int, times: int) -> Any:
        above, told = stopping_with_values(HALF, HALF, values[side], times=times, source=source)
        return ~above[:, :4].any(axis=1) & above[:, 4] & (told == 0)

    assert audit(run, lambda outcomes: outcomes, draws=10**6).epsilon > float(CLAIMED)


@pytest.mark.parametrize(
    ("right", "wrong", "scores"),
    [
        pytest.param(
            Exponential(CLAIMED / 2, adjacency=Adjacency.REPLACE),
            Exponential(CLAIMED, adjacency=Adjacency.REPLACE),
            ([0] * 28, [-1] + [1] * 27),
            id="exponential without its 2",
        ),
        pytest.param(
            NoisyMax(2 / CLAIMED, adjacency=Adjacency.REPLACE),
            NoisyMax(1 / CLAIMED, adjacency=Adjacency.REPLACE),
            ([5, 5, 5, 5], [4, 6, 6, 6]),
            id="noisy max of counts, under replace, at the scale of add/remove",
        ),
    ],
)
def test_a_selection_with_half_the_noise_is_caught(right, wrong, scores):
    assert right.loss(1).epsilon == CLAIMED
    source = Seeded(14)
    leaked = audit(
        lambda side, times: wrong.simulate(np.array(scores[side]), times, source=source),
        lambda chosen: chosen == 0,
        draws=10**6,
    ).epsilon
    assert leaked > float(CLAIMED)
