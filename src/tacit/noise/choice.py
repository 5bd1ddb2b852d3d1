"""Many independent choices at once, each exact."""

from __future__ import annotations

import numpy as np

from tacit.core import Number, positive
from tacit.errors import InvalidParameter
from tacit.noise.categorical import _FLOAT_MARGIN, _boundary, _rates, gaps_below_best
from tacit.noise.coins import Coins, LazyUniform
from tacit.noise.geometric import IntArray
from tacit.noise.size import how_many
from tacit.noise.source import SYSTEM, Source
from tacit.noise.uniform import uniform_integer


def categorical_array(
    scores: IntArray, rate: Number, *, size: int, source: Source = SYSTEM, margin: float = _FLOAT_MARGIN
) -> IntArray:
    """`size` independent draws of the index i with probability exp(rate · scores[i]) / Σ exp(rate · scores[j]).

    The law and the reasoning are `categorical`'s: a double decides unless it lies within `margin` of a boundary.
    """
    exact = positive(rate, "the rate")
    gaps = gaps_below_best(scores)
    reach = np.cumsum(np.exp(-_rates(exact, gaps)))
    words = source.draw(8 * how_many(size)).view(np.uint64)
    points = words * 2.0**-64 * reach[-1]
    slack = (margin + gaps.size * 2.0**-50) * reach[-1]
    lows: IntArray = np.searchsorted(reach, points - slack, side="right").astype(np.int64)
    highs = np.searchsorted(reach, points + slack, side="right").astype(np.int64)
    for index in np.flatnonzero(lows < highs):
        uniform = LazyUniform(int(words[index]), 64, source)
        low, high = int(lows[index]), min(int(highs[index]), gaps.size - 1)
        while low < high:  # the first index whose boundary lies above the uniform
            middle = (low + high) // 2
            if uniform.below(_boundary(gaps, middle, exact)):
                high = middle
            else:
                low = middle + 1
        lows[index] = low
    return lows


def one_of_each_row(chosen: Coins, *, source: Source = SYSTEM) -> IntArray:
    """For each row the index of one of its True entries, each as likely as the next."""
    if chosen.ndim != 2 or not chosen.any(axis=1).all():
        raise InvalidParameter("there is nothing to choose from: a row has no marked entry")
    marked = np.cumsum(chosen, axis=1)  # rows: how many entries are marked up to here
    counts = marked[:, -1]
    ranks = np.zeros(counts.size, dtype=np.int64)
    for count in np.unique(counts[counts > 1]).tolist():
        rows = np.flatnonzero(counts == count)
        ranks[rows] = uniform_integer(count, rows.size, source=source)
    indices: IntArray = np.argmax(marked > ranks[:, np.newaxis], axis=1).astype(np.int64)
    return indices
