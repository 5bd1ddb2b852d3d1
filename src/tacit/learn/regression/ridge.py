"""Linear regression from noisy sums of products, with intervals that know of the noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number
from tacit.errors import InvalidParameter
from tacit.learn.conventions import numbers_among
from tacit.learn.sums.cells import STANDARD
from tacit.learn.sums.moments import GRID, Moments, Scaled, design, plan_moments, scaled, surely_inverted, weighted
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsLearner
from tacit.noise import Source

_CHANCE = 0.05  # that the smallest eigenvalue is taken for larger than it is


class RidgeRegressor(SumsLearner):
    """Least squares, with as much ridge as the noise asks for (AdaSSP).

    `features` declares what each column may hold: (lower, upper), or a list of its categories; `target` the bounds of
    what is predicted. Beyond them values are clamped; NaN counts as the middle of the bounds. `ridge` is added to what
    the noise asks for. `intervals_` holds, for each coefficient, a half-width that covers sampling, noise and what the
    ridge pulls towards zero, 95 % of the time; it is vast where the noise leaves nothing to be told.

    Guarantee:    (ε, δ)-DP for one row added or removed.
    Sensitivity:  L2 of a row's products, from the declared bounds alone (`moments`).
    Exactness:    rows are rounded to 2^-10 of half their bounds; sums and noise are whole numbers.
    Reference:    Wang, "Revisiting differentially private linear regression", UAI 2018.
    """

    _kind = "regressor"
    scaled_: tuple[Scaled, ...]
    target_: Scaled
    weights_: NDArray[np.float64]
    intervals_: NDArray[np.float64]
    ridge_: float

    def __init__(
        self,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        target: tuple[Number, Number] = STANDARD,
        ridge: float = 0.0,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.epsilon, self.delta, self.max_rows = epsilon, delta, max_rows
        self.features, self.target, self.ridge, self.source = features, target, ridge, source

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        if not isinstance(self.ridge, int | float) or not 0 <= self.ridge < math.inf:
            raise InvalidParameter("the ridge is a number, and not below zero")
        features = scaled(declared.features, declared.names)
        bounds = declared.bounds if declared.bounds and tuple(self.target) == STANDARD else self.target
        (goal,) = scaled([bounds], ["the target"])
        plan = plan_moments(features, declared.loss, times=declared.times, with_target=True)
        return Study(features, goal, plan, lambda data, source: self._solved(plan.measure(data, source)))

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.scaled_, self.target_ = study.columns, study.target
        self.weights_, self.intervals_, self.ridge_ = learnt["weights"], learnt["intervals"], float(learnt["ridge"])

    def _solved(self, moments: Moments) -> Learnt:
        """The weights, and how far off sampling and noise make each of them."""
        size = moments.products.shape[0]
        least = float(np.linalg.eigvalsh(moments.products)[0])
        reach = moments.product_sigma * math.sqrt(size * math.log(2 * size * size / _CHANCE))
        ridge = self.ridge + max(0.0, reach - max(0.0, least - reach))
        inverse = np.linalg.pinv(moments.products + ridge * np.eye(size), hermitian=True)
        weights = inverse @ moments.cross
        intervals = self._off(moments, weights)
        return {"weights": weights, "intervals": intervals, "ridge": np.array(ridge)}

    @staticmethod
    def _off(moments: Moments, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far off each weight may be: by what the ridge pulled, and by sampling and noise without one.

        With S and c the noisy products, c − Sβ is what sampling and noise make of the truth β, so that β is S⁻¹c but
        for S⁻¹ times that; from there to the weights is what the ridge does.
        """
        size = weights.size
        inverse = surely_inverted(moments.products, sigma=moments.product_sigma)
        plain = inverse @ moments.cross
        rows = max(1.0, float(moments.products[0, 0]))
        left = moments.square - 2 * weights @ moments.cross + weights @ moments.products @ weights
        spread = max(left / max(1.0, rows - size), 0.0)
        noise = moments.cross_sigma**2 * np.eye(size)
        noise += moments.product_sigma**2 * (plain @ plain * np.eye(size) + np.outer(plain, plain))
        noise -= moments.product_sigma**2 * np.diag(plain**2)
        values, vectors = np.linalg.eigh(moments.products)
        sampled = spread * (vectors * np.maximum(values, 0.0)) @ vectors.T
        covariance = inverse @ (sampled + noise) @ inverse
        result: NDArray[np.float64] = np.abs(plain - weights) + 1.96 * np.sqrt(np.maximum(np.diag(covariance), 0.0))
        return result

    @property
    def coef_(self) -> NDArray[np.float64]:
        """By how much the target grows with one more of each column; of a category, beside no category."""
        return self._in_units(self.weights_[1:])

    @property
    def coef_intervals_(self) -> NDArray[np.float64]:
        """Half-widths of 95 % intervals around `coef_`."""
        return self._in_units(self.intervals_[1:])

    def _in_units(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        halves = [1.0 if each.values else each.scale[1] for each in self.scaled_ for _ in range(each.width)]
        result: NDArray[np.float64] = weights * self.target_.scale[1] / np.array(halves)
        return result

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """What is expected of each row, within the declared bounds of the target."""
        columns = self._columns(X)
        rows = design(self.scaled_, columns)
        middle, half = self.target_.scale
        predicted: NDArray[np.float64] = middle + half * np.clip(weighted(rows, self.weights_) / GRID, -1.0, 1.0)
        return predicted

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """The share of the variance that is explained: exact, and so not private."""
        truth = numbers_among(y, "targets")
        left = float(((truth - self.predict(X)) ** 2).sum())
        whole = float(((truth - truth.mean()) ** 2).sum())
        return 1 - left / whole if whole else 0.0
