"""Choosing among settings: the number of runs has its law, all of it costs what was asked, the better one wins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from support.sources import Seeded
from tacit.accounting import Zcdp, renyi_to_dp, zcdp_of
from tacit.accounting.best_of import best_of_curve, stopping_chance
from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.learn import (
    KMeansClusters,
    LogisticClassifier,
    NaiveBayesClassifier,
    PrivateSearch,
    RidgeRegressor,
    searching,
)
from tacit.learn.searching import number_of_runs, plan_search
from tacit.learn.sums.studies import SumsLearner
from tacit.mechanisms import Gaussian

FALSE_ALARM = 1e-9
LOSS = Loss(1, Fraction(1, 10**6))
BOX = {"features": [(-1, 1), (-1, 1)], "classes": [0, 1]}


def points(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A cross, of which logits see nothing: whoever multiplies does, and so do cells of one's own."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, (count, 2))
    return rows, (rows[:, 0] > 0.2).astype(int)


def p_value(chance: Fraction, claimed: Fraction, draws: int = 1_000) -> float:
    """Of the number of runs against the logarithmic law."""
    source = Seeded(7)
    found = np.minimum([number_of_runs(chance, source) for _ in range(draws)], 12)
    law = np.array([float(1 - claimed) ** k / k / math.log(1 / float(claimed)) for k in range(1, 12)])
    expected = draws * np.append(law, 1 - law.sum())
    return float(stats.chisquare(np.bincount(found, minlength=13)[1:], expected).pvalue)


def test_the_number_of_runs_has_its_law_and_another_is_noticed():
    chance = Fraction(1, 8)
    assert p_value(chance, chance) > FALSE_ALARM
    assert p_value(chance, chance / 2) < FALSE_ALARM


@pytest.mark.parametrize("runs", [1.5, 4, 30])
def test_as_many_runs_as_were_wished_for_on_average(runs):
    chance = float(stopping_chance(runs))
    assert 0.98 * runs < (1 / chance - 1) / math.log(1 / chance) <= runs * 1.0001


@pytest.mark.parametrize(("rho", "chance"), [(0.001, 0.05), (0.02, 0.3), (2.0, 0.9)])
def test_the_curve_is_the_theorems(rho, chance):
    curve = best_of_curve(Fraction(rho), Fraction(chance))
    long = math.log(1 / chance)
    mean = (1 / chance - 1) / long
    more = min((1 - 1 / b) * b * rho + long / b for b in np.geomspace(1, 1e4, 20_001))
    for order, value in zip(curve.orders, curve.values, strict=True):
        a = float(order)
        assert float(value) == pytest.approx(a * rho + more + math.log(mean) / (a - 1), rel=1e-5)


def test_a_search_over_two_answers_costs_no_more_than_is_said():
    """Exactly, for randomised response: what the best of K says, whose score is the answer, beside its Rényi bound."""
    chance, q = 0.2, 1 / (1 + math.exp(0.3))
    rho = 0.3**2 / 2
    weights = [(1 - chance) ** k / k / math.log(1 / chance) for k in range(1, 200)]
    none = [sum(w * (1 - p) ** k for k, w in enumerate(weights, 1)) for p in (q, 1 - q)]  # that no run says "yes"
    bound = best_of_curve(Fraction(rho), Fraction(chance))
    for order, value in list(zip(bound.orders, bound.values, strict=True))[3:20]:
        a = float(order)
        for one, other in (none, none[::-1]):
            moment = one**a * other ** (1 - a) + (1 - one) ** a * (1 - other) ** (1 - a)
            assert math.log(moment) / (a - 1) <= float(value)


def drawn_rho(monkeypatch, factor=Fraction(1)) -> tuple[Fraction, Fraction, PrivateSearch]:
    """The rho of the dearest run, from the noise that was drawn, and what a run may cost."""
    heard: list[tuple[Gaussian, int]] = []
    release = Gaussian.release

    def listening(self, values, source):
        heard.append((self, np.size(values)))
        return release(Gaussian(self.sigma * factor, self.delta), values, source)

    monkeypatch.setattr(Gaussian, "release", listening)
    candidates = [NaiveBayesClassifier(**BOX)]
    model = PrivateSearch(candidates, runs=3, source=Seeded(3)).fit(*points(300))
    plan = plan_search(LOSS, stopping_chance(3), candidates, ("x0", "x1"))
    fits = [Fraction(2) / (2 * (noise.sigma * factor) ** 2) for noise, size in heard if size > 1]
    scores = [Fraction(2**20) / (2 * (noise.sigma * factor) ** 2) for noise, size in heard if size == 1]
    assert len(fits) == len(scores) >= 1
    return max(*fits, *scores), plan.rho, model


def test_all_runs_together_cost_what_was_asked_for(monkeypatch):
    rho, most, model = drawn_rho(monkeypatch)
    assert model.loss_ == LOSS
    assert rho <= most
    whole = renyi_to_dp(best_of_curve(most, stopping_chance(3)), LOSS.delta)
    assert Fraction(98, 100) < whole.epsilon <= 1


def test_noise_that_is_a_tenth_too_small_is_noticed(monkeypatch):
    rho, most, _ = drawn_rho(monkeypatch, Fraction(9, 10))
    assert rho > most


def test_the_better_setting_is_chosen_and_told():
    rows, truth = points(6_000)
    good, bad = LogisticClassifier(**BOX), LogisticClassifier(features=[(-1, 1), (50, 90)], classes=[1, 0])
    wrong = NaiveBayesClassifier(features=[{"edges": [0.99]}, {"edges": [0.99]}], classes=[0, 1])
    searches = [PrivateSearch([wrong, good], epsilon=2, runs=8, source=Seeded(seed)) for seed in range(4)]
    chosen = [each.fit(rows, truth) for each in searches]
    right = sum(each.best_index_ == 1 for each in chosen)
    assert right >= 2  # one in five misses, where no run tries the good one; these draws are fixed
    model = next(each for each in chosen if each.best_index_ == 1)
    assert float(np.mean(model.predict(rows) == truth)) > 0.9
    assert model.predict_proba(rows).shape == (6_000, 2)
    assert 1_500 < model.best_right_ < 1_950  # of about 1,800 that were held back
    assert bad.classes == [1, 0]


def test_regressors_are_chosen_too():
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1, 1, (4_000, 1))
    lines = [RidgeRegressor(features=[(-1, 1)], target=(-1, 1), ridge=ridge) for ridge in (1e6, 0)]
    searches = [PrivateSearch(lines, runs=6, source=Seeded(seed)) for seed in range(4)]
    assert sum(each.fit(rows, rows[:, 0] * 0.8).best_index_ for each in searches) >= 2


@pytest.mark.parametrize("text", ["much", [1], "1e999x"])
def test_a_target_that_is_no_number_is_refused_whatever_part_it_falls_into(text):
    truth = np.empty(40, dtype=object)
    truth[:] = [0.5] * 39 + [text]
    for seed in range(6):
        search = PrivateSearch([RidgeRegressor(features=[(-1, 1)])], runs=2, source=Seeded(seed))
        with pytest.raises(InvalidParameter, match="declared a number"):
            search.fit(np.zeros((40, 1)), truth)


class Broken(SumsLearner):
    """No estimator at all."""


BAD = {
    "nobody": [],
    "clusters": [KMeansClusters(2)],
    "two kinds": [RidgeRegressor(), LogisticClassifier(classes=[0, 1])],
    "classes that nobody named": [LogisticClassifier()],
    "not ours": [3],
}


@pytest.mark.parametrize("case", BAD, ids=BAD)
def test_what_cannot_be_searched_is_refused(case, monkeypatch):
    monkeypatch.setattr(searching, "number_of_runs", lambda *_: pytest.fail("something was run"))
    with pytest.raises(InvalidParameter):
        PrivateSearch(BAD[case]).fit(*points(50))


@pytest.mark.parametrize("options", [{"epsilon": 0}, {"delta": 0}, {"runs": 1}, {"runs": 10**9}, {"epsilon": "1e-9"}])
def test_prices_that_pay_for_nothing_are_refused(options):
    with pytest.raises(InvalidParameter):
        PrivateSearch([LogisticClassifier(**BOX)], **options).fit(*points(50))


def test_what_a_run_costs_is_what_its_candidate_says():
    candidates = [LogisticClassifier(**BOX), NaiveBayesClassifier(**BOX)]
    plan = plan_search(LOSS, Fraction(1, 10), candidates, ("x0", "x1"))
    for each in candidates:
        each.set_params(epsilon=plan.run.epsilon, delta=plan.run.delta).fit(*points(40))
        assert zcdp_of(each.event_).rho <= plan.rho


def test_a_candidate_that_may_fail_by_itself_is_refused(monkeypatch):
    monkeypatch.setattr(searching, "zcdp_of", lambda event: Zcdp(zcdp_of(event).rho, Fraction(1, 10**9)))
    candidates = [LogisticClassifier(**BOX)]
    with pytest.raises(InvalidParameter, match="a probability of its own"):
        plan_search(LOSS, Fraction(1, 8), candidates, ("x", "y"))
