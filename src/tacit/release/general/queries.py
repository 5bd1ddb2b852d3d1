"""Counting queries over a finite universe: each says of every element whether it counts it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidParameter
from tacit.noise import IntArray, whole_numbers

Queries = NDArray[np.int8]  # (queries, elements), each 0 or 1


def checked_queries(queries: object, *, universe: int | None = None) -> Queries:
    """The matrix of some queries; refused unless every entry is 0 or 1."""
    found = np.asarray(queries)
    if found.ndim != 2 or 0 in found.shape or not np.isin(found, (0, 1)).all():
        raise InvalidParameter("counting queries are a matrix of 0 and 1: a row for each, a column for each element")
    if universe is not None and found.shape[1] != universe:
        raise InvalidParameter(f"the queries are over {found.shape[1]} elements, the histogram has {universe}")
    return found.astype(np.int8)


def checked_histogram(histogram: object) -> IntArray:
    """How often each element is in the data."""
    found = whole_numbers(np.asarray(histogram))
    if found.ndim != 1 or found.size == 0 or int(found.min()) < 0 or int(found.max()) >= 1 << 40:
        raise InvalidParameter("a histogram has a whole number, not negative, for each element of the universe")
    return found


def answers(queries: Queries, histogram: IntArray) -> IntArray:
    """What each query counts."""
    out: IntArray = queries.astype(np.int64) @ histogram
    return out
