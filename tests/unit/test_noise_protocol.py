"""A noise is known by its law and four methods: one that nobody has heard of is planned, drawn, said and kept alike."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tacit
from conformance.sql_clinic import clinic
from support.sources import Seeded
from tacit.core import Adjacency, LaplaceEvent
from tacit.curator import Session
from tacit.curator.answer import answer
from tacit.curator.explaining.explain import describe, explain
from tacit.curator.jobs.pieces import variance
from tacit.curator.measuring.measure import measure
from tacit.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip, strategy
from tacit.mechanisms.kept import kept_noise
from tacit.mechanisms.protocol import L1, L2, NoiseLaw, is_added, is_choice
from tacit.mechanisms.sums import sum_reach
from tacit.noise import SYSTEM
from tacit.sql.planning.bounding import is_wide_noise

MILLIONTH = Fraction(1, 10**6)
ADDED = (Laplace(Fraction(7, 3)), Gaussian(Fraction(22, 7), MILLIONTH))
CHOICES = tuple(
    kind(Fraction(1, 3), adjacency=Adjacency.ADD_REMOVE, monotone=monotone)
    for kind in (Exponential, PermuteAndFlip)
    for monotone in (False, True)
)
CLASSES = {"Laplace", "Gaussian", "Exponential", "PermuteAndFlip"}


@dataclass(frozen=True)
class Stranger:
    """Twice a Laplace draw: even, pure, and of no class that the house knows."""

    half: Laplace

    @property
    def law(self):
        return NoiseLaw("Stranger", "even noise of scale", 2 * self.half.scale, L1, unit_variance=2)

    @property
    def variance(self):
        return 4 * self.half.variance

    def event(self, sensitivity):
        return LaplaceEvent(Fraction(sensitivity) / (2 * self.half.scale))

    def error(self, confidence, *, count=1):
        return 2 * self.half.error(confidence, count=count)

    def release(self, values, source=SYSTEM):
        return values + 2 * self.half.release(np.zeros_like(values), source)


def test_a_noise_is_made_again_from_its_law():
    for noise in ADDED:
        assert kept_noise(noise.law.name, noise.law.size, delta=noise.law.delta) == noise
    for choice in CHOICES:
        assert kept_noise(choice.law.name, choice.law.size, delta=choice.law.delta) is None


def test_what_is_kept_and_hashed_of_a_noise_stays_as_it_was_written():
    """Answers are kept under these words, and found again by later versions."""
    assert [noise.law.name for noise in (*ADDED, *CHOICES)] == [type(noise).__name__ for noise in (*ADDED, *CHOICES)]
    assert [str(noise) for noise in (*ADDED, CHOICES[0])] == [
        "Laplace(scale=Fraction(7, 3))",
        "Gaussian(sigma=Fraction(22, 7), delta=Fraction(1, 1000000), dimension=None)",
        "Exponential(rate=Fraction(1, 3), adjacency=<Adjacency.ADD_REMOVE: 'add/remove'>, monotone=False)",
    ]


def test_a_noise_is_added_or_chooses_and_never_both():
    assert [is_added(noise) for noise in ADDED] == [True, True]
    assert [is_choice(noise) for noise in CHOICES] == [True] * len(CHOICES)
    assert not any(is_choice(noise) for noise in ADDED)
    assert not any(is_added(noise) for noise in CHOICES)


def test_a_law_says_in_which_norm_its_event_reads_a_sensitivity():
    laplace, gaussian = ADDED
    assert (laplace.law.norm, laplace.law.power) == (L1, strategy.LAPLACE)
    assert (gaussian.law.norm, gaussian.law.power) == (L2, strategy.GAUSSIAN)
    assert laplace.event(6).epsilon == 2 * laplace.event(3).epsilon  # ε adds up
    assert gaussian.event(6).rho == 4 * gaussian.event(3).rho


@pytest.mark.parametrize("noise", [Laplace(1000), Gaussian(1000, MILLIONTH)], ids=str)
def test_a_continuous_variance_is_that_of_a_noise_too_wide_for_its_lattice_to_show(noise):
    assert noise.law.continuous_variance == pytest.approx(noise.variance, rel=1e-6)
    assert is_wide_noise(replace_size(noise, 2**40 + 1))
    assert not is_wide_noise(replace_size(noise, 2**40))


def replace_size(noise, size):
    return kept_noise(noise.law.name, Fraction(size), delta=noise.law.delta)


def test_a_law_of_any_size_a_price_can_have_is_told():
    """The law is looked at while a question is planned: no part of it may overflow there."""
    for noise in (
        Laplace(Fraction(2) ** 128),
        Laplace(Fraction(1, 10**200)),
        Gaussian(Fraction(2) ** 128, MILLIONTH),
    ):
        assert noise.law.size > 0
    for rate in (Fraction(1, 10**400), Fraction(10) ** 400):
        assert Exponential(rate, adjacency=Adjacency.ADD_REMOVE).law.size == rate


@pytest.fixture
def planned():
    """A question whose count has a noise that nobody knows."""
    made = clinic(unit="row", max_groups=1, max_rows=1)
    plan = made.plan("DP-SELECT 1 dept, COUNT(*) AS n FROM visits GROUP BY dept")
    (measurement,) = plan.measurements
    return made, plan, replace(plan, measurements=(replace(measurement, noise=Stranger(Laplace(3))),))


def test_a_noise_that_nobody_knows_is_drawn_and_shown_with_its_own_error(planned):
    made, _, strange = planned
    noisy = measure(strange, made.exact(strange), public={}, source=Seeded(5))
    shown = answer(strange, noisy)
    exact = dict(zip(("CS", "Econ", "Bio"), (50, 50, 50), strict=True))
    assert all((n - exact[dept]) % 2 == 0 for dept, n in shown.rows)
    assert {error for _, error in shown.errors} == {float(Stranger(Laplace(3)).error(Fraction(95, 100)))}


def test_a_noise_that_nobody_knows_is_priced_described_and_hashed_as_itself(planned):
    _, plan, strange = planned
    (measurement,) = strange.measurements
    assert measurement.event(2) == LaplaceEvent(Fraction(2, 6))
    assert describe(measurement) == "COUNT(*): even noise of scale 6, sensitivity 1 (L1)"
    assert variance(measurement) == 2 * 6**2
    assert strange.hash != plan.hash
    assert explain(strange, "duckdb").plan == strange.hash


@pytest.mark.parametrize("count", [2, 9, 200])
def test_sums_of_a_noise_that_nobody_knows_are_said_to_stray_no_less_than_they_do(count):
    """Of twice a Laplace draw the true law is known: what is said without it must be no narrower."""
    stranger, twin = Stranger(Laplace(3)), Laplace(3)
    for confidence in (Fraction(1, 2), Fraction(95, 100), Fraction(999_999, 10**6)):
        assert sum_reach(stranger, count=count, confidence=confidence) >= 2 * sum_reach(
            twin, count=count, confidence=confidence
        )


def test_estimates_from_a_noise_that_nobody_knows_are_said_to_stray_no_less_than_known_ones():
    variances = np.geomspace(1e-3, 1e6, 40)
    for confidence in (Fraction(1, 2), Fraction(95, 100), Fraction(999_999, 10**6)):
        widest = strategy.half_width(variances, noise=Stranger(Laplace(3)), confidence=confidence)
        for known in ADDED:
            assert (widest >= strategy.half_width(variances, noise=known, confidence=confidence) - 1e-9).all()


def class_questions(text):
    """Every `isinstance` that names a class of noise."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        if CLASSES & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
    ]


def test_nobody_above_the_mechanisms_asks_of_which_class_a_noise_is():
    root = Path(tacit.__file__).parent
    files = [path for path in root.rglob("*.py") if root / "mechanisms" not in path.parents]
    assert {str(path): found for path in files if (found := class_questions(path.read_text()))} == {}


def test_a_question_of_its_class_would_be_noticed():
    assert class_questions("if isinstance(m.noise, (Laplace, Gaussian)):\n    pass") == [1]
    assert class_questions("x = y if isinstance(n, Exponential) else z") == [1]


def test_a_kept_answer_says_its_noise_by_name(tmp_path):
    made = clinic(unit="row", max_groups=1, max_rows=1)
    curator = made.curator(tmp_path)
    try:
        session, question = Session("ana"), "DP-SELECT 1 MEDIAN(age), COUNT(*) FROM visits"
        first = curator.ask(question, session=session)
        again = curator.ask(question, session=session)
        assert (again.rows, again.cost.epsilon) == (first.rows, 0)
    finally:
        curator._ledger.close()
