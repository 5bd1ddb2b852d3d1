"""The arrays that noisy counts become once they are no longer exact: floats, for nothing private is left in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def projected(values: FloatArray, total: float = 1.0) -> FloatArray:
    """The nearest point, by squared distance, whose entries are not negative and add up to `total`."""
    flat = values.ravel().astype(np.float64)
    if total <= 0:
        return np.zeros_like(values, dtype=np.float64)
    falling = np.sort(flat)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    nearest: FloatArray = np.maximum(flat - excess[last], 0.0).reshape(values.shape)
    return nearest


def fitted_to(table: FloatArray, rows: FloatArray, columns: FloatArray, *, rounds: int = 30) -> FloatArray:
    """A table scaled, row by row and column by column in turn, until its margins are these: iterative fitting."""
    fitted = table + 1e-12
    for _ in range(rounds):
        fitted = fitted * _quotient(rows, fitted.sum(axis=1))[:, None]
        fitted = fitted * _quotient(columns, fitted.sum(axis=0))[None, :]
    return fitted


def _quotient(wanted: FloatArray, sums: FloatArray) -> FloatArray:
    out: FloatArray = np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    return out
