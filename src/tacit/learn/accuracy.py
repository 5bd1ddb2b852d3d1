"""Accuracy first: say how good a model must be, and pay the least at which it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.core import Adjacency, Loss, Number, rational
from tacit.errors import InvalidParameter
from tacit.learn.conventions import Learner, columns_of, target_of
from tacit.learn.moments import GRID, Scaled, design, scaled
from tacit.learn.ridge import RidgeRegressor
from tacit.mechanisms import AboveThreshold, GradualRelease, Laplace
from tacit.noise import SYSTEM, IntArray, Source

Floats = NDArray[np.float64]
_LOSS_STEPS = 64  # steps of one in a loss
_MOST_LOSS = 4  # (y − ŷ)² where both lie within [−1, 1]
_ROUNDED = 2  # steps by which a minimum that is found numerically may be off, on either side
_COUNTED = Fraction(1, 20)  # of epsilon, for the number of rows
_FIRST, _RATIO = Fraction(1, 20), Fraction(11, 10)  # the prices that are tried
_SURE = Fraction(19, 20)


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Weights within the unit ball, and what they cost.

    `spent` is what the tellings that were looked at, the comparisons and the count cost; `reserved` the most that it
    could have been. `is_good`: whether they were found to be as good as asked.
    """

    weights: Floats
    spent: Loss
    reserved: Loss
    comparing: Loss
    tellings: int
    is_good: bool


