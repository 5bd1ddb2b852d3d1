"""Exact numbers from what people type: every epsilon, bound and scale becomes a `Fraction` here."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Rational

from tacit.errors import InvalidParameter

Number = int | float | str | Fraction | Decimal

MAX_DIGITS = 60  # in what is typed; enough for any published constant
MAX_EXPONENT = 300  # 1e400 is a way to ask for a gigabyte of zeros, not a number
_PRINTABLE_BITS = 4_000
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE]([+-]?\d+))?")
_RATIO = re.compile(r"[+-]?\d+\s*/\s*\d+")


def rational(value: Number, what: str = "the number") -> Fraction:
    """The exact value of `value`. A float means the decimal it prints as: 0.1 is one tenth."""
    return value if type(value) is Fraction else _exact(value, what)


def _exact(value: object, what: str) -> Fraction:
    if isinstance(value, bool):
        raise InvalidParameter(f"{what} is not a number: {value!r} is a truth value")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Rational):  # int, and numpy's whole numbers
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (Decimal, float)):
        finite = value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)
        if not finite:
            raise InvalidParameter(f"{what} is not finite: {value}")
        return _parse(str(value) if isinstance(value, Decimal) else repr(float(value)), what)
    if isinstance(value, str):
        return _parse(value, what)
    raise InvalidParameter(f"{what} is not a number: it is a {type(value).__name__}")


def _parse(text: str, what: str) -> Fraction:
    shown = text if len(text) <= MAX_DIGITS else text[:20] + "…"
    too_long = InvalidParameter(
        f"{what} has too many digits: {shown!r}",
        hint=f"at most {MAX_DIGITS} characters and exponents within ±{MAX_EXPONENT}",
    )
    if len(text) > MAX_DIGITS:  # before the pattern, which would read all of it
        raise too_long
    text = text.strip()
    decimal = _DECIMAL.fullmatch(text)
    if decimal is None and _RATIO.fullmatch(text) is None:
        raise InvalidParameter(
            f"{what} is not a number: {shown!r}", hint="write a decimal such as 0.5 or 1e-6, or a fraction such as 1/3"
        )
    if decimal and abs(int(decimal[3] or 0)) > MAX_EXPONENT:
        raise too_long
    try:
        return Fraction(re.sub(r"\s", "", text))
    except ZeroDivisionError:
        raise InvalidParameter(f"{what} is not a number: {shown!r} divides by zero") from None


def positive(value: Number, what: str) -> Fraction:
    """As `rational`, and greater than zero."""
    number = rational(value, what)
    if number <= 0:
        raise InvalidParameter(f"{what} must be greater than zero: got {_shown(number)}")
    return number


def probability(value: Number, what: str) -> Fraction:
    """As `rational`, and strictly between zero and one."""
    number = rational(value, what)
    if not 0 < number < 1:
        raise InvalidParameter(f"{what} must lie strictly between 0 and 1: got {_shown(number)}")
    return number


def _shown(number: Fraction) -> str:
    """For a message: a number too long to print is not printed."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _PRINTABLE_BITS:
        return "a number with thousands of digits"
    return decimal_text(number)


def sqrt_above(value: Fraction, *, bits: int = 64) -> Fraction:
    """The least multiple of a fine power of two whose square is at least `value`: never below the true root."""
    if value < 0:
        raise InvalidParameter("a negative number has no square root")
    shift = 2 * max(0, bits - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    scaled = -((-value.numerator << shift) // value.denominator)  # ceiling
    root = math.isqrt(scaled)
    if root * root < scaled:
        root += 1
    return Fraction(root, 1 << (shift // 2))


def decimal_text(number: Fraction) -> str:
    """A short faithful text: a terminating decimal where there is one, else `p/q`. Reads back to the same value."""
    denominator = number.denominator
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 40:
        return f"{number.numerator}/{denominator}"
    digits = str(abs(number.numerator) * 10**places // denominator).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    if places > 6 and len(digits.lstrip("0")) <= 6:  # 1e-9 reads better than 0.000000001
        head = digits.lstrip("0")
        return f"{sign}{head[0]}{'.' + head[1:] if head[1:] else ''}e-{places - len(head) + 1}"
    return sign + (digits if not places else f"{digits[:-places]}.{digits[-places:]}")
