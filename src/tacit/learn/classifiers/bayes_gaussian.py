"""Naive Bayes with a normal law for each number and a share for each category: from noisy sums by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, sqrt_above
from tacit.learn.sums.moments import GRID, Scaled, composed, design, scaled, weighted
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsClassifier, classes_cells
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray, Source

_NARROWEST = 0.02  # standard deviation, where the bounds are two wide


class AddsByClass(Protocol):
    """Whoever can add the rows up: arrays, or an engine."""

    def by_class(self) -> IntArray:
        """For each class its number of rows, in steps, their sum, and the sum of their squares."""


@dataclass(frozen=True, slots=True)
class GaussianBayesPlan:
    """Noises for counts and sums, and for the squares of numbers where there are any."""

    loss: Loss
    noises: tuple[Gaussian, ...]
    moves: tuple[Fraction, ...]

    @property
    def event(self) -> Event:
        """What an accountant needs to know of both."""
        return composed(self.noises, self.moves)


class GaussianBayesClassifier(SumsClassifier):
    """Any number of classes, by the mean and variance that each number has in them, and the share of each category.

    Numbers are scaled by their bounds into [−1, 1]. For each class its count, its sums and its sums of squares less one
    half are measured, which is half as far as squares themselves reach. `NaiveBayesClassifier`, from cells, needs no
    normal law, and no mean; this one has fewer numbers to measure, and so needs fewer rows.

    Guarantee:    (ε, δ)-DP for one row added or removed.
    Sensitivity:  L2, √(1 + f) for the counts and sums of f features, √n / 2 for the squares of n numbers: a row is in
                  one class.
    Exactness:    rows are rounded to 2^-10 of half their bounds; sums and noise are whole numbers.
    Reference:    Vaidya, Shafiq, Basu & Hong, WI-IAT 2013; the noise: `Gaussian`.
    """

    _many_classes = True
    scaled_: tuple[Scaled, ...]
    log_priors_: NDArray[np.float64]
    means_: NDArray[np.float64]
    variances_: NDArray[np.float64]

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        features = scaled(declared.features, declared.names)
        is_number = _numbers(features)
        moves = [declared.times * GRID * sqrt_above(Fraction(len(features) + 1))]
        if is_number.any():
            moves.append(declared.times * GRID * GRID * sqrt_above(Fraction(int(is_number.sum()), 4)))
        noises = Gaussian.jointly(declared.loss, [(move, Fraction(1, len(moves))) for move in moves])
        plan = GaussianBayesPlan(declared.loss, noises, tuple(moves))

        def learn(data: AddsByClass, source: Source) -> Learnt:
            return _laws(plan, data.by_class(), is_number, source)

        return Study(features, classes_cells(declared.classes), plan, learn)

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.scaled_, self.log_priors_ = study.columns, learnt["priors"]
        self.means_, self.variances_ = learnt["means"], learnt["variances"]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """The probability of each class, for each row."""
        columns = self._columns(X)
        rows = design(self.scaled_, columns)[:, 1:] / GRID
        is_number = _numbers(self.scaled_)
        score = np.tile(self.log_priors_, (len(rows), 1))
        for index, (mean, variance) in enumerate(zip(self.means_, self.variances_, strict=True)):
            off = (rows[:, is_number] - mean[is_number]) ** 2 + variance[is_number] * np.log(variance[is_number])
            score[:, index] -= weighted(off, 1 / variance[is_number]) / 2
            score[:, index] += weighted(rows[:, ~is_number], np.log(mean[~is_number]))
        likely = np.exp(score - score.max(axis=1, keepdims=True))
        probabilities: NDArray[np.float64] = likely / likely.sum(axis=1, keepdims=True)
        return probabilities


def _numbers(features: Sequence[Scaled]) -> NDArray[np.bool_]:
    """Which columns of the design are numbers."""
    return np.array([not each.values for each in features for _ in range(each.width)], dtype=np.bool_)


def _laws(plan: GaussianBayesPlan, sums: IntArray, is_number: NDArray[np.bool_], source: Source) -> Learnt:
    """Means, variances and priors; what noise alone could have made is drawn towards what is everybody's."""
    width = 1 + is_number.size
    first = plan.noises[0].release(sums[:, :width], source) / GRID
    noise = float(plan.noises[0].sigma) / GRID
    rows = np.maximum(first[:, :1], 1.0)
    all_means = first[:, 1:].sum(axis=0) / rows.sum()
    means = (first[:, 1:] + noise * all_means) / (rows + noise)
    floor = np.where(is_number, -1.0, np.minimum(1e-3 + noise / (rows + noise) / width, 0.5))
    variances = np.ones_like(means)
    if is_number.any():
        centred = sums[:, width:][:, is_number] - sums[:, :1] * (GRID // 2)
        second = plan.noises[1].release(centred, source) / GRID**2 + first[:, :1] / 2
        off = float(plan.noises[1].sigma) / GRID**2
        pooled = np.clip(second.sum(axis=0) / rows.sum() - all_means[is_number] ** 2, _NARROWEST**2, 1.0)
        own = second / rows - means[:, is_number] ** 2
        weight = rows / (rows + 2 * off)
        variances[:, is_number] = np.clip(weight * own + (1 - weight) * pooled, _NARROWEST**2, 1.0)
    return {
        "priors": np.log(rows[:, 0] / rows.sum()),
        "means": np.clip(means, floor, 1.0),
        "variances": variances,
    }
