"""Values of rows, one for each statistic, as whole numbers of steps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidParameter

_STEPS = 1 << 20
_MOST_ROWS = 1 << 32  # whose sum of steps is a whole number that a double holds


def steps_of_one() -> int:
    """How many steps the width of the bounds is divided into."""
    return _STEPS


def values_of(values: ArrayLike, *, rows: int) -> NDArray[Any]:
    """Finite numbers: a row for each row of the data, a column for each statistic."""
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[0] != rows:
        raise InvalidParameter(
            f"a statistic gives one value for each of the {rows} rows", hint="one column a statistic"
        )
    if array.dtype.kind not in "biuf":
        raise InvalidParameter("the values of a statistic are numbers or truth values")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidParameter("a value of a statistic is not finite", hint="say what a row without a value counts as")
    if rows > _MOST_ROWS:
        raise InvalidParameter("there are too many rows to add up")
    return array


def sums_in_steps(values: NDArray[Any], bounds: tuple[Fraction, Fraction]) -> list[int]:
    """The sum of each column: values clamped to the bounds, in whole numbers of steps above the lower one.

    What is added up are whole numbers below 2^53, so that doubles add them exactly, in any order.
    """
    if values.dtype.kind == "b" and bounds == (Fraction(0), Fraction(1)):
        return [int(count) * _STEPS for count in values.sum(axis=0, dtype=np.int64)]
    low, high = (float(end) for end in bounds)
    single = values.dtype == np.float32 and _STEPS <= 1 << 22  # of which it holds every whole number
    shares = np.clip(values if single else values.astype(np.float64), low, high)
    shares -= shares.dtype.type(low)
    shares *= shares.dtype.type(_STEPS / (high - low))
    np.rint(shares, out=shares)
    np.clip(shares, 0, _STEPS, out=shares)
    return [int(total) for total in shares.sum(axis=0, dtype=np.float64)]
