"""What a noisy table of two columns says beyond their margins: its singular values, shrunk by what the noise adds."""

from __future__ import annotations

import math

import numpy as np

from tacit.release.synthesise.fitting.arrays import FloatArray


def shrunk(table: FloatArray, rows: FloatArray, columns: FloatArray, *, sigma: float) -> tuple[FloatArray, int]:
    """The part of a table that is not the product of its margins, without its noise; and the rank that was found.

    The part has rows and columns that add up to nothing, so the noise beside it is a Gaussian matrix of one row and one
    column fewer. A singular value y·σ√b of such a matrix is noise below 1 + √β, where β = a/b; above, what minimises
    the squared error is √((y² − β − 1)² − 4β) / y (Gavish & Donoho, IEEE Trans. Inf. Theory 2017).
    """
    rest = _centred(table - np.outer(rows, columns))
    a, b = sorted(max(1, size - 1) for size in table.shape)
    if sigma <= 0 or min(table.shape) < 2:
        return rest, int(min(table.shape) > 1)
    left, values, right = np.linalg.svd(rest, full_matrices=False)
    beta = a / b
    scaled = values / (sigma * math.sqrt(b))
    edge = 1 + math.sqrt(beta)
    signal = scaled > edge * 1.02
    inside = np.maximum((scaled**2 - beta - 1) ** 2 - 4 * beta, 0.0)
    kept = np.where(signal, np.sqrt(inside) / np.maximum(scaled, 1e-300), 0.0) * sigma * math.sqrt(b)
    return (left * kept) @ right, int(signal.sum())


def _centred(table: FloatArray) -> FloatArray:
    centred: FloatArray = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True) + table.mean()
    return centred
