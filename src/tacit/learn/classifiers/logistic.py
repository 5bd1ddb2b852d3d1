"""Logistic regression from noisy gradients and curvatures, with intervals that know of the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, Number, sqrt_above
from tacit.learn.conventions import two_labels_of
from tacit.learn.sums.array_rows import FAR, SHARES, WEIGHT
from tacit.learn.sums.moments import GRID, Scaled, composed, design, scaled, surely_inverted, symmetric, weighted
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsClassifier, classes_cells
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray, Source

Floats = NDArray[np.float64]
_STEEPEST = SHARES // 4  # p (1 − p) is at most a quarter
_SAFE = 1.5  # times what the noise of a curvature may take from its least eigenvalue
_LARGE = 4.0  # a weight beyond which gradients may be noise


class AddsGradients(Protocol):
    """Whoever can add the rows up: arrays, or an engine."""

    def residuals(self, weights: IntArray) -> IntArray:
        """Σ (truth − probability) x, by the public table of probabilities."""

    def curvature(self, weights: IntArray) -> IntArray:
        """Σ p (1 − p) xxᵀ, each pair once."""

    def right(self, weights: IntArray) -> int:
        """How many rows the public table of probabilities tells right."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One curvature, then so many gradients that use it: with these shares of rho."""

    curvature: Fraction
    gradients: Fraction
    rounds: int


STAGES = (
    Stage(Fraction(6, 100), Fraction(14, 100), 8),
    Stage(Fraction(6, 100), Fraction(14, 100), 4),
    Stage(Fraction(10, 100), Fraction(50, 100), 4),
)


@dataclass(frozen=True, slots=True)
class LogisticPlan:
    """For each stage a noisy curvature and its noisy gradients.

    A row x of f features, the ones among them, has |x|² ≤ f, so that its gradient has a length of at most √f, and its
    curvature, each pair once, one of at most √((f² + f) / 2) / 4. That weights depend on what was released before
    changes nothing, as in `AdditivePlan`.
    """

    width: int
    loss: Loss
    noises: tuple[Gaussian, ...]  # a curvature's and a gradient's, stage after stage
    moves: tuple[Fraction, ...]

    @property
    def event(self) -> Event:
        """What an accountant needs to know of all of it."""
        return composed(*_each_round(self.noises, self.moves))


def plan_logistic(features: Sequence[Scaled], loss: Loss, *, times: int) -> LogisticPlan:
    """The least noise for which all stages cost no more than `loss` together."""
    count = len(features) + 1
    steep = times * _STEEPEST * GRID * GRID * sqrt_above(Fraction(count * count + count, 2))
    sloping = times * SHARES * GRID * sqrt_above(Fraction(count))
    parts: list[tuple[Number, Fraction]] = []
    for stage in STAGES:
        parts += [(steep, stage.curvature), *[(sloping, stage.gradients / stage.rounds)] * stage.rounds]
    noises = Gaussian.jointly(loss, parts)
    firsts = np.cumsum([0, *(1 + stage.rounds for stage in STAGES[:-1])]).tolist()
    kept = tuple(noises[index] for first in firsts for index in (first, first + 1))
    return LogisticPlan(1 + sum(each.width for each in features), loss, kept, (steep, sloping) * len(STAGES))


def _each_round(noises: Sequence[Gaussian], moves: Sequence[Fraction]) -> tuple[list[Gaussian], list[Fraction]]:
    times = [count for stage in STAGES for count in (1, stage.rounds)]
    drawn = [(noise, move) for noise, move, count in zip(noises, moves, times, strict=True) for _ in range(count)]
    return [noise for noise, _ in drawn], [move for _, move in drawn]


