"""Arithmetic whose rounding goes outward: the one home of bounds on real numbers, as decimals to either side.

`up` and `down` round every operation to their side; `Enclosure` holds a number between two decimals; the rest are the
few functions of rationals that prices and noise are made of. Decimal's exp and ln are correctly rounded, so that one
unit further is on the safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from tacit.errors import InvalidParameter

Interval = tuple[Decimal, Decimal]

DIGITS = 50  # carried inside a formula
SHOWN = 17  # significant digits of a published bound
FINEST = Decimal("1e-400")  # a positive bound below this is published as this
_FAR = 10**17  # exponents this large never round to infinity before a comparison is settled
_ZERO, _ONE = Decimal(0), Decimal(1)


@lru_cache(maxsize=512)
def _context(digits: int, rounding: str) -> Context:
    """An overflow is not an error: it rounds to infinity, or to the largest number, whichever lies outward."""
    return Context(prec=digits, rounding=rounding, Emin=-_FAR, Emax=_FAR, traps=[DivisionByZero, InvalidOperation])


def down(digits: int) -> Context:
    """Arithmetic that rounds towards minus infinity."""
    return _context(digits, ROUND_FLOOR)


def up(digits: int) -> Context:
    """Arithmetic that rounds towards plus infinity."""
    return _context(digits, ROUND_CEILING)


UP, DOWN = up(DIGITS), down(DIGITS)


# ── of rationals ─────────────────────────────────────────────────────────────────────────────────────────────────────


def below(value: Fraction, digits: int = DIGITS) -> Decimal:
    """The decimal just below a rational."""
    return down(digits).divide(Decimal(value.numerator), Decimal(value.denominator))


def above(value: Fraction, digits: int = DIGITS) -> Decimal:
    """The decimal just above a rational."""
    return up(digits).divide(Decimal(value.numerator), Decimal(value.denominator))


def log_above(value: Fraction, digits: int = DIGITS) -> Decimal:
    """An upper bound on ln(value)."""
    return up(digits).next_plus(up(digits).ln(above(value, digits)))


def exp_interval(power: Fraction, digits: int = DIGITS) -> Interval:
    """An interval around exp(power), never below zero."""
    lowest = down(digits).next_minus(down(digits).exp(below(power, digits)))
    return max(_ZERO, lowest), up(digits).next_plus(up(digits).exp(above(power, digits)))


def exp_below(power: Fraction, digits: int = DIGITS) -> Decimal:
    """A lower bound on exp(power), never below zero."""
    return exp_interval(power, digits)[0]


def exp_above(power: Fraction, digits: int = DIGITS) -> Decimal:
    """An upper bound on exp(power)."""
    return exp_interval(power, digits)[1]


def rounded_up(value: Fraction | Decimal, digits: int = 24) -> Fraction:
    """The least rational of so many significant decimal digits that is not below `value`."""
    return Fraction(above(Fraction(value), digits))


def ceiling(value: Decimal) -> int:
    """The least whole number not below `value`."""
    return int(value.to_integral_value(ROUND_CEILING))


def double_above(value: Fraction) -> float:
    """A double that is not below `value`: the nearest one, or the next."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def fraction_above(value: Decimal) -> Fraction:
    """`value` rounded up to a few significant digits, as an exact fraction."""
    if not value.is_finite() or abs(value) >= 1 / FINEST:
        raise InvalidParameter("a bound is too large to be useful: it has more than 400 digits")
    if abs(value) < FINEST:
        return Fraction(FINEST if value > 0 else _ZERO)
    return Fraction(up(SHOWN).plus(value))


# ── of numbers that are known to lie between two ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A real number known to lie in [low, high]."""

    low: Decimal
    high: Decimal

    @classmethod
    def of(cls, value: Fraction | int) -> Enclosure:
        """The narrowest enclosure of an exact number."""
        top, bottom = Decimal(value.numerator), Decimal(value.denominator)
        return cls(DOWN.divide(top, bottom), UP.divide(top, bottom))

    def __add__(self, other: Enclosure | Fraction | int) -> Enclosure:
        other = _enclosed(other)
        return Enclosure(DOWN.add(self.low, other.low), UP.add(self.high, other.high))

    def __neg__(self) -> Enclosure:
        return Enclosure(self.high.copy_negate(), self.low.copy_negate())

    def __sub__(self, other: Enclosure | Fraction | int) -> Enclosure:
        return self + -_enclosed(other)

    def __mul__(self, other: Enclosure | Fraction | int) -> Enclosure:
        other = _enclosed(other)
        corners = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Enclosure(min(DOWN.multiply(a, b) for a, b in corners), max(UP.multiply(a, b) for a, b in corners))

    def __truediv__(self, other: Enclosure | Fraction | int) -> Enclosure:
        other = _enclosed(other)
        if other.low <= 0 <= other.high:
            raise InvalidParameter("a bound divides by a number that may be zero")
        corners = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Enclosure(min(DOWN.divide(a, b) for a, b in corners), max(UP.divide(a, b) for a, b in corners))

    def exp(self) -> Enclosure:
        """The power of e. `Decimal.exp` rounds to the nearest, so one step outwards encloses."""
        low = max(_ZERO, DOWN.next_minus(DOWN.exp(self.low))) if self.low else _ONE
        return Enclosure(low, UP.next_plus(UP.exp(self.high)) if self.high else _ONE)

    def log(self) -> Enclosure:
        """The natural logarithm; the number must be known to be positive."""
        if self.low <= 0:
            raise InvalidParameter("a bound takes the logarithm of a number that may not be positive")
        low = DOWN.next_minus(DOWN.ln(self.low)) if self.low != 1 else _ZERO
        return Enclosure(low, UP.next_plus(UP.ln(self.high)) if self.high != 1 else _ZERO)

    def sqrt(self) -> Enclosure:
        """The square root; the number must not be negative."""
        if self.low < 0:
            raise InvalidParameter("a bound takes the square root of a number that may be negative")
        low = max(_ZERO, DOWN.next_minus(DOWN.sqrt(self.low)))
        return Enclosure(low, UP.next_plus(UP.sqrt(self.high)))

    def above(self) -> Fraction:
        """A short fraction that is no less than the number."""
        return fraction_above(self.high)

    def below(self) -> Fraction:
        """A short fraction that is no more than the number."""
        return -fraction_above(self.low.copy_negate())


def _enclosed(value: Enclosure | Fraction | int) -> Enclosure:
    return value if isinstance(value, Enclosure) else Enclosure.of(value)
