"""The best shares of the budget: least total squared error, by majorisation and minimisation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.strategy.plan import eigenvalues

GRAIN = 1 << 14  # shares are whole multiples of 1/GRAIN, so that they add up to exactly one
_ROUNDS = 300
_ENOUGH = 1e-5  # a round that gains less than this share is the last
_SMALL = 2e-3  # a share below this is given to the others
_NOTHING = 1e-9  # of the largest share: what will never matter again
_ABSENT = 1e-12  # of the largest energy: what rounding leaves of nothing


def total_error(shares: Floats, energy: Floats, *, sizes: Floats, power: int) -> float:
    """Σ of the variances of all answers, one bar at the full budget having variance 1; infinite if one is unknown.

    At a share s a bar's variance is s^−power: 2 for Laplace noise, 1 for Gaussian noise under zCDP.
    """
    known = eigenvalues(shares**power, sizes)
    asked = energy > _ABSENT * energy.max()
    if np.any(asked & (known <= 0)):
        return float("inf")
    return float(np.sum(energy[asked] / known[asked]))


def best_shares(start: Floats, energy: Floats, *, sizes: Floats, power: int) -> Floats:
    """The shares that a descent from `start` ends in; what has no share at first never gets one.

    Σ_T g_T / λ_T with λ_T = Σ_ℓ u_ℓ c_ℓ is at most Σ_ℓ a_ℓ / u_ℓ with a_ℓ = u°_ℓ² c_ℓ Σ_{T ≤ ℓ} g_T / λ°_T², and equal
    at u° (1/λ is convex); u = s^power under Σ s = 1 minimises that at s ∝ a^(1 / (1 + power)). No round makes it worse.
    """
    best: Floats = start / start.sum()
    shares, error = best, np.inf
    asked = np.where(energy > _ABSENT * energy.max(), energy, 0.0)
    for _ in range(_ROUNDS):
        found = total_error(shares, energy, sizes=sizes, power=power)
        if not found < error * (1 - _ENOUGH):
            break
        best, error = shares, found
        known = eigenvalues(shares**power, sizes)
        pull = np.divide(asked, known**2, out=np.zeros_like(asked), where=asked > 0)
        for axis in range(pull.ndim):
            pull = np.cumsum(pull, axis=axis)
        shares = (shares ** (2 * power) * sizes * pull) ** (1 / (1 + power))
        shares = np.where(shares < _NOTHING * shares.max(), 0.0, shares)
        shares = shares / shares.sum()
    return best


def thinned(shares: Floats, energy: Floats, *, sizes: Floats, power: int) -> Floats:
    """Without the parts that hardly matter, where the rest still answers everything."""
    kept = np.where(shares < _SMALL, 0.0, shares)
    if kept.sum() == 0 or not np.isfinite(total_error(kept, energy, sizes=sizes, power=power)):
        return shares
    return best_shares(kept, energy, sizes=sizes, power=power)


def whole_grains(shares: NDArray[np.float64], grain: int = GRAIN) -> list[Fraction]:
    """Shares as fractions that add up to exactly one, none of them nothing."""
    grains = np.maximum(1, np.floor(shares / shares.sum() * grain)).astype(np.int64)
    grains[int(np.argmax(grains))] += grain - int(grains.sum())
    return [Fraction(int(count), grain) for count in grains]