class LogisticClassifier(SumsClassifier):
    """Two classes, told apart by the logit of a weighted sum of the columns, scaled by their bounds into [−1, 1].

    Newton's method in three stages. Each measures the curvature where it stands, and takes steps by noisy gradients;
    the weights are the mean of the last stage's, which has half of the budget. What noise alone could have made of a
    weight, a ridge draws towards zero.

    `coef_` are log-odds by one more of each column, and `coef_intervals_` half-widths of 95 % intervals that cover
    sampling, noise, and how far the steps still were from where the mean of the last gradients says that they lead.

    Guarantee:    (ε, δ)-DP for one row added or removed, all stages together (`LogisticPlan`).
    Sensitivity:  L2 of a row's gradient and curvature, from the declared bounds alone.
    Exactness:    rows, weights and probabilities are whole numbers of steps, probabilities from a public table;
                  sums and noise are whole numbers.
    Reference:    Avella-Medina, Bradshaw & Loh, Ann. Statist. 51 (2023) (noisy Newton steps, and their intervals).
    """

    scaled_: tuple[Scaled, ...]
    weights_: NDArray[np.float64]
    intervals_: NDArray[np.float64]

    def _labelled(self, truth: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
        return two_labels_of(truth, self.classes)

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        features = scaled(declared.features, declared.names)
        plan = plan_logistic(features, declared.loss, times=declared.times)
        classes = classes_cells(declared.classes)
        return Study(features, classes, plan, lambda data, source: climbed(plan, data, source))

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.scaled_, self.weights_, self.intervals_ = study.columns, learnt["weights"], learnt["intervals"]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """By how much the log-odds grow with one more of each column; of a category, beside no category."""
        return self._in_units(self.weights_[1:])

    @property
    def coef_intervals_(self) -> NDArray[np.float64]:
        """Half-widths of 95 % intervals around `coef_`."""
        return self._in_units(self.intervals_[1:])

    def _in_units(self, weights: Floats) -> Floats:
        halves = [1.0 if each.values else each.scale[1] for each in self.scaled_ for _ in range(each.width)]
        result: Floats = weights / np.array(halves)
        return result

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """The log-odds of the second class, for each row."""
        columns = self._columns(X)
        return weighted(design(self.scaled_, columns), self.weights_) / GRID

    def right_in(self, data: AddsGradients) -> int:
        """Of how many rows the model tells the class."""
        return data.right(in_steps(self.weights_))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, for each row."""
        second = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -500, 500)))
        return np.stack([1 - second, second], axis=1)


def climbed(plan: LogisticPlan, data: AddsGradients, source: Source) -> Learnt:
    """Stage by stage; it sees what was released, and nothing else."""
    weights = np.zeros(plan.width)
    for index, stage in enumerate(STAGES):
        steep, sloping = plan.noises[2 * index], plan.noises[2 * index + 1]
        released = steep.release(data.curvature(in_steps(weights)), source) / (SHARES * GRID**2)
        values, vectors = np.linalg.eigh(symmetric(released, plan.width))
        curved = (vectors * np.maximum(values, 0.0)) @ vectors.T
        whole = float(sloping.sigma) / (SHARES * GRID) / np.sqrt(stage.rounds)  # of all gradients of the stage
        ridge = whole / _LARGE
        lost = _SAFE * float(steep.sigma) / (SHARES * GRID**2) * np.sqrt(plan.width)
        inverse = np.linalg.inv(curved + (ridge + lost) * np.eye(plan.width))
        path, seen, slopes = [], [], []
        for _ in range(stage.rounds):
            seen.append(weights)
            slopes.append(sloping.release(data.residuals(in_steps(weights)), source) / (SHARES * GRID))
            weights = np.clip(weights + inverse @ (slopes[-1] - ridge * weights), -FAR / WEIGHT, FAR / WEIGHT)
            path.append(weights)
        weights = np.mean(path if index == len(STAGES) - 1 else path[stage.rounds // 2 :], axis=0)
    sure = surely_inverted(curved, sigma=float(steep.sigma) / (SHARES * GRID**2))
    covariance = sure @ (curved + whole**2 * np.eye(plan.width)) @ sure
    missed = np.abs(np.mean(seen, axis=0) + sure @ np.mean(slopes, axis=0) - weights)
    return {"weights": weights, "intervals": 1.96 * np.sqrt(np.maximum(np.diag(covariance), 0.0)) + missed}


def in_steps(weights: Floats) -> IntArray:
    """Weights as whole numbers, held where no score leaves its type."""
    return np.clip(np.rint(weights * WEIGHT), -FAR, FAR).astype(np.int64)
