"""Exact bounds on a probability from how often something happened, by Clopper and Pearson (1934)."""

from __future__ import annotations

import math
from collections.abc import Callable

from tacit.errors import InvalidParameter

_OUTWARDS = 1e-9  # how far a bound is moved outwards, relatively, for what floating point may have lost
_TINY = 1e-300
_STEPS = 200_000


def at_least(times: int, draws: int, *, level: float) -> float:
    """The least probability under which so many of `draws` or more still happen with probability `level`."""
    _counted(times, draws, level)
    if times == 0:
        return 0.0
    return (1 - _OUTWARDS) * _bisected(lambda p: tail(times, draws, p) < level)[0]


def at_most(times: int, draws: int, *, level: float) -> float:
    """The largest probability under which so many of `draws` or fewer still happen with probability `level`."""
    _counted(times, draws, level)
    if times == draws:
        return 1.0
    return min(1.0, (1 + _OUTWARDS) * _bisected(lambda p: 1 - tail(times + 1, draws, p) > level)[1])


def tail(times: int, draws: int, probability: float) -> float:
    """The probability that something of this probability happens `times` or more often in so many draws."""
    if times <= 0:
        return 1.0
    if times > draws:
        return 0.0
    return _incomplete_beta(probability, times, draws - times + 1)


def _counted(times: int, draws: int, level: float) -> None:
    if not 0 <= times <= draws or draws < 1:
        raise InvalidParameter(f"nothing can be counted so: {times} of {draws} draws")
    if not 0 < level < 1:
        raise InvalidParameter(f"a false alarm has a probability between 0 and 1: got {level:g}")


def _bisected(below: Callable[[float], bool]) -> tuple[float, float]:
    """Where `below` turns from True to False between 0 and 1, enclosed."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
        if high - low <= 1e-13 * high:
            break
    return low, high


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b), regularised: by its continued fraction, on the side where that converges fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return min(1.0, math.exp(front) * _fraction(x, a, b) / a)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, from the front (Lentz 1976)."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away(number: float) -> float:
    """The number, or one that can be divided by."""
    return number if abs(number) > _TINY else _TINY
