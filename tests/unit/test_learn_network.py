"""The network: each row's gradient is clipped by itself, in whole numbers; the rounds cost what they draw."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import curve_of, numerical_delta, renyi_to_dp
from tacit.attack import audit, callable_draw
from tacit.core import ComposedEvent, FineGaussianEvent, Loss, SampledEvent
from tacit.errors import InvalidParameter
from tacit.learn import NetworkClassifier, load_model, save_model
from tacit.learn.networks.network import Layers, _gradients, gradient_sums
from tacit.learn.networks.network_plan import CLIP, plan_network
from tacit.learn.networks.noisy_descent import clip_rows
from tacit.learn.sums.moments import GRID, design, scaled
from tacit.mechanisms import Gaussian

BOUNDS = [(-1, 1), (0, 10)]
WIDTH, HIDDEN, CLASSES = 3, 4, 3
HOSTILE = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324]) | st.floats()


def layers(seed: int, size: float, *, hidden: int = HIDDEN) -> Layers:
    rng = np.random.default_rng(seed)
    inner = rng.normal(0, size, (WIDTH, hidden))
    return Layers(inner, rng.normal(0, size, (hidden + 1 if hidden else WIDTH, CLASSES)))


def rows_of(cells: list[Any]) -> np.ndarray:
    columns = [np.array([cell], dtype=object) for cell in cells]
    return design(scaled(BOUNDS, ["x", "y"]), columns) / GRID


@settings(max_examples=80, deadline=None)
@given(HOSTILE, HOSTILE, st.integers(0, 2), st.integers(0, 99), st.sampled_from([0.0, 1.0, 1e3]), st.booleans())
def test_no_row_moves_the_sum_of_gradients_by_more_than_the_clip(x, y, which, seed, size, deep):
    net = layers(seed, size, hidden=HIDDEN if deep else 0)
    moved = gradient_sums(net, rows_of([x, y]), np.array([which]))
    assert moved.dtype == np.int64
    assert sum(int(step) ** 2 for step in moved) <= CLIP**2


@settings(max_examples=60, deadline=None)
@given(st.lists(HOSTILE, min_size=3, max_size=3))
def test_whatever_a_gradient_holds_it_isclip_rows(gradient):
    with np.errstate(over="ignore"):
        steps = clip_rows(np.array([gradient]))
    assert np.isfinite(steps).all()
    assert sum(int(step) ** 2 for step in steps[0]) <= CLIP**2


def furthest(summed: Any) -> float:
    """How far one more row moves the sum, in clips."""
    rng = np.random.default_rng(3)
    rows, which = rng.uniform(-1, 1, (60, WIDTH)), rng.integers(0, CLASSES, 60)
    net = layers(1, 3.0)
    sums = [summed(net, rows[:count], which[:count]).astype(float) for count in range(1, 61)]
    return max(float(np.linalg.norm(after - before)) for before, after in pairwise(sums)) / CLIP


def test_gradients_are_clipped_row_by_row():
    assert furthest(gradient_sums) <= 1 + 1e-12


def test_clipping_the_mean_of_a_batch_is_noticed():
    def clips_the_mean(net: Layers, rows: np.ndarray, which: np.ndarray) -> np.ndarray:
        mean = _gradients(net, rows, which).mean(axis=0, keepdims=True)
        return clip_rows(mean)[0] * len(rows)  # as the sum of so many clipped ones

    assert furthest(clips_the_mean) > 1


def differs_in_company(width: int = 65, hidden: int = 32, classes: int = 10) -> int:
    """How many numbers of the gradients of 120 rows depend on who else is there, or where a row stands."""
    rng = np.random.default_rng(0)
    rows = np.hstack([np.ones((120, 1)), rng.integers(-GRID, GRID + 1, (120, width - 1)) / GRID])
    which = rng.integers(0, classes, 120)
    net = Layers(rng.normal(0, 0.3, (width, hidden)), rng.normal(0, 30, (hidden + 1, classes)))
    alone = np.vstack([_gradients(net, rows[[place]], which[[place]]) for place in range(120)])
    later = _gradients(net, rows[1:], which[1:])
    return int((alone != _gradients(net, rows, which)).sum() + (alone[1:] != later).sum())


def test_a_rows_gradient_is_the_same_whoever_else_is_there_to_the_last_bit():
    assert differs_in_company() == 0


def test_products_of_doubles_that_know_of_other_rows_are_noticed(monkeypatch):
    monkeypatch.setattr(
        "tacit.learn.networks.network.exact_product", lambda rows, weights: rows @ (weights * (1 + 1e-9))
    )
    assert differs_in_company() > 0


def test_rows_in_many_parts_add_up_to_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    rows, which = rng.uniform(-1, 1, (50, WIDTH)), rng.integers(0, CLASSES, 50)
    whole = gradient_sums(layers(2, 1.0), rows, which)
    monkeypatch.setattr("tacit.learn.networks.network._CHUNK", 100)
    assert (gradient_sums(layers(2, 1.0), rows, which) == whole).all()


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────────────


def heard(monkeypatch: Any, factor: float = 1, **options: Any) -> tuple[list[Fraction], Any]:
    drawn: list[Fraction] = []
    release = Gaussian.release

    def listening(self: Gaussian, values: Any, source: Any) -> Any:
        noise = Gaussian(self.sigma * Fraction(factor), self.delta)
        drawn.append(noise.sigma)
        return release(noise, values, source)

    rng = np.random.default_rng(2)
    with monkeypatch.context() as patched:
        patched.setattr(Gaussian, "release", listening)
        model = NetworkClassifier(2, epsilon=1, delta="1e-6", features=BOUNDS, classes=[0, 1], rounds=7, **options)
        model.fit(rng.uniform(-1, 1, (30, 2)), rng.integers(0, 2, 30))
    return drawn, model


def delta_at_one(drawn: list[Fraction]) -> float:
    mu = math.sqrt(float(1 / drawn[0] ** 2 + sum(CLIP**2 / sigma**2 for sigma in drawn[1:])))
    above, below = (math.erfc((1 / mu + half) / math.sqrt(2)) / 2 for half in (-mu / 2, mu / 2))
    return above - math.e * below


def test_rounds_of_all_rows_cost_what_was_asked_for_and_waste_nothing(monkeypatch):
    drawn, model = heard(monkeypatch)
    assert len(drawn) == 8
    assert 0.97e-6 < delta_at_one(drawn) <= 1e-6
    assert model.loss_ == Loss(1, Fraction(1, 10**6))


def test_noise_that_is_a_tenth_too_small_is_noticed(monkeypatch):
    assert delta_at_one(heard(monkeypatch, factor=0.9)[0]) > 1.5e-6


def test_rounds_of_a_sample_cost_what_was_asked_for_by_their_own_events_and_by_another_accountant(monkeypatch):
    """Held against dp-accounting, which knows the continuous law; both find that nothing is wasted."""
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    drawn, model = heard(monkeypatch, sampling="0.25")
    each = from_gaussian_mechanism(
        float(drawn[1] / CLIP), sampling_prob=0.25, value_discretization_interval=1e-3, use_connect_dots=True
    )
    counted = from_gaussian_mechanism(float(drawn[0]), value_discretization_interval=1e-3, use_connect_dots=True)
    epsilon = each.self_compose(7).compose(counted).get_epsilon_for_delta(1e-6)
    assert 0.99 < epsilon < 1.001
    (count, _), (rounds, times) = model.event_.parts
    assert isinstance(rounds, SampledEvent)
    assert (count.variance, rounds.event.variance, times) == (drawn[0] ** 2, drawn[1] ** 2, 7)
    assert Fraction("0.97e-6") < numerical_delta([model.event_], 1) <= Fraction("1e-6")
    assert drawn[1] < plan_network(Loss(1, "1e-6"), rounds=7, sampling=Fraction(1)).noise.sigma


def test_noise_of_samples_that_is_a_tenth_too_small_is_noticed(monkeypatch):
    drawn, model = heard(monkeypatch, factor=0.9, sampling="0.25")
    (count, _), (rounds, times) = model.event_.parts
    assert drawn[1] ** 2 < rounds.event.variance
    smaller = FineGaussianEvent(Fraction(CLIP**2) / (2 * drawn[1] ** 2), drawn[1] ** 2)
    event = ComposedEvent(((count, 1), (SampledEvent(rounds.probability, smaller), times)))
    assert numerical_delta([event], 1) > Fraction("2e-6")


def test_a_delta_too_small_to_be_added_up_is_paid_by_its_curve():
    plan = plan_network(Loss(1, "1e-14"), rounds=20, sampling=Fraction(1, 10))
    assert Fraction("0.99") < renyi_to_dp(curve_of(plan.event), Fraction("1e-14")).epsilon <= 1


# ── what an auditor sees ─────────────────────────────────────────────────────────────────────────────────────────────


def certificate(summed: Any) -> Any:
    """Of one round at ε = ½, δ = .01, with and without a row whose own gradient is long: the auditor's own event."""
    plan = plan_network(Loss("0.5", "0.01"), rounds=1, sampling=Fraction(1))
    rows, which = np.ones((41, WIDTH)), np.array([0] * 40 + [1])
    net = Layers(np.zeros((WIDTH, 0)), np.full((WIDTH, CLASSES), [9.0, 0.0, 0.0]))  # sure of the first class
    sums = [summed(net, rows[:count], which[:count]) for count in (40, 41)]

    def released(exact: np.ndarray, times: int) -> np.ndarray:
        noisy = plan.noise.simulate(exact, times)
        return noisy @ np.sign(sums[1] - sums[0]).astype(np.int64)

    return audit(callable_draw(released, (sums[1], sums[0])), draws=60_000, delta=0.01, claimed=0.5)


