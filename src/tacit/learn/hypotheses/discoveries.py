"""Many hypotheses at once: which of them to believe, so that few of those are false."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.core import Number, probability
from tacit.errors import InvalidParameter
from tacit.learn.conventions import numbers_among


def benjamini_hochberg(p_values: ArrayLike, level: Number) -> NDArray[np.bool_]:
    """Which hypotheses to reject, so that at most a share `level` of those rejected is true, on average.

    The largest k with p₍ₖ₎ ≤ level · k / m is found, and the k smallest p-values are rejected. It holds for independent
    p-values and for those that depend on each other positively; see `benjamini_yekutieli` for any other.

    Reference: Benjamini & Hochberg, J. R. Statist. Soc. B 57 (1995); Benjamini & Yekutieli, Ann. Statist. 29 (2001).
    """
    return _stepped_up(p_values, float(probability(level, "the level")))


def benjamini_yekutieli(p_values: ArrayLike, level: Number) -> NDArray[np.bool_]:
    """The same, whatever the p-values have to do with each other: the level is divided by 1 + ½ + … + 1/m."""
    count = max(1, np.size(p_values))
    harmonic = float(np.sum(1.0 / np.arange(1, count + 1)))
    return _stepped_up(p_values, float(probability(level, "the level")) / harmonic)


def _stepped_up(p_values: ArrayLike, level: float) -> NDArray[np.bool_]:
    values = numbers_among(p_values, "p-values")
    if values.ndim != 1:
        raise InvalidParameter("p-values stand in one row")
    if not ((values >= 0) & (values <= 1)).all():  # NaN is neither
        raise InvalidParameter("a p-value lies between 0 and 1")
    ordered = np.sort(values)
    allowed = ordered <= level * np.arange(1, values.size + 1) / max(1, values.size)
    if not allowed.any():
        return np.zeros(values.size, dtype=np.bool_)
    result: NDArray[np.bool_] = values <= ordered[np.flatnonzero(allowed)[-1]]
    return result
