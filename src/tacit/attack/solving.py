"""Solvers for what published sums leave open: least squares, a linear programme, and an integer programme by blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import EngineError, InvalidParameter

SOLVERS = ("least squares", "linear programme", "integer programme")
Floats = NDArray[np.float64]


def solve_bits(inside: Floats, answers: Floats, *, by: str) -> Floats:
    """A number for each person, above a half where the sums speak for the bit: `inside` is (sum, person)."""
    if by not in SOLVERS:
        raise InvalidParameter(f"there is no way to solve called {by!r}", hint=f"there is {', '.join(SOLVERS)}")
    if by == "least squares":
        return _least_squares(inside, answers)
    return _by_blocks(inside, answers, whole=by == "integer programme")


def _least_squares(inside: Floats, answers: Floats) -> Floats:
    """The bits that fit best, drawn a little towards a half where the sums leave them open."""
    centred = answers - 0.5 * inside.sum(axis=1)
    normal = inside.T @ inside + 1e-6 * np.eye(inside.shape[1])
    return np.linalg.solve(normal, inside.T @ centred) + 0.5


def _by_blocks(inside: Floats, answers: Floats, *, whole: bool) -> Floats:
    """People who share no sum, not even by way of others, are solved for apart: small areas are small problems."""
    optimise = from_scipy("csgraph")
    bits = np.full(inside.shape[1], 0.5)
    _, block = optimise.connected_components((inside.T @ inside) > 0, directed=False)
    for number in range(int(block.max()) + 1):
        people = np.flatnonzero(block == number)
        sums = np.flatnonzero(inside[:, people].any(axis=1))
        if sums.size:
            own = (inside[np.ix_(sums, people)], answers[sums])
            exact = fitting(*own, most=1) if whole else None
            bits[people] = nearest(*own, most=1) if exact is None else exact
    return bits


def nearest(sums: Any, answers: Floats, *, most: float = np.inf, total: int | None = None) -> Floats:
    """The numbers from 0 to `most` whose sums differ least from the answers, all differences added up.

    With a `total` they add up to it. They need not be whole: noise has so many nearly best fits that a search among
    whole numbers finds no more of the truth, and takes long.
    """
    optimise, sparse = from_scipy("optimize"), from_scipy("sparse")
    rows, size = sums.shape
    gaps = sparse.eye_array(rows)
    matrix = sparse.vstack([sparse.hstack([sums, -gaps]), sparse.hstack([sums, gaps])]).tocsr()
    free = np.full(rows, np.inf)
    limits = [optimise.LinearConstraint(matrix, np.concatenate([-free, answers]), np.concatenate([answers, free]))]
    if total is not None:
        row = sparse.csr_array(np.concatenate([np.ones(size), np.zeros(rows)]).reshape(1, -1))
        limits.append(optimise.LinearConstraint(row, total, total))
    solution = optimise.milp(
        np.concatenate([np.zeros(size), np.ones(rows)]),
        constraints=limits,
        bounds=optimise.Bounds(0, np.concatenate([np.full(size, most), free])),
    )
    return np.asarray(solution.x[:size], dtype=np.float64)


def fitting(sums: Any, answers: Floats, *, cost: Floats | None = None, most: float = np.inf) -> Floats | None:
    """Whole numbers from 0 to `most` whose sums are the answers exactly, at the least cost; None where none are."""
    optimise = from_scipy("optimize")
    size = sums.shape[1]
    solution = optimise.milp(
        np.zeros(size) if cost is None else cost,
        constraints=optimise.LinearConstraint(sums, answers, answers),
        integrality=np.ones(size),
        bounds=optimise.Bounds(0, most),
    )
    if solution.x is None:
        return None
    return np.asarray(np.rint(solution.x), dtype=np.float64)


def from_scipy(part: str) -> Any:
    """A part of scipy, by name: an extra."""
    from importlib import import_module

    homes = {"csgraph": "scipy.sparse.csgraph"}
    try:
        return import_module(homes.get(part, f"scipy.{part}"))
    except ImportError:
        raise EngineError("programmes need scipy, which is not installed", hint="pip install 'tacit[attack]'") from None
