"""Several Gaussian noises that together cost an (epsilon, delta): as little noise as their joint law allows.

Noise of σ_i on numbers that move by Δ_i in L2, with Σ Δ_i² / 2σ_i² = rho, is rho-zCDP, and the conversion of that to
(epsilon, delta) wastes 7 to 9 per cent of σ. The continuous law wastes none: independent normal noises are one, of
mu² = Σ Δ_i² / σ_i². For ours take the third proof of `gaussian_calibration`, which holds coordinate by coordinate
whatever the σ of each: with X_i of variance σ_i² − s² and all coordinates rounded at random, if normal noise of

    mu² = Σ Δ_i² / (σ_i² − s²)

is (e, f)-DP, then the discrete noises are (e + ln(B/A), B f)-DP together, d in A and B being the number of coordinates
that one unit moves. So what is charged as (epsilon, delta) is what was asked for, and what is charged as zCDP is the
rho of the noise that is drawn, Σ Δ_i² / 2σ_i², as ever: with less noise there is more of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from tacit.core import Loss, Number, positive
from tacit.core.concentrated import rho_within
from tacit.core.enclosure import rounded_up
from tacit.errors import InvalidParameter
from tacit.mechanisms.calibration.gaussian_cost import (
    DEAREST,
    check_delta,
    lost_by_rounding,
    moved_values,
    rounding_for,
    rounding_that_loses,
)
from tacit.mechanisms.calibration.gaussian_profile import LEAST_DELTA, mu_within

Part = tuple[Fraction, Fraction]  # an L2 sensitivity, and the share of rho


def rho_of_job(loss: Loss, parts: Sequence[tuple[Number, Fraction]]) -> Fraction:
    """The largest rho of noises with σ² = sensitivity² / (2 rho share) that cost no more than `loss` together.

    It is the greater of what zCDP allows and what the joint law is certified to; shares may add up to less than one.
    """
    exact = tuple((positive(moved, "the sensitivity"), positive(share, "the share")) for moved, share in parts)
    if not exact or sum(share for _, share in exact) > 1:
        raise InvalidParameter("the shares of a job must be of one whole: there are none, or they add up to more")
    return _rho(min(positive(loss.epsilon, "epsilon"), Fraction(DEAREST)), check_delta(loss.delta), exact)


@lru_cache(maxsize=1024)
def _rho(epsilon: Fraction, delta: Fraction, parts: tuple[Part, ...]) -> Fraction:
    best = rho_within(epsilon, delta)
    values = sum(moved_values(moved) for moved, _ in parts)
    variances = [moved * moved / (2 * share) for moved, share in parts]  # of noise whose rho is 1
    least = min(range(len(parts)), key=variances.__getitem__)
    sigma = (float(variances[least]) / max(float(best), 1e-100)) ** 0.5
    fine = rounding_that_loses(float(epsilon) / 1000, values)
    rungs = {rounding_for(sigma, float(parts[least][0]), dimension=values), fine}
    for s_squared in rungs:
        lost = lost_by_rounding(s_squared, values)
        if lost < epsilon / 2 and (kept := delta * (1 - lost)) >= LEAST_DELTA:
            mu = mu_within(epsilon - lost, kept)
            best = max(best, _within(mu * mu, variances, [share for _, share in parts], s_squared=s_squared))
    return best


def _within(
    mu_squared: Fraction, variances: list[Fraction], shares: list[Fraction], *, s_squared: Fraction
) -> Fraction:
    """The largest rho, to nine digits, with Σ 2 rho share · v / (v − rho s²) ≤ mu², where rho s² < v for all."""

    def fits(rho: Fraction) -> bool:
        if any(rho * s_squared >= v for v in variances):
            return False
        terms = (share * v / (v - rho * s_squared) for share, v in zip(shares, variances, strict=True))
        return 2 * rho * sum(terms, Fraction(0)) <= mu_squared

    high = rounded_up(mu_squared / (2 * sum(shares)), 12)
    low = Fraction(0)
    if fits(high):
        return high
    while high - low > high / 10**9:
        middle = rounded_up((low + high) / 2, 12)
        if not low < middle < high:
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
