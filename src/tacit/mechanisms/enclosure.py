"""Logarithms and exponentials of rationals, rounded to the side that is asked for."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from tacit.noise.probability import down, exp_interval, up

DIGITS = 50


def below(value: Fraction, digits: int = DIGITS) -> Decimal:
    """The decimal just below a rational."""
    return down(digits).divide(Decimal(value.numerator), Decimal(value.denominator))


def above(value: Fraction, digits: int = DIGITS) -> Decimal:
    """The decimal just above a rational."""
    return up(digits).divide(Decimal(value.numerator), Decimal(value.denominator))


def log_below(value: Fraction, digits: int = DIGITS) -> Decimal:
    """A lower bound on ln(value). Decimal's ln is correctly rounded, so one unit further is on the safe side."""
    return down(digits).next_minus(down(digits).ln(below(value, digits)))


def log_above(value: Fraction, digits: int = DIGITS) -> Decimal:
    """An upper bound on ln(value)."""
    return up(digits).next_plus(up(digits).ln(above(value, digits)))


def exp_below(power: Fraction, digits: int = DIGITS) -> Decimal:
    """A lower bound on exp(power), never below zero."""
    return exp_interval(power, digits)[0]


def exp_above(power: Fraction, digits: int = DIGITS) -> Decimal:
    """An upper bound on exp(power)."""
    return exp_interval(power, digits)[1]


def rounded_up(value: Fraction | Decimal, digits: int = 24) -> Fraction:
    """The least rational of so many significant decimal digits that is not below `value`."""
    exact = Fraction(value)
    return Fraction(above(exact, digits))


def ceiling(value: Decimal) -> int:
    """The least whole number not below `value`."""
    return int(value.to_integral_value(ROUND_CEILING))
