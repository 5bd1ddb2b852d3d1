"""The best shares of the budget: least total squared error, by majorisation and minimisation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.strategy.law import GAUSSIAN, LAPLACE, Law, least_split
from tacit.mechanisms.strategy.picks import Floats
from tacit.mechanisms.strategy.plan import eigenvalues

GRAIN = 1 << 14  # shares are whole multiples of 1/GRAIN, so that they add up to exactly one
_ROUNDS = 300
_ENOUGH = 1e-5  # a round that gains less than this share is the last
_SMALL = 2e-3  # a share below this is given to the others
_NOTHING = 1e-9  # of the largest share: what will never matter again
_ABSENT = 1e-12  # of the largest energy: what rounding leaves of nothing
SMOOTH = {power: Law(power, 1e6) for power in (LAPLACE, GAUSSIAN)}  # laws whose variance is a power of the share


def total_error(shares: Floats, energy: Floats, *, sizes: Floats, law: Law) -> float:
    """Σ of the variances of all answers, in steps²; infinite if one is unknown."""
    known = eigenvalues(1 / law.variance(shares), sizes)
    asked = asked_for(energy)
    if np.any(asked & (known <= 0)):
        return float("inf")
    return float(np.sum(energy[asked] / known[asked]))


def asked_for(energy: Floats) -> NDArray[np.bool_]:
    """The subspaces that some question reaches for."""
    asked: NDArray[np.bool_] = energy > _ABSENT * energy.max()
    return asked


def best_shares(start: Floats, energy: Floats, *, sizes: Floats, law: Law) -> Floats:
    """The shares that a descent from `start` ends in; what has no share at first never gets one.

    Σ_T g_T / λ_T with λ_T = Σ_ℓ u_ℓ c_ℓ is at most Σ_ℓ a_ℓ / u_ℓ with a_ℓ = u°_ℓ² c_ℓ Σ_{T ≤ ℓ} g_T / λ°_T², and equal
    at u° (1/λ is convex). Where 1/u is the variance at a share, `least_split` minimises that. No round makes it worse.
    """
    best: Floats = start / start.sum()
    shares, error = best, np.inf
    asked = np.where(asked_for(energy), energy, 0.0)
    for _ in range(_ROUNDS):
        reached = total_error(shares, energy, sizes=sizes, law=law)
        if not reached < error * (1 - _ENOUGH):
            break
        best, error = shares, reached
        weights = 1 / law.variance(shares)
        weights = weights / weights.max()  # only their proportions matter here, and their squares stay doubles
        known = eigenvalues(weights, sizes)
        pull = np.divide(asked, known**2, out=np.zeros_like(asked), where=(asked > 0) & (known**2 > 0))
        for axis in range(pull.ndim):
            pull = np.cumsum(pull, axis=axis)
        shares = least_split(weights**2 * sizes * pull, np.array(law.size), power=law.power)
        shares = np.where(shares < _NOTHING * shares.max(), 0.0, shares)
        shares = shares / shares.sum()
    return best


def thinned(shares: Floats, energy: Floats, *, sizes: Floats, law: Law) -> Floats:
    """The shares without parts that hardly matter, where the rest still answers everything."""
    kept = np.where(shares < _SMALL, 0.0, shares)
    if kept.sum() == 0 or not np.isfinite(total_error(kept, energy, sizes=sizes, law=law)):
        return shares
    return best_shares(kept, energy, sizes=sizes, law=law)


def whole_grains(shares: NDArray[np.float64], grain: int = GRAIN) -> list[Fraction]:
    """Shares as fractions that add up to exactly one, none of them nothing."""
    grains = np.maximum(1, np.floor(shares / shares.sum() * grain)).astype(np.int64)
    grains[int(np.argmax(grains))] += grain - int(grains.sum())
    return [Fraction(int(count), grain) for count in grains]