def test_the_auditor_finds_no_more_than_is_claimed():
    """Wrong once in a million times."""
    assert not certificate(gradient_sums).violates


def test_the_auditor_catches_clipping_of_the_mean_of_a_batch():
    """The row's gradient is 2.4 clips long, and the mean of a batch shorter than one: nothing is clipped."""

    def clips_the_mean(net: Layers, rows: np.ndarray, which: np.ndarray) -> np.ndarray:
        return (clip_rows(_gradients(net, rows, which).mean(axis=0, keepdims=True))[0] * len(rows)).astype(np.int64)

    found = certificate(clips_the_mean)
    assert found.violates
    assert found.epsilon > 0.75


# ── what it learns ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_reads_handwritten_digits_nearly_as_well_as_without_privacy():
    """Nine tenths of what a logistic regression reaches without it; .93 ± .01 is usual, so .864 is six sd off."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    rows, which = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(which))
    train, test = order[:1437], order[1437:]
    open_to_all = (
        LogisticRegression(max_iter=400).fit(rows[train] / 16, which[train]).score(rows[test] / 16, which[test])
    )
    model = NetworkClassifier(32, epsilon=3, delta="1e-5", features=[(0, 16)] * 64, classes=list(range(10)), rounds=50)
    assert model.fit(rows[train], which[train]).score(rows[test], which[test]) >= 0.9 * open_to_all


def test_it_is_saved_as_text_and_says_the_same(tmp_path):
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1, 1, (30, 2))
    model = NetworkClassifier(2, features=BOUNDS, classes=[0, 1], rounds=3, sampling="0.5")
    model.fit(rows, rng.integers(0, 2, 30))
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert (again.predict_proba(rows) == model.predict_proba(rows)).all()
    assert again.event_ == model.event_


@pytest.mark.parametrize(
    "options",
    [
        {"hidden": -1},
        {"hidden": 2.5},
        {"rounds": 0},
        {"step": 0},
        {"step": math.nan},
        {"sampling": 0},
        {"sampling": 2},
        {"epsilon": 0},
        {"delta": 0},
        {"classes": [0]},
        {"features": [(0, 1)]},
    ],
    ids=str,
)
def test_bad_input_is_refused_in_our_own_words(options):
    usual: dict[str, Any] = {"features": BOUNDS, "classes": [0, 1], "rounds": 2} | options
    with pytest.raises(InvalidParameter):
        NetworkClassifier(**usual).fit(np.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.filterwarnings("ignore:Estimator .* does not inherit")
def test_scikit_learn_finds_its_conventions_kept():
    from sklearn.utils.estimator_checks import check_estimator

    compared = ("check_fit_idempotent", "check_supervised_y_2d", "check_classifier_data_not_an_array")
    differing = dict.fromkeys(compared, "every fit draws its own noise")
    found = check_estimator(NetworkClassifier(8, epsilon=10_000), expected_failed_checks=differing, on_skip=None)
    assert sum(each["status"] == "passed" for each in found) > 40
