"""The adversary against models of `tacit.learn`: membership by shadows, and the one-run audit by canaries."""

from __future__ import annotations

import numpy as np
import pytest

from support.sources import Seeded
from tacit.attack import audit_one_run, shadow_membership
from tacit.core import Loss
from tacit.learn import GaussianBayesClassifier, LogisticClassifier, NaiveBayesClassifier
from tacit.learn.classifiers import logistic
from tacit.mechanisms import Gaussian

ROWS = 300
DRAWS = np.random.default_rng(1)
FEATURES = DRAWS.normal(size=(ROWS, 2)).clip(-3, 3)
TARGET = (FEATURES[:, 0] + DRAWS.normal(size=ROWS) > 0).astype(int)


def test_shadows_of_a_private_model_find_no_more_than_its_price_allows():
    source = Seeded(2)

    def train(rows):
        model = NaiveBayesClassifier(epsilon=1, features=[(-3, 3), (-3, 3)], classes=[0, 1], source=source)
        return model.fit(FEATURES[rows], TARGET[rows])

    def score(model, rows):
        return np.log(model.predict_proba(FEATURES[rows])[np.arange(rows.size), TARGET[rows]] + 1e-9)

    found = shadow_membership(train, score, ROWS, shadows=6, loss=Loss(1, "0.000001"), source=Seeded(3))
    assert found.ceiling is not None
    assert found.low <= found.ceiling


def canaries_in(epsilon):
    """Every canary has a cell of its own in the model's histogram: what is learnt of the cell is what is told."""
    source = Seeded(4)

    def run(inside):
        places = np.flatnonzero(inside)
        model = NaiveBayesClassifier(
            epsilon=epsilon, features=[[str(place) for place in range(inside.size)]], classes=[0, 1], source=source
        )
        model.fit(places.astype(str).reshape(-1, 1), np.ones(places.size, dtype=int))
        return model.predict_proba(np.arange(inside.size).astype(str).reshape(-1, 1))[:, 1]

    return run


def test_one_run_holds_a_model_to_its_price_and_catches_one_that_claims_too_little():
    honest = audit_one_run(canaries_in(4), 400, delta=1e-6, claimed=4, source=Seeded(5))
    assert 0.3 < honest.epsilon <= 4
    boastful = audit_one_run(canaries_in(8), 400, delta=1e-6, claimed=1, source=Seeded(5))
    assert boastful.violates


def canaries_in_weights(kind, epsilon):
    """Every canary has a column of its own: what is learnt of the column is what is told."""
    source = Seeded(6)

    def run(inside):
        places = np.flatnonzero(inside)
        names = [str(place) for place in range(inside.size)]
        model = kind(epsilon=epsilon, features=[names], classes=[0, 1], source=source)
        model.fit(places.astype(str).reshape(-1, 1), np.ones(places.size, dtype=int))
        return model.predict_proba(np.array(names).reshape(-1, 1))[:, 1]

    return run


@pytest.mark.parametrize("kind", [LogisticClassifier, GaussianBayesClassifier])
def test_one_run_holds_models_of_sums_to_their_price(kind):
    honest = audit_one_run(canaries_in_weights(kind, 8), 120, delta=1e-6, claimed=8, source=Seeded(5))
    assert honest.epsilon <= 8
    assert not honest.violates


def test_one_run_catches_gradients_whose_noise_was_left_out(monkeypatch):
    """A planted bug: the sums of gradients leave as they are."""
    released = Gaussian.release

    def bare(self, values, source):
        return np.asarray(values) if np.size(values) == 121 else released(self, values, source)

    monkeypatch.setattr(logistic.Gaussian, "release", bare)
    broken = audit_one_run(canaries_in_weights(LogisticClassifier, 1), 120, delta=1e-6, claimed=1, source=Seeded(5))
    assert broken.violates
