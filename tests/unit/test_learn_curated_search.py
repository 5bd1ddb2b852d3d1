"""A search behind a curator: one charge for all runs, what engines count is what arrays count, the best is told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from conformance.charges import overheard
from tacit.accounting import renyi_to_dp
from tacit.accounting.best_of import best_of_curve
from tacit.core import ApproximateEvent, Loss
from tacit.errors import BudgetExceeded, InvalidParameter, TacitError
from tacit.learn import (
    AdditiveClassifier,
    LogisticClassifier,
    NaiveBayesClassifier,
    NeighbourVotesClassifier,
    PrivateSearch,
    RidgeRegressor,
    TreeClassifier,
)
from tacit.learn.curated import search as curated_search
from tacit.learn.curated.plans import FitRequest
from tacit.learn.sums.studies import in_arrays
from unit.test_learn_curated import HOSTILE, crowd, made
from unit.test_learn_engines import learner

SMALL = [AdditiveClassifier(rounds=2), LogisticClassifier(), NaiveBayesClassifier()]
PRICE = Loss(1, Fraction(1, 10**6))
FINEST = 1 / 500  # four scores, each half a step of 1/256 off, move no probability by more


def searching(**options: Any) -> PrivateSearch:
    return PrivateSearch([type(each)(**each.get_params()) for each in SMALL], **{"runs": 2} | options)


def test_an_engine_counts_as_right_what_arrays_do(tmp_path):
    """To the row; and both what the model then predicts, of all rows whose odds the steps of scores cannot turn."""
    rows = [*HOSTILE, *crowd(120)]
    known = [row for row in rows if row[4] in {"no", "yes"}]
    table = np.array([row[1:4] for row in known], dtype=object)
    truth = np.array([row[4] == "yes" for row in known], dtype=np.int64)
    with learner(made(tmp_path, rows)) as (found, engine):
        for model in SMALL:
            plan = found.plan(model, FitRequest("visits", "ill", epsilon=8))
            arrays = in_arrays(plan.study, list(table.T), truth, classes=2)
            held = type(model)(**model.get_params())
            held.hold(plan.study, plan.study.learn(arrays, found.source), names=plan.names, classes=plan.classes)
            assert held.right_in(plan.rows(engine.execute)) == held.right_in(arrays)
            clear = np.abs(held.predict_proba(table)[:, 1] - 0.5) > FINEST
            said = held.predict(table[clear]) == np.array(["no", "yes"])[truth[clear]]
            assert held.right_in(in_arrays(plan.study, list(table[clear].T), truth[clear], classes=2)) == said.sum()


def test_an_empty_table_can_be_searched(tmp_path):
    with tacit.open(made(tmp_path, []), analyst="ana") as database:
        search = database.fit(searching(), "visits", target="ill")
    assert search.best_index_ in {0, 1, 2}


def run_prices(folder: Path, factor: Fraction = Fraction(1)) -> tuple[Fraction, Fraction, Any]:
    """The dearest run by the noise that was drawn, what a run may cost at most, and the one payment."""
    rows, search = crowd(60), PrivateSearch([NaiveBayesClassifier()], runs=3)
    path = made(folder, rows, unit="who", bounds="max_rows = 2")
    with tacit.open(path, analyst="ana") as database, overheard() as heard:
        database.fit(search, "visits", target="ill")
        assert database.budget.left.epsilon == 9
        again = database.fit(PrivateSearch([NaiveBayesClassifier()], runs=3), "visits", target="ill")
        assert database.budget.left.epsilon == 9
    assert again.best_right_ == search.best_right_
    paid = heard[0]
    sigmas = [noise.sigma * factor for noise in paid.drawn]
    fits, scores = sigmas[::2], sigmas[1::2]
    rho = max(4 * 3 / (2 * f**2) + Fraction(4) / (2 * s**2) for f, s in zip(fits, scores, strict=True))
    with learner(path) as (found, _):
        plan = found.plan_search(search, FitRequest("visits", "ill")).plan
    return rho, plan.rho, paid


def test_all_runs_are_one_charge_and_cost_what_was_asked_for(tmp_path):
    rho, most, paid = run_prices(tmp_path)
    assert (paid.charge.kind, paid.charge.loss) == ("fit", PRICE)
    assert rho <= most * (1 + Fraction(1, 10**6))
    whole = renyi_to_dp(best_of_curve(most, PrivateSearch([NaiveBayesClassifier()], runs=3).chance()), PRICE.delta)
    assert Fraction(95, 100) < whole.epsilon <= 1


def test_noise_that_is_a_tenth_too_small_is_noticed(tmp_path):
    rho, most, _ = run_prices(tmp_path, Fraction(9, 10))
    assert rho > most * (1 + Fraction(1, 10**6))


def test_the_better_model_is_chosen_and_told(tmp_path):
    blind = NaiveBayesClassifier(features={"age": {"edges": [99]}})
    search = PrivateSearch([blind, LogisticClassifier(features={"age": (0, 100)})], epsilon=4, runs=12)
    with tacit.open(made(tmp_path, crowd(3_000)), analyst="ana") as database:
        found = database.fit(search, "visits", target="ill", features=["age"])
    assert found is search
    assert found.event_ == ApproximateEvent(Loss(4, PRICE.delta))
    others = crowd(1_000, seed=6)
    right = np.mean(found.predict(np.array([[row[1]] for row in others])) == np.array([row[4] for row in others]))
    assert found.best_index_ == 0 or right > 0.75  # no run may have tried the good one
    assert list(found.feature_names_in_) == ["age"]
    assert found.predict_proba(np.array([[1], [99]])).shape == (2, 2)


REFUSED: dict[str, tuple[type[TacitError], PrivateSearch, dict[str, Any]]] = {
    "nobody": (InvalidParameter, PrivateSearch([]), {}),
    "votes": (InvalidParameter, PrivateSearch([NeighbourVotesClassifier()]), {}),
    "a tree": (InvalidParameter, PrivateSearch([TreeClassifier()]), {}),
    "a regressor": (InvalidParameter, PrivateSearch([RidgeRegressor()]), {"target": "age"}),
    "three classes": (InvalidParameter, PrivateSearch([NaiveBayesClassifier()]), {"target": "ward"}),
    "no epsilon": (InvalidParameter, searching(), {"epsilon": 0}),
    "next to none": (InvalidParameter, searching(), {"epsilon": "1e-9"}),
    "more than is left": (BudgetExceeded, searching(), {"epsilon": 11}),
    "a run": (InvalidParameter, searching(runs=1), {}),
}


@pytest.mark.parametrize("case", REFUSED, ids=REFUSED)
def test_what_cannot_be_searched_is_refused_at_no_charge(case, tmp_path, monkeypatch):
    error, search, wish = REFUSED[case]
    monkeypatch.setattr(curated_search, "number_of_runs", lambda *_: pytest.fail("something was run"))
    with tacit.open(made(tmp_path), analyst="ana") as database:
        with pytest.raises(error):
            database.fit(search, "visits", **{"target": "ill"} | wish)
        assert database.budget.left.epsilon == 10
    assert not hasattr(search, "best_index_")
