"""The law of most entropy over a junction tree whose pairs are as they were measured, given the single columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tacit.mechanisms.strategy.lbfgs import minimised
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.fitting.junction_tree import JunctionTree, beliefs, spread, summed

Pair = tuple[int, int]
_RIDGE = 0.001


def fitted_tree(
    tree: JunctionTree,
    ones: Sequence[FloatArray],
    pairs: Mapping[Pair, FloatArray],
    *,
    sigmas: Mapping[Pair, float],
    rows: float,
    steps: int,
    start: Mapping[Pair, FloatArray] | None = None,
) -> tuple[list[FloatArray], dict[Pair, FloatArray]]:
    """The marginal of each clique, and the parameters of each pair, which may be the start of another fit.

    The base is the product of the single columns, so that the ridge, which grows with the noise of a pair, pulls to
    independence and not to equal chances: N log Z − θ·y + κσ²/2 |θ|² in counts, here divided by N = `rows`. `sigmas`
    are of chances, as the pairs are.
    """
    base = [np.zeros(tree.shape(index)) for index in range(len(tree.cliques))]
    for axis, one in enumerate(ones):
        home = tree.home((axis,))
        base[home] += spread(np.log(np.maximum(one, 1e-9)), (axis,), tree.cliques[home])
    homes = {axes: tree.home(axes) for axes in pairs}
    starts, size = {}, 0
    for axes, table in pairs.items():
        starts[axes], size = size, size + table.size

    def potentials(point: FloatArray) -> list[FloatArray]:
        tables = [table.copy() for table in base]
        for axes, table in pairs.items():
            part = point[starts[axes] : starts[axes] + table.size].reshape(table.shape)
            tables[homes[axes]] += spread(part, axes, tree.cliques[homes[axes]])
        return tables

    def objective(point: FloatArray) -> tuple[float, FloatArray]:
        marginals, log_mass = beliefs(tree, potentials(point))
        value, gradient = log_mass, np.empty_like(point)
        for axes, table in pairs.items():
            index = slice(starts[axes], starts[axes] + table.size)
            ridge = _RIDGE * sigmas[axes] ** 2 * rows
            marginal = summed(marginals[homes[axes]], tree.cliques[homes[axes]], axes)
            gradient[index] = (marginal - table).ravel() + ridge * point[index]
            value += ridge / 2 * float(point[index] @ point[index]) - float(point[index] @ table.ravel())
        return value, gradient

    first = np.zeros(size)
    for axes in pairs:
        if start is not None and axes in start:
            first[starts[axes] : starts[axes] + pairs[axes].size] = start[axes].ravel()
    point = minimised(objective, first, steps=steps) if size else first
    parameters = {
        axes: point[starts[axes] : starts[axes] + table.size].reshape(table.shape) for axes, table in pairs.items()
    }
    return beliefs(tree, potentials(point))[0], parameters
