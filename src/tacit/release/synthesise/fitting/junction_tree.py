"""A junction tree over a few columns at a time: how large it would be, its beliefs, and rows drawn from it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.noise import IntArray
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.fitting.chance import Chance

Axes = tuple[int, ...]
_LEAST = -250.0  # below it a potential is as good as none; products of a few stay above the least double
_NOTHING = 1e-280


@dataclass(frozen=True, slots=True)
class TreeEdge:
    """A clique, and the one before it in the tree, with the columns they share."""

    clique: int
    parent: int
    shared: Axes


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques of columns; `edges` run from the root outward, so that a parent comes before its children."""

    sizes: tuple[int, ...]
    cliques: tuple[Axes, ...]
    edges: tuple[TreeEdge, ...]

    @property
    def cells(self) -> int:
        """How many numbers its tables hold."""
        return sum(math.prod(self.sizes[axis] for axis in clique) for clique in self.cliques)

    def home(self, axes: Axes) -> int:
        """The smallest clique that holds all these columns."""
        held = [index for index, clique in enumerate(self.cliques) if set(axes) <= set(clique)]
        return min(held, key=lambda index: math.prod(self.sizes[axis] for axis in self.cliques[index]))

    def shape(self, clique: int) -> tuple[int, ...]:
        """The sizes of a clique's columns."""
        return tuple(self.sizes[axis] for axis in self.cliques[clique])


def cliques_of(sizes: Sequence[int], pairs: Sequence[Axes]) -> tuple[Axes, ...]:
    """The cliques of a triangulation: columns go out one by one, the one with the fewest cells around it first."""
    around: dict[int, set[int]] = {axis: set() for axis in range(len(sizes))}
    for axes in pairs:
        for one, other in itertools.permutations(axes, 2):
            around[one].add(other)
    cliques: list[frozenset[int]] = []
    left = set(around)
    while left:
        gone = min(left, key=lambda axis: (_cells(sizes, {axis, *around[axis]}), axis))
        clique = frozenset({gone, *around[gone]})
        if not any(clique <= other for other in cliques):
            cliques.append(clique)
        for one, other in itertools.permutations(around[gone], 2):
            around[one].add(other)
        for other in around[gone]:
            around[other].discard(gone)
        left.discard(gone)
    return tuple(tuple(sorted(clique)) for clique in cliques)


def _cells(sizes: Sequence[int], axes: set[int]) -> int:
    return math.prod(sizes[axis] for axis in axes)


def tree_size(sizes: Sequence[int], pairs: Sequence[Axes]) -> int:
    """How many numbers a tree with these pairs would hold, from sizes alone."""
    return sum(_cells(sizes, set(clique)) for clique in cliques_of(sizes, pairs))


def tree_of(sizes: Sequence[int], pairs: Sequence[Axes]) -> JunctionTree:
    """The tree whose neighbours share as many columns as possible."""
    cliques = cliques_of(sizes, pairs)
    joined, edges = {0}, []
    while len(joined) < len(cliques):
        parent, child = max(
            ((one, other) for one in sorted(joined) for other in range(len(cliques)) if other not in joined),
            key=lambda pair: len(set(cliques[pair[0]]) & set(cliques[pair[1]])),
        )
        shared = tuple(sorted(set(cliques[parent]) & set(cliques[child])))
        edges.append(TreeEdge(child, parent, shared))
        joined.add(child)
    return JunctionTree(tuple(sizes), cliques, tuple(edges))


def beliefs(tree: JunctionTree, potentials: Sequence[FloatArray]) -> tuple[list[FloatArray], float]:
    """The marginal of every clique, and the logarithm of all the mass, from logarithms of potentials."""
    tops = [float(each.max()) for each in potentials]
    tables = [np.exp(np.maximum(each - top, _LEAST)) for each, top in zip(potentials, tops, strict=True)]
    log_mass = sum(tops)
    sent: dict[int, FloatArray] = {}
    for edge in reversed(tree.edges):
        message = summed(tables[edge.clique], tree.cliques[edge.clique], edge.shared)
        scale = float(message.sum())
        sent[edge.clique] = message = message / scale
        log_mass += math.log(scale)
        tables[edge.parent] *= spread(message, edge.shared, tree.cliques[edge.parent])
    mass = float(tables[0].sum())
    tables[0] /= mass
    for edge in tree.edges:
        outward = summed(tables[edge.parent], tree.cliques[edge.parent], edge.shared)
        inward = summed(tables[edge.clique], tree.cliques[edge.clique], edge.shared)
        ratio = np.divide(outward, inward, out=np.zeros_like(outward), where=inward > _NOTHING)
        tables[edge.clique] *= spread(ratio, edge.shared, tree.cliques[edge.clique])
    return tables, log_mass + math.log(mass)


