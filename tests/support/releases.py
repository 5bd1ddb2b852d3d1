"""Answers made by hand, for tests of the forms they take."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tacit.core import Budget, Loss
from tacit.curator import Receipt, Release


def release(
    rows: tuple[tuple[object, ...], ...],
    errors: tuple[tuple[float | None, ...], ...] | None = None,
    columns: tuple[str, ...] = ("key", "n"),
    **change: Any,
) -> Release:
    """An answer whose first column is a key, unless the errors say otherwise."""
    blank = tuple(tuple(None if i == 0 else 1.5 for i in range(len(row))) for row in rows)
    values = {
        "confidence": Fraction(95, 100),
        "cost": Loss(Fraction(1, 2)),
        "left": Budget(3),
        "reused": None,
        "notes": ("<i>note</i>",),
        "receipt": Receipt("p" * 64, "v" * 64, "e" * 64, "ε = 0.5 for one row", "one row (add/remove)", ("m",)),
    }
    return Release(columns=columns, rows=rows, errors=blank if errors is None else errors, **(values | change))
