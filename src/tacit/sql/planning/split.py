"""How a statement's epsilon is shared among its measurements: a small convex problem."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

GRAIN = 4096  # shares are whole multiples of 1/GRAIN, so that they add up to exactly one
FLOOR = 0.25  # of the budget is shared equally, so that one hopeless output does not starve the others
_ROUNDS = 60
_PACE = 2.0


def split(weights: NDArray[np.float64], power: float) -> list[Fraction]:
    """Shares x that add up to one and make the largest output error small.

    `weights[j, i]` is how much of output j's relative error is due to measurement i when that has all of the budget; at
    a share x it is weights[j, i] / x^power, with power 1 for Laplace noise and 1/2 for Gaussian. For given prices on
    the outputs the best shares have a closed form; the prices move towards the outputs with the largest errors.
    """
    measures = weights.shape[1]
    if measures == 1:
        return [Fraction(1)]
    best, best_error = np.full(measures, 1.0 / measures), np.inf
    weights = weights[np.isfinite(weights).all(axis=1) & (weights.max(axis=1) > 0)]  # no shares help the others
    if not weights.size:
        return _whole_grains(best)
    prices = np.full(len(weights), 1.0 / len(weights))
    for _ in range(_ROUNDS):
        pull = np.maximum(prices @ weights, 1e-12 * weights.max())
        shares = pull ** (1 / (1 + power))
        shares /= shares.sum()
        errors = weights @ shares**-power
        if errors.max() < best_error:
            best, best_error = shares, errors.max()
        prices = prices * np.exp(_PACE * (errors / errors.max() - 1))
        prices /= prices.sum()
    return _whole_grains((1 - FLOOR) * best + FLOOR / measures)


def _whole_grains(shares: NDArray[np.float64]) -> list[Fraction]:
    grains = np.maximum(1, np.floor(shares * GRAIN)).astype(int)
    grains[int(np.argmax(grains))] += GRAIN - int(grains.sum())
    return [Fraction(int(grain), GRAIN) for grain in grains]