def summed(table: FloatArray, axes: Axes, kept: Axes) -> FloatArray:
    """The marginal over some of a table's columns, which stand in order."""
    gone = tuple(index for index, axis in enumerate(axes) if axis not in kept)
    out: FloatArray = table.sum(axis=gone)
    return out


def spread(table: FloatArray, axes: Axes, over: Axes) -> FloatArray:
    """A table as a factor of one over more columns."""
    return table.reshape(tuple(table.shape[axes.index(axis)] if axis in axes else 1 for axis in over))


def rows_from(tree: JunctionTree, marginals: Sequence[FloatArray], *, number: int, chance: Chance) -> IntArray:
    """Rows whose counts in every clique are as near to its marginal as whole numbers can be, in no order."""
    rows = np.zeros((number, len(tree.sizes)), dtype=np.int64)
    _fill(rows, tree, marginals, clique=0, shared=(), chance=chance)
    for edge in tree.edges:
        _fill(rows, tree, marginals, clique=edge.clique, shared=edge.shared, chance=chance)
    return rows


def pair_marginal(tree: JunctionTree, marginals: Sequence[FloatArray], rows: IntArray, pair: Axes) -> FloatArray:
    """The marginal of two columns: exactly where a clique has both, else as rows that were drawn have it."""
    for index, clique in enumerate(tree.cliques):
        if set(pair) <= set(clique):
            return summed(marginals[index], clique, pair)
    one, other = (tree.sizes[axis] for axis in pair)
    cells = np.bincount(rows[:, pair[0]] * other + rows[:, pair[1]], minlength=one * other)
    return cells.reshape(one, other) / len(rows)


def _fill(
    rows: IntArray, tree: JunctionTree, marginals: Sequence[FloatArray], *, clique: int, shared: Axes, chance: Chance
) -> None:
    """The columns of a clique that are new, given those it shares.

    Within each group of equal shared values the rows, in random order, step through the chances of the new ones at even
    distances: so counts are off by less than one, and siblings are drawn independently of each other.
    """
    axes = tree.cliques[clique]
    new = tuple(axis for axis in axes if axis not in shared)
    if not new:
        return
    order = [axes.index(axis) for axis in (*shared, *new)]
    table = marginals[clique].transpose(order)
    groups = math.prod(tree.sizes[axis] for axis in shared)
    table = table.reshape(groups, -1)
    group = np.zeros(rows.shape[0], dtype=np.int64)
    for axis in shared:
        group = group * tree.sizes[axis] + rows[:, axis]
    cells = drawn_within(group, table, chance=chance)
    for axis in reversed(new):
        cells, rows[:, axis] = np.divmod(cells, tree.sizes[axis])


def drawn_within(group: IntArray, table: FloatArray, *, chance: Chance) -> IntArray:
    """For each row a cell of its group's line of `table`, by systematic sampling in random order."""
    number = group.size
    if number == 0:
        return np.zeros(0, dtype=np.int64)
    mass = table.sum(axis=1, keepdims=True)
    even = np.full_like(table, 1.0 / table.shape[1])
    lines = np.cumsum(np.where(mass > 0, table / np.maximum(mass, 1e-300), even), axis=1)
    lines[:, -1] = 1.0
    order = np.lexsort((chance.uniform(number), group))
    sizes = np.bincount(group, minlength=table.shape[0])
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(number, dtype=np.int64)
    rank[order] = np.arange(number) - starts[group[order]]
    offset = chance.uniform(table.shape[0])
    point = (rank + offset[group]) / sizes[group]
    flat = (lines + np.arange(table.shape[0])[:, None]).ravel()
    indices = np.searchsorted(flat, group + np.minimum(point, 1 - 1e-12), side="right") - group * table.shape[1]
    cells: IntArray = np.clip(indices, 0, table.shape[1] - 1)
    return cells
