"""Counting queries over a finite universe: each says of every element whether it counts it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.noise import IntArray, whole_numbers

Queries = NDArray[np.int8]  # (queries, elements), each 0 or 1


def checked_queries(queries: object, *, universe: int | None = None) -> Queries:
    """The matrix of some queries; refused unless every entry is 0 or 1."""
    matrix = np.asarray(queries)
    if matrix.ndim != 2 or 0 in matrix.shape or not np.isin(matrix, (0, 1)).all():
        raise InvalidParameter("counting queries are a matrix of 0 and 1: a row for each, a column for each element")
    if universe is not None and matrix.shape[1] != universe:
        raise InvalidParameter(f"the queries are over {matrix.shape[1]} elements, the histogram has {universe}")
    return matrix.astype(np.int8)


def checked_histogram(histogram: object) -> IntArray:
    """How often each element is in the data."""
    counts = whole_numbers(np.asarray(histogram))
    if counts.ndim != 1 or counts.size == 0 or int(counts.min()) < 0 or int(counts.max()) >= 1 << 40:
        raise InvalidParameter("a histogram has a whole number, not negative, for each element of the universe")
    return counts


def answers(queries: Queries, histogram: IntArray) -> IntArray:
    """What each query counts."""
    out: IntArray = queries.astype(np.int64) @ histogram
    return out
