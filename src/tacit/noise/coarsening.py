"""What turns two-sided geometric noise of one scale into that of a larger one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from tacit.core import Number, decimal_text, positive
from tacit.core.enclosure import Interval, down, exp_interval, up
from tacit.errors import InvalidParameter
from tacit.noise.coins import flip
from tacit.noise.geometric import IntArray, geometric_array
from tacit.noise.probability import Enclosed, Probability
from tacit.noise.source import SYSTEM, Source


def coarsening(fine: Number, coarse: Number, *, size: int, source: Source = SYSTEM) -> IntArray:
    """Noise which, added to independent two-sided geometric noise of scale `fine`, gives that of scale `coarse`.

    Write q₁ = exp(−1/coarse) > q₂ = exp(−1/fine). The two-sided geometric law of ratio q has the characteristic
    function (1 − q)² / (1 − 2q cos t + q²), and

        1 − 2q₂ cos t + q₂² = (q₂/q₁)(1 − 2q₁ cos t + q₁²) + (1 − q₂/q₁)(1 − q₁q₂),

    so the quotient of the two is w + (1 − w) · (that of q₁) with w = ((1 − q₁)/(1 − q₂))² q₂/q₁: nothing is added with
    probability w, otherwise two-sided geometric noise of scale `coarse`.
    """
    small, large = positive(fine, "the finer scale"), positive(coarse, "the coarser scale")
    if small >= large:
        raise InvalidParameter(
            f"noise can only be coarsened: {decimal_text(small)} is not below {decimal_text(large)}",
            hint="list the scales from the largest down",
        )
    stays = flip(unchanged(small, large), size, source=source)
    return geometric_array(large, size, source=source, two_sided=True) * ~stays


def unchanged(fine: Fraction, coarse: Fraction) -> Probability:
    """The chance that coarsening adds nothing: w = ((1 − q₁)/(1 − q₂))² q₂/q₁.

    Irrational: were it r, then q₂ = 2q₁q₂ − q₁²q₂ + r q₁ (1 − q₂)², a linear relation with rational coefficients
    between exponentials of which exp(−1/fine) stands alone; Lindemann and Weierstrass forbid it.
    """

    def enclose(precision: int) -> Interval:
        low_1, high_1 = exp_interval(-1 / coarse, precision)
        low_2, high_2 = exp_interval(-1 / fine, precision)
        low_ratio, high_ratio = exp_interval(1 / coarse - 1 / fine, precision)  # q₂/q₁
        floor, ceiling = down(precision), up(precision)
        least = floor.divide(floor.subtract(1, high_1), ceiling.subtract(1, low_2))
        most = ceiling.divide(ceiling.subtract(1, low_1), floor.subtract(1, high_2))
        lower = floor.multiply(floor.multiply(least, least), low_ratio)
        upper = ceiling.multiply(ceiling.multiply(most, most), high_ratio)
        return max(Decimal(0), lower), min(Decimal(1), upper)

    return Enclosed(enclose)
