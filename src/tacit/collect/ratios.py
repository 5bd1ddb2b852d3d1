"""How much likelier the truth may make a report than a lie: exp(epsilon), never rounded up."""

from __future__ import annotations

from fractions import Fraction

from tacit.core import Loss
from tacit.mechanisms.limits import spendable
from tacit.mechanisms.response import log_ratio, rarest_lie


def ratio_within(epsilon: Fraction) -> Fraction:
    """A rational as near below exp(epsilon) as 64 binary digits allow, whose price is at most `epsilon`."""
    lie = rarest_lie(epsilon, others=1)
    return (1 - lie) / lie


def ratio_costing(loss: Loss, parts: int = 1) -> Fraction:
    """The greatest likelihood ratio that each of `parts` independent choices may have for this loss."""
    return ratio_within(spendable(loss) / parts)


def price(ratio: Fraction) -> Fraction:
    """ln(ratio), rounded up in the 24th digit; a ratio of one is free."""
    return Fraction(0) if ratio == 1 else log_ratio(ratio)
