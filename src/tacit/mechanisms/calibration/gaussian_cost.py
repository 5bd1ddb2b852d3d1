"""What discrete Gaussian noise costs, by whichever of three proofs says the least.

Concentrated: noise of parameter sigma has the same rho = sensitivity²/(2 sigma²) as the continuous law has, in any
dimension (Canonne, Kamath & Steinke, NeurIPS 2020), and `zcdp` converts it.

Exact: a single whole number has the profile of `gaussian_discrete`.

Smoothed: let X be continuous Gaussian noise of variance sigma² − s², and round v + X at random: to the whole number k
with probability proportional to exp(−(k − v − X)²/2s²). By Poisson's summation formula the normaliser of that rounding
lies within a factor 1 ± h of s√(2π) wherever it is centred, with h = 2 Σ_{m≥1} exp(−2π²s²m²). Integrating out X, the
outcome is k with probability density_sigma(k − v) up to a factor between 1/(1 + h) and 1/(1 − h); and the discrete
Gaussian has density_sigma(k − v) up to a factor between 1/(1 + h) and 1. So in d dimensions the discrete Gaussian is,
outcome by outcome, a post-processing of the continuous one times a factor between A = ((1 − h)/(1 + h))^d and
B = (1 + h)^d. If the continuous law is (e, f)-DP, the discrete one is (e + ln(B/A), B f)-DP; ln(B/A) and ln B are
below 3dh/(1 − h). A larger s makes h smaller at a price in variance; `rounding_for` chooses one from public numbers.
And d counts only the numbers that one unit moves (`moved_values`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from tacit.core import sqrt_above
from tacit.core.concentrated import epsilon_of_rho, rho_within
from tacit.core.enclosure import exp_above, rounded_up
from tacit.errors import InvalidParameter
from tacit.mechanisms.calibration.gaussian_discrete import MAX_SUMMED, epsilon_on_line, sigma_on_line
from tacit.mechanisms.calibration.gaussian_profile import LEAST_DELTA, epsilon_above, mu_within

ANY_DIMENSION = 1 << 40
DEAREST = 10**6  # more epsilon than this buys no less noise
_PI_SQUARED_BELOW = Fraction(98696044, 10**7)
_RUNG = 16  # s² is a multiple of 1/16: noise calibrated with one s² is then charged with the same
_LEAST_ROUNDING = Fraction(5, _RUNG)
_FINE_ROUNDING = Fraction(5)  # loses below 1e-29 of epsilon in any dimension: for an epsilon far below delta
_MARGIN = Fraction(1, 10**8)  # calibration aims this much below; the price rounds up by less


def epsilon_of(sigma: Fraction, sensitivity: Fraction, *, delta: Fraction, dimension: int) -> Fraction:
    """The least epsilon at which discrete Gaussian noise is known to be (epsilon, delta)-DP."""
    dimension = min(dimension, moved_values(sensitivity))
    if dimension == 1 and sigma <= MAX_SUMMED:  # exact: no other proof says less
        return rounded_up(epsilon_on_line(sigma, _whole_shift(sensitivity), delta=delta), 12)
    proofs = [epsilon_of_rho(sensitivity * sensitivity / (2 * sigma * sigma), delta)]
    for s_squared in (rounding_for(float(sigma), float(sensitivity), dimension=dimension), _FINE_ROUNDING):
        lost = lost_by_rounding(s_squared, dimension)
        if s_squared < sigma * sigma and (kept := delta * (1 - lost)) >= LEAST_DELTA:
            mu = rounded_up(sqrt_above(sensitivity * sensitivity / (sigma * sigma - s_squared)))
            proofs.append(epsilon_above(mu, kept) + lost)
    return rounded_up(min(proofs), 12)


@lru_cache(maxsize=1024)
def sigma_for(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, *, dimension: int) -> Fraction:
    """The least sigma, to about eight digits, whose noise is known to be (epsilon, delta)-DP."""
    check_delta(delta)
    dimension = min(dimension, moved_values(sensitivity))
    spent = min(epsilon, Fraction(DEAREST)) * (1 - _MARGIN)
    rho = rho_within(spent, delta)
    sigmas = [] if rho == 0 else [rounded_up(sqrt_above(sensitivity * sensitivity / (2 * rho)), 12)]
    if dimension > 1 or not sigmas or sigmas[0] > MAX_SUMMED:
        sigmas.append(rounded_up(_smoothed(spent, delta, sensitivity, dimension=dimension), 12))
    sigma = min(sigmas)
    if dimension == 1:
        sigma = sigma_on_line(spent, delta, shift=_whole_shift(sensitivity), enough=sigma)
    step = _MARGIN
    while epsilon_of(sigma, sensitivity, delta=delta, dimension=dimension) > epsilon:
        sigma = rounded_up(sigma * (1 + step), 12)
        step *= 2
    return sigma


def _smoothed(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, *, dimension: int) -> Fraction:
    """The sigma that the third proof asks for: the continuous law's, with the rounding's variance added."""

    def added(s_squared: Fraction, lost: Fraction) -> Fraction:
        continuous = sensitivity / mu_within(epsilon - lost, delta * (1 - lost))
        return sqrt_above(continuous * continuous + s_squared)

    sigma = best = added(_FINE_ROUNDING, min(epsilon / 2, lost_by_rounding(_FINE_ROUNDING, dimension)))
    for _ in range(3):  # the rounding depends on sigma, and sigma on the rounding; the rungs make it settle
        s_squared = rounding_for(float(sigma), float(sensitivity), dimension=dimension)
        if (lost := lost_by_rounding(s_squared, dimension)) >= epsilon / 2 or delta * (1 - lost) < LEAST_DELTA:
            break
        sigma = added(s_squared, lost)
        best = min(best, sigma)
    return best


def rounding_for(sigma: float, sensitivity: float, *, dimension: int) -> Fraction:
    """s²: as small as can be while what it loses in epsilon, in noise, is about 1/(2π²), one rung's worth.

    Losing e of epsilon costs about 2e/epsilon of sigma², and epsilon is a few sensitivities over sigma.
    """
    return rounding_that_loses(sensitivity / max(sigma, 1e-100) / (40.0 * max(1.0, sigma) ** 2), dimension)


def rounding_that_loses(epsilon: float, dimension: int) -> Fraction:
    """The rung of s² at which about so much of epsilon is lost, or less."""
    wanted = math.log(6.0 * dimension) - math.log(min(max(epsilon, 1e-300), 1.0))
    return max(_LEAST_ROUNDING, Fraction(math.ceil(wanted / (2 * math.pi**2) * _RUNG), _RUNG))


def lost_by_rounding(s_squared: Fraction, dimension: int) -> Fraction:
    """3dh/(1 − h), rounded up; the sum behind h is below its first term times 1/(1 − exp(−6π²s²))."""
    first = Fraction(exp_above(-2 * _PI_SQUARED_BELOW * s_squared))
    h = 2 * first / (1 - first**3)
    return rounded_up(3 * dimension * h / (1 - h))


def check_delta(delta: Fraction) -> Fraction:
    """A delta that doubles can search with, or a refusal."""
    if not LEAST_DELTA <= delta < 1:
        raise InvalidParameter(
            "delta is too small for Gaussian noise, or not below 1",
            hint="choose 1e-280 ≤ delta < 1, or Laplace noise, which needs no delta",
        )
    return delta


def moved_values(sensitivity: Fraction) -> int:
    """How many whole numbers one unit can move at most: each that moves at all adds 1 to the squared L2 norm.

    Only these count as dimensions. Noise on the others is the same, and independent, whether the unit is there or not.
    """
    return min(ANY_DIMENSION, max(1, math.floor(sensitivity * sensitivity)))


def _whole_shift(sensitivity: Fraction) -> int:
    """How far a whole number can move: a whole number of steps."""
    return max(1, math.floor(sensitivity))