class AccuracyFirst(Learner):
    """The cheapest ridge regression whose mean squared error is within `alpha` of the best one in the unit ball.

    Columns are scaled by their bounds into [−1, 1], rows longer than 1 are shortened to it, and the target is scaled
    likewise; `alpha` is in those units. Noisy sums of products are told ever more precisely, each telling a noisier
    copy of the next, so that all of them cost what the last one does; after each, a comparison that pays once for all
    asks whether the model made of it is good enough.

    `spent_` depends on the data: it is a promise after the fact (ex-post privacy). Whoever keeps a ledger charges
    `reserved_`, for what is handed back would tell of the data.

    Guarantee:    pure ε-DP with ε = `reserved_`, for one row added or removed; ex post with ε = `spent_`.
    Sensitivity:  L1 of a row's products, and of a loss, which is at most 4 for rows and weights in the unit ball.
    Exactness:    sums and comparisons are of whole numbers.
    Reference:    Ligett, Neel, Roth, Waggoner & Wu, NeurIPS 2017.
    """

    _kind = "regressor"
    scaled_: tuple[Scaled, ...]
    target_: Scaled
    weights_: NDArray[np.float64]
    spent_: Loss
    reserved_: Loss
    comparing_: Loss
    tellings_: int
    is_good_: bool

    def __init__(
        self, estimator: RidgeRegressor | None = None, *, alpha: Number = Fraction(1, 20), most: Number = 20
    ) -> None:
        self.estimator, self.alpha, self.most = estimator, alpha, most

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from rows and their targets. It costs `reserved_`, each time."""
        estimator = self.estimator if self.estimator is not None else RidgeRegressor()
        wanted, dearest = rational(self.alpha, "alpha"), rational(self.most, "most")
        if not isinstance(estimator, RidgeRegressor):
            raise InvalidParameter(
                f"no way to fit a {type(estimator).__name__} accuracy first: a RidgeRegressor can be"
            )
        if not 0 < wanted < _MOST_LOSS or dearest < _FIRST:
            raise InvalidParameter("alpha lies between 0 and 4, and at least 0.05 of epsilon may be spent")
        columns = columns_of(X)
        truth = target_of(y, rows=len(columns[0]))
        features = scaled(estimator.features, self._take_names(X, columns))
        (goal,) = scaled([estimator.target], ["the target"])
        found = search(
            in_ball(design(features, columns)[:, 1:]),
            goal.steps(truth)[:, 0],
            wanted,
            dearest=dearest,
            ridge=1.0 + estimator.ridge,
            source=estimator.source or SYSTEM,
        )
        self.scaled_, self.target_, self.weights_ = features, goal, found.weights
        self.spent_, self.reserved_, self.comparing_ = found.spent, found.reserved, found.comparing
        self.tellings_, self.is_good_ = found.tellings, found.is_good
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """What is expected of each row."""
        columns = self._columns(X)
        middle, half = self.target_.scale
        rows = in_ball(design(self.scaled_, columns)[:, 1:]) / GRID
        found: NDArray[np.float64] = middle + half * (rows @ self.weights_)
        return found


def accuracy_first(estimator: RidgeRegressor, alpha: Number = Fraction(1, 20), *, most: Number = 20) -> AccuracyFirst:
    """An estimator that pays the least at which it is within `alpha` of the best; at most `most` for its sums."""
    return AccuracyFirst(estimator, alpha=alpha, most=most)


def search(rows: Floats, truth: Floats, alpha: Fraction, *, dearest: Fraction, ridge: float, source: Source) -> Reached:
    """Tell, compare, and stop at the first that is good enough."""
    counting = Laplace.costing(Loss(_COUNTED), 1)
    number = max(1, int(counting.release([len(rows)], source)[0]))
    prices = _prices(dearest)
    comparing = _comparison(alpha, number, questions=len(prices))
    moved = sums_move(rows.shape[1])
    telling = GradualRelease.costing([Loss(price) for price in prices], moved)
    told = telling.release(sums_of(rows, truth), source)
    best = _least_loss(rows, truth)
    run = comparing.start(source)
    for place, sums in enumerate(told):
        weights = _solved(sums, rows.shape[1], ridge + float(telling.scales[place]) / GRID**2)
        excess = round(_LOSS_STEPS * (_loss(weights, rows, truth) - best))
        if run.ask(-excess):
            break
    sensitivity = _LOSS_STEPS * _MOST_LOSS + 2 * _ROUNDED
    fixed = comparing.loss(sensitivity) + Loss(_COUNTED)
    return Reached(
        weights,
        fixed + telling.loss(moved, tellings=place + 1),
        fixed + telling.loss(moved),
        comparing.loss(sensitivity),
        place + 1,
        is_good=not run.hits_left,
    )


def _comparison(alpha: Fraction, number: int, *, questions: int) -> AboveThreshold:
    """The cheapest comparison whose own error is at most half of what is asked for, nineteen times in twenty."""
    sensitivity = _LOSS_STEPS * _MOST_LOSS + 2 * _ROUNDED
    room = math.floor(alpha * number * _LOSS_STEPS / 2)

    def at(epsilon: Fraction) -> AboveThreshold:
        return AboveThreshold.costing(
            Loss(epsilon), sensitivity, threshold=-room, hits=1, adjacency=Adjacency.ADD_REMOVE
        )

    epsilon = Fraction(1, 100)
    while at(epsilon).error(_SURE, questions=questions) > room and epsilon < 1_000:
        epsilon *= Fraction(21, 20)
        epsilon = epsilon.limit_denominator(10**6)
    return at(epsilon)


def _prices(dearest: Fraction) -> list[Fraction]:
    prices = [_FIRST]
    while prices[-1] * _RATIO <= dearest:
        prices.append((prices[-1] * _RATIO).limit_denominator(10**6))
    return prices


def in_ball(rows: Floats) -> Floats:
    """Rows in steps, none longer than GRID: longer ones are shortened, and rounded towards zero."""
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    held: Floats = np.trunc(rows * np.minimum(1.0, GRID * (1 - 1e-9) / np.maximum(lengths, 1.0)))
    held[(held**2).sum(axis=1) > GRID**2] = 0.0  # cannot be; if it were, nothing would leave
    return held


def sums_move(width: int) -> int:
    """L1: |x|₂ ≤ 1 has |x|₁ ≤ √d, so its products, each pair once, add up to at most (d + 1)/2, and xy to √d."""
    return GRID * GRID * (width + 1) // 2 + 1 + math.isqrt(GRID**4 * width) + 1


def sums_of(rows: Floats, truth: Floats) -> IntArray:
    """Σ xxᵀ, each pair once, then Σ xy: whole numbers."""
    triangle = np.triu_indices(rows.shape[1])
    return np.concatenate([(rows.T @ rows)[triangle], rows.T @ truth]).astype(np.int64)


def _solved(sums: IntArray, width: int, ridge: float) -> Floats:
    """The weights that noisy sums say, drawn into the unit ball."""
    triangle = np.triu_indices(width)
    pairs = len(triangle[0])
    products = np.zeros((width, width))
    products[triangle] = sums[:pairs] / GRID**2
    products = products + np.triu(products, 1).T
    values, vectors = np.linalg.eigh(products)
    weights = vectors @ ((vectors.T @ (sums[pairs:] / GRID**2)) / (np.maximum(values, 0.0) + ridge))
    return _shortened(weights)


def _shortened(weights: Floats) -> Floats:
    length = float(np.linalg.norm(weights))
    return weights if length <= 1 else weights / length


def _loss(weights: Floats, rows: Floats, truth: Floats) -> float:
    """The sum of squared errors: each at most 4, for both lie within [−1, 1]."""
    return float((((truth - rows @ weights) / GRID) ** 2).sum())


def _least_loss(rows: Floats, truth: Floats) -> float:
    """The least of it within the unit ball, by halving the ridge that holds the weights there."""
    products, cross = rows.T @ rows / GRID**2, rows.T @ truth / GRID**2
    values, vectors = np.linalg.eigh(products)
    along = vectors.T @ cross

    def at(ridge: float) -> Floats:
        found: Floats = vectors @ (along / np.maximum(values + ridge, 1e-12))
        return found

    low, high = 0.0, float(np.linalg.norm(cross)) + 1.0
    if float(np.linalg.norm(at(0.0))) <= 1:
        return _loss(at(0.0), rows, truth)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.linalg.norm(at(middle))) > 1 else (low, middle)
    return _loss(_shortened(at(high)), rows, truth)
