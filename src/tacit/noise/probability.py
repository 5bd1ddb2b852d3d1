"""Probabilities known to as many binary digits as anyone asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from tacit.core.enclosure import Interval, down, exp_interval, up


class Probability(Protocol):
    """A number in [0, 1] whose binary expansion can be read off exactly."""

    def digits(self, bits: int) -> int:
        """floor(p · 2^bits)."""

    def within(self, bits: int) -> tuple[int, int]:
        """Whole numbers around p · 2^bits, hardly ever more than one apart: cheap even next to a dyadic number."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A rational probability."""

    value: Fraction

    def digits(self, bits: int) -> int:
        """floor(p · 2^bits)."""
        return (self.value.numerator << bits) // self.value.denominator

    def within(self, bits: int) -> tuple[int, int]:
        """Whole numbers around p · 2^bits."""
        scaled = self.value.numerator << bits
        return scaled // self.value.denominator, -(-scaled // self.value.denominator)


@dataclass(frozen=True, slots=True)
class Enclosed:
    """An irrational probability, given by intervals that shrink as the precision grows.

    It must be irrational: the digits of a dyadic number could never be told from the outside. It is therefore below
    one, which settles the leading digits of a near certainty without computing how near it is.
    """

    enclose: Callable[[int], Interval]

    def digits(self, bits: int) -> int:
        """floor(p · 2^bits)."""
        precision = 24 + bits // 3
        most = (1 << bits) - 1
        while True:
            low, high = self.enclose(precision)
            floor = down(precision + bits)
            below = int(floor.multiply(low, 1 << bits))
            if below == min(most, int(floor.multiply(high, 1 << bits))):
                return below
            precision *= 2

    def within(self, bits: int) -> tuple[int, int]:
        """Whole numbers around p · 2^bits."""
        precision = 24 + bits // 3
        low, high = self.enclose(precision)
        below = int(down(precision + bits).multiply(low, 1 << bits))
        return below, int(down(precision + bits).multiply(high, 1 << bits)) + 1


def exp_minus(rate: Fraction) -> Probability:
    """exp(−rate) for rate ≥ 0."""
    if rate == 0:
        return Ratio(Fraction(1))
    return Enclosed(lambda precision: exp_interval(-rate, precision))


def logistic_minus(power: Fraction) -> Probability:
    """1 / (1 + exp(power)) = q / (1 + q) with q = exp(−power), which cannot overflow, for power > 0."""

    def enclose(precision: int) -> Interval:
        low, high = exp_interval(-power, precision)
        return (
            down(precision).divide(low, up(precision).add(1, low)),
            up(precision).divide(high, down(precision).add(1, high)),
        )

    return Enclosed(enclose)


def tanh_half(power: Fraction) -> Probability:
    """tanh(power / 2) = (1 − q) / (1 + q) with q = exp(−power), for power > 0."""

    def enclose(precision: int) -> Interval:
        low, high = exp_interval(-power, precision)
        return (
            max(
                Decimal(0),
                down(precision).divide(down(precision).subtract(1, high), up(precision).add(1, high)),
            ),
            up(precision).divide(up(precision).subtract(1, low), down(precision).add(1, low)),
        )

    return Enclosed(enclose)
