"""The order of keys: of every kind that an engine returns, beside each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

Rank = tuple[int, object]


def ranks(values: Sequence[object]) -> list[Rank]:
    """What the values of one column are sorted by; no two of these fail to compare.

    A moment that Python's calendar cannot hold comes as text: it is before or after all that it can.
    """
    moments = any(isinstance(value, date) for value in values)
    return [_moment(value) if moments and isinstance(value, str) else rank(value) for value in values]


def rank(value: object) -> Rank:
    """The key by which a value on its own is sorted."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, str):
        return (3, value)
    if isinstance(value, date):
        return (4, value.isoformat())
    if isinstance(value, float) and math.isnan(value):
        return (5, 0)
    return (2, value)  # Python compares whole numbers, fractions and infinities exactly


def _moment(text: str) -> Rank:
    before = "BC" in text or text.startswith("-")
    year = text.lstrip("-").partition("-")[0]
    far = int(year) if year.isdigit() else 10**9  # infinity
    return (3, (-far, text)) if before else (5, (far, text))
