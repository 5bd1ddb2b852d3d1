"""Real numbers held between two decimals: arithmetic whose rounding can only widen the gap."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction

from tacit.errors import InvalidParameter

DIGITS = 50  # carried inside a formula
SHOWN = 17  # significant digits of a published bound
FINEST = Decimal("1e-400")  # a positive bound below this is published as this


def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[InvalidOperation])


UP = _context(DIGITS, ROUND_CEILING)
DOWN = _context(DIGITS, ROUND_FLOOR)
_PUBLISHED = _context(SHOWN, ROUND_CEILING)
_ZERO, _ONE = Decimal(0), Decimal(1)


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


def fraction_above(value: Decimal) -> Fraction:
    """`value` rounded up to a few significant digits, as an exact fraction."""
    if not value.is_finite() or abs(value) >= 1 / FINEST:
        raise InvalidParameter("a bound is too large to be useful: it has more than 400 digits")
    if abs(value) < FINEST:
        return Fraction(FINEST if value > 0 else _ZERO)
    return Fraction(_PUBLISHED.plus(value))


def _enclosed(value: Enclosure | Fraction | int) -> Enclosure:
    return value if isinstance(value, Enclosure) else Enclosure.of(value)
