"""The tail of the normal law, enclosed between decimals."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from tacit.core.enclosure import Interval, above, below, down, exp_above, exp_below, up

DIGITS = 36  # what a tail is known to; differences of tails lose a few
_NEAR = 2  # up to here the series is quick, beyond it the fraction
_LOG_10 = 2.303

# √(2π) to 50 digits, truncated: the next one is 1e-49 above
_ROOT_LOW = Decimal("2.5066282746310005024157652848110452530069867406099")
_ROOT_HIGH = Decimal("2.5066282746310005024157652848110452530069867406100")


def tail(point: Fraction) -> Interval:
    """An interval around Q(point) = P(N(0, 1) > point)."""
    if point < 0:
        low, high = tail(-point)
        return down(DIGITS).subtract(1, high), up(DIGITS).subtract(1, low)
    near = point < _NEAR
    ratio_low, ratio_high = _series(point) if near else _fraction(point)
    density_low = down(DIGITS).divide(exp_below(-point * point / 2, DIGITS), _ROOT_HIGH)
    density_high = up(DIGITS).divide(exp_above(-point * point / 2, DIGITS), _ROOT_LOW)
    low = down(DIGITS).multiply(density_low, ratio_low)
    high = up(DIGITS).multiply(density_high, ratio_high)
    if near:  # the series is of Φ − 1/2
        half = Decimal("0.5")
        return down(DIGITS).subtract(half, high), up(DIGITS).subtract(half, low)
    return low, high


def _fraction(point: Fraction) -> Interval:
    """Q over the density: Laplace's continued fraction 1/(x + 1/(x + 2/(x + 3/(x + …)))).

    Its n-th remainder lies between x and x + n/x; each step back narrows the interval that this starts.
    """
    floor, roof = down(DIGITS), up(DIGITS)
    x_low, x_high = below(point, DIGITS), above(point, DIGITS)
    steps = 12 + int((DIGITS * _LOG_10 / (2 * min(float(point), 100.0))) ** 2 / 2)
    low, high = x_low, roof.add(x_high, roof.divide(steps, x_low))
    for n in range(steps - 1, 0, -1):
        low, high = floor.add(x_low, floor.divide(n, high)), roof.add(x_high, roof.divide(n, low))
    return floor.divide(1, high), roof.divide(1, low)


def _series(point: Fraction) -> Interval:
    """(Φ(x) − 1/2) over the density: x + x³/3 + x⁵/15 + …, all positive, so what is left out is below the last term."""
    floor, roof = down(DIGITS), up(DIGITS)
    square_low, square_high = below(point * point, DIGITS), above(point * point, DIGITS)
    term_low, term_high = below(point, DIGITS), above(point, DIGITS)
    low, high = term_low, term_high
    n = 1
    while n < 2 * _NEAR * _NEAR or roof.scaleb(term_high, DIGITS) > high:  # from x²/n < 1/2 on, terms at least halve
        n += 2
        term_low = floor.divide(floor.multiply(term_low, square_low), n)
        term_high = roof.divide(roof.multiply(term_high, square_high), n)
        low, high = floor.add(low, term_low), roof.add(high, term_high)
    return low, roof.add(high, term_high)
