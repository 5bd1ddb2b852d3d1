"""The maximum-likelihood classifier, naive about how features go together: from one noisy histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, sqrt_above
from tacit.learn.classifiers.additive_rounds import CellScores, in_steps
from tacit.learn.sums.cells import FeatureCells, cells_of, offsets
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsClassifier, classes_cells
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray, Source


class CountsClasses(Protocol):
    """Whoever can count the rows: arrays, or an engine."""

    def class_counts(self) -> IntArray:
        """How many rows of each class fall into each cell: class after class, feature after feature."""


class NaiveBayesClassifier(SumsClassifier):
    """Any number of classes, by how often each cell of each feature is seen with them.

    One histogram is measured: rows by class and cell, for all features at once. A class's own count is what its cells
    say on average, so it costs nothing more. `features` and `classes` are those of `AdditiveClassifier`, which predicts
    better; this one is simpler, faster, and knows more than two classes.

    Guarantee:    (ε, δ)-DP for one row added or removed.
    Sensitivity:  L2, √k for k features: a row is in one cell of each, whatever it holds.
    Exactness:    counts and noise are whole numbers.
    Reference:    Vaidya, Shafiq, Basu & Hong, WI-IAT 2013; the noise: `Gaussian`.
    """

    _many_classes = True
    cells_: tuple[FeatureCells, ...]
    log_shares_: tuple[NDArray[np.float64], ...]
    log_priors_: NDArray[np.float64]

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        cells = cells_of(declared.features, declared.names)
        plan = plan_bayes(cells, declared.loss, times=declared.times)

        def learn(data: CountsClasses, source: Source) -> Learnt:
            noisy = plan.noise.release(data.class_counts(), source)
            return _shares(noisy.reshape(len(declared.classes), -1), cells, floor=1.0 + float(plan.noise.sigma) / 2)

        return Study(cells, classes_cells(declared.classes), plan, learn)

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.cells_ = study.columns
        self.log_priors_ = learnt["priors"]
        self.log_shares_ = tuple(np.split(learnt["shares"], offsets(self.cells_)[1:-1], axis=1))

    def right_in(self, data: CellScores) -> int:
        """Of how many rows the model tells the class, where there are two."""
        odds = np.hstack(self.log_shares_)
        return data.right(*in_steps(odds[1] - odds[0], float(self.log_priors_[1] - self.log_priors_[0])))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, for each row."""
        columns = self._columns(X)
        score = np.tile(self.log_priors_, (len(columns[0]), 1))
        for cells, shares, column in zip(self.cells_, self.log_shares_, columns, strict=True):
            score += shares[:, cells.codes(column)].T
        likely = np.exp(score - score.max(axis=1, keepdims=True))
        probabilities: NDArray[np.float64] = likely / likely.sum(axis=1, keepdims=True)
        return probabilities


@dataclass(frozen=True, slots=True)
class BayesPlan:
    """One noisy histogram, by class and cell."""

    loss: Loss
    noise: Gaussian
    moved: Fraction

    @property
    def event(self) -> Event:
        """What an accountant needs to know of it."""
        return self.noise.event(self.moved)


def plan_bayes(cells: Sequence[FeatureCells], loss: Loss, *, times: int) -> BayesPlan:
    """The least noise for which the histogram costs no more than `loss`."""
    moved = times * sqrt_above(Fraction(len(cells)))
    return BayesPlan(loss, Gaussian.costing(loss, moved), moved)


def _shares(noisy: IntArray, cells: Sequence[FeatureCells], *, floor: float) -> Learnt:
    """Shares of each class's rows; what noise alone could have made is drawn towards equal shares."""
    counts = np.maximum(noisy.astype(np.float64), 0.0) + floor
    priors = np.maximum(noisy.sum(axis=1) / len(cells), 1.0)
    parts = np.split(counts, offsets(cells)[1:-1], axis=1)
    shares = [np.log(part / part.sum(axis=1, keepdims=True)) for part in parts]
    return {"priors": np.log(priors / priors.sum()), "shares": np.hstack(shares)}
