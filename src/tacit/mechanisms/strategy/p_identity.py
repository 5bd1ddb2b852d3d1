"""Each cell and a few weighted sums of all: the best of that form that a descent finds for Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from tacit.mechanisms.strategy.lbfgs import minimised
from tacit.mechanisms.strategy.matrix import Matrix
from tacit.mechanisms.strategy.picks import Floats

MOST_SEARCHED = 256  # cells for which the search takes a part of a second
_PER_SUM = 16  # cells to one sum, about, as the authors found; half as many are tried as well
_STEPS = 200
_FINE = 1 << 11  # the length of a column of whole weights, about
_LARGEST = 1e3  # of the roots: beyond, cells have no weight that the grid could tell from none
_GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples, less their whole parts, lie evenly in [0, 1): starts that never vary


def p_identity(gram: Floats) -> Matrix:
    """Whole weights for a workload, all columns of the same L1 norm.

    With p sums B ≥ 0 beside the cells, A = [I; B] S⁻¹ where S is diagonal with 1 + the sums of B's columns: then every
    column of A has the L1 norm 1, and least squares under noise of variance 1 has the total error
    tr(S G S (I + BᵀB)⁻¹). That is smooth in B and has many valleys, which are entered from a few fixed starts
    (McKenna, Miklau, Hay & Machanavajjhala, VLDB 2018, OPT₀).
    """
    return _searched(np.ascontiguousarray(gram).tobytes(), len(gram))


@lru_cache(maxsize=8)  # a price does not change them, and WITHIN tries many
def _searched(grams: bytes, cells: int) -> Matrix:
    gram = np.frombuffer(grams).reshape(cells, cells)
    gram = gram / np.trace(gram)
    descended = [_descended(start, gram) for start in _starts(cells)]
    return _whole(min(descended, key=lambda roots: _total(roots, gram)[0]) ** 2)


def _descended(start: Floats, gram: Floats) -> Floats:
    def objective(point: Floats) -> tuple[float, Floats]:
        return _total(point.reshape(start.shape), gram)

    roots: Floats = minimised(objective, start.ravel(), steps=_STEPS).reshape(start.shape)
    return roots


def _total(roots: Floats, gram: Floats) -> tuple[float, Floats]:
    """The total error of B = roots², which is never negative, and its gradient.

    With M = (I + BᵀB)⁻¹ and the column sums s it is Σ s_i s_j G_ij M_ij; B M = (I + BBᵀ)⁻¹ B is p rows only.
    """
    if not np.abs(roots).max() < _LARGEST:  # a step too far, which the descent halves
        return math.inf, np.zeros(roots.size)
    extra = roots**2
    lengths = 1 + extra.sum(axis=0)
    small = np.linalg.solve(np.eye(len(extra)) + extra @ extra.T, extra)  # B M
    along = (gram * (np.eye(len(gram)) - extra.T @ small)) @ lengths
    moved = (small * lengths) @ gram * lengths  # B M S G S
    inner = moved - (moved @ extra.T) @ small  # … M
    return float(lengths @ along), (4 * roots * (along - inner)).ravel()


def _starts(cells: int) -> Iterator[Floats]:
    """Of two numbers of sums each: scattered weights, equal blocks, and blocks of halves, quarters and so on."""
    usual = math.ceil(cells / _PER_SUM)
    for count in dict.fromkeys((usual, math.ceil(usual / 2))):
        scattered = ((np.arange(count * cells, dtype=np.float64) + 1) * _GOLDEN % 1.0).reshape(count, cells)
        yield np.sqrt(scattered)
        yield np.sqrt(0.5 * _blocks(cells, [count]) + 0.1 * scattered)
        levels = [2**level for level in range(1, count.bit_length() + 1)]
        yield np.sqrt(0.4 * _blocks(cells, levels)[:count] + 0.05 * scattered)


def _blocks(cells: int, counts: list[int]) -> Floats:
    """A row of zeros and ones for each of so many equal blocks."""
    cell = np.arange(cells)
    return np.concatenate([cell * count // cells == np.arange(count)[:, None] for count in counts]).astype(np.float64)


def _whole(extra: Floats) -> Matrix:
    """On the grid of whole weights. What rounding down leaves of a column's length its cell has: never nothing."""
    lengths = 1 + extra.sum(axis=0)
    below = np.floor(extra / lengths * _FINE).astype(np.int64)
    below = below[below.any(axis=1)]
    return Matrix(np.concatenate([np.diag(np.maximum(1, _FINE - below.sum(axis=0))), below]))
