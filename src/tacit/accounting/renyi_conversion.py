"""From a Rényi curve to (epsilon, delta): the best order of the grid, rounded up."""

from __future__ import annotations

from fractions import Fraction

from tacit.accounting.renyi import RenyiCurve
from tacit.core import NOTHING, Loss, Number, probability
from tacit.core.concentrated import delta_at, epsilon_at


def renyi_to_dp(curve: RenyiCurve, delta: Number) -> Loss:
    """The least epsilon that an order of the curve gives at this delta (Canonne, Kamath & Steinke 2020, Prop. 12)."""
    asked = probability(delta, "delta")
    if not any(curve.values):
        return NOTHING
    pairs = zip(curve.orders, curve.values, strict=True)
    best = min(epsilon_at(order, value, asked).above() for order, value in pairs)
    return Loss(max(Fraction(0), best), asked)


def renyi_delta(curve: RenyiCurve, epsilon: Number) -> Fraction:
    """The least delta that an order of the curve gives at this epsilon."""
    target = Loss(epsilon).epsilon
    if not any(curve.values):
        return Fraction(0)
    pairs = zip(curve.orders, curve.values, strict=True)
    return min(Fraction(1), *(delta_at(order, value, target) for order, value in pairs))
