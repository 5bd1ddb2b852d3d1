"""The least total error that any sums of cells can have under Gaussian noise, and whole weights that come close."""

from __future__ import annotations

import math

import numpy as np

from tacit.mechanisms.strategy.matrix import Matrix
from tacit.mechanisms.strategy.picks import Floats

_FINE = 1 << 11  # the length of a column of whole weights, about: on so coarse a grid all machines round alike
_RIDGE = 1e-3  # of the cells themselves: what keeps every cell known, at a thousandth of the error
_SMALL = 300  # cells up to which the descent is repeated
_ROUNDS = 6
_ENOUGH = 1.002  # as near to the bound as it is worth


def optimal_matrix(gram: Floats) -> tuple[Matrix, float]:
    """Whole weights for a workload, and the bound: no sums of cells with columns of length one have less total error.

    With sums A of columns no longer than one and noise of variance 1, least squares has the total error tr(G X⁻¹) where
    X = AᵀA. It is convex in X under diag(X) ≤ 1, so that at its least X⁻¹ G X⁻¹ is a diagonal matrix D, or
    X = D^(−½) (D^½ G D^½)^½ D^(−½); any D gives the lower bound (tr (D^½ G D^½)^½)² / tr D, by duality. D ← diag of the
    root is a fixed point at the least (Denisov, McMahan, Rush, Smith & Thakurta, NeurIPS 2022); from √diag G one round
    is within a hundredth for ranges and prefixes.
    """
    diagonal = np.sqrt(np.maximum(np.diag(gram), 1e-9 * np.diag(gram).max()))
    bound, best, least = 0.0, np.eye(len(gram)), math.inf
    for _ in range(_ROUNDS):
        half = np.sqrt(diagonal)
        root = _root(half[:, None] * gram * half)
        bound = max(bound, float(np.trace(root)) ** 2 / float(diagonal.sum()))
        candidate = _feasible(root / half[:, None] / half)
        if len(gram) > _SMALL:  # a round takes a second, and gains a hundredth
            best = candidate
            break
        error = float(np.trace(np.linalg.solve(candidate, gram)))
        if error < least:
            best, least = candidate, error
        if least <= _ENOUGH * bound:
            break
        diagonal = np.maximum(np.diag(root), 1e-9 * np.diag(root).max())
    return Matrix(np.rint(np.linalg.cholesky(best).T * _FINE).astype(np.int64)), bound


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def _feasible(matrix: Floats) -> Floats:
    """The matrix with a diagonal of ones, and every cell known a little."""
    length = np.sqrt(np.maximum(np.diag(matrix), 1e-12))
    scaled: Floats = matrix / length[:, None] / length
    return (1 - _RIDGE) * scaled + _RIDGE * np.eye(len(matrix))
