"""A public tree of places: the whole, its parts, and theirs; read off public tables, never off people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.errors import QueryRefused
from tacit.noise import IntArray

WHOLE = "all"


@dataclass(frozen=True, slots=True, eq=False)
class PlaceTree:
    """Levels from the whole down to the leaves. A node is the path that leads to it; `parents` are indices above."""

    levels: tuple[str, ...]  # the first is the whole
    paths: tuple[tuple[tuple[object, ...], ...], ...]  # of each level, in order; a leaf's ends with its own value
    parents: tuple[IntArray, ...]  # of each level but the first

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has."""
        return tuple(map(len, self.paths))

    def summed(self, leaves: IntArray) -> list[IntArray]:
        """Whole numbers of leaves, added up in every level; the first axis is that of the nodes."""
        levels = [leaves]
        for parents, size in zip(reversed(self.parents), reversed(self.sizes[:-1]), strict=True):
            above: IntArray = np.zeros((size, *leaves.shape[1:]), dtype=np.int64)
            np.add.at(above, parents, levels[-1])
            levels.append(above)
        return levels[::-1]


def tree_of(
    levels: Sequence[str], lines: Sequence[Sequence[object]], *, leaf: str, values: Sequence[object]
) -> PlaceTree:
    """The tree over these leaves, in their order. A line of the public table holds a leaf and, upwards, where it lies.

    Args:
        levels: the names of what is above the leaves, from the top.
        lines: one for each line of the public table: what is above the leaf, from the top, and the leaf last.
        leaf: what a leaf is called.
        values: every leaf.
    """
    above: dict[object, tuple[object, ...]] = {}
    for line in lines:
        path = tuple(line[:-1])
        if any(part is None for part in path):
            raise QueryRefused(f"a {leaf} of the public table lies nowhere: {', '.join(levels)} must not be NULL")
        if above.setdefault(line[-1], path) != path:
            raise QueryRefused(
                f"a {leaf} of the public table lies in two places: each has one {' and one '.join(levels)}"
            )
    missing = [value for value in values if value not in above]
    if missing and levels:
        raise QueryRefused(f"{len(missing):,} values of {leaf} are not in the public table")
    full = [(*above.get(value, ()), value) for value in values]
    paths: list[tuple[tuple[object, ...], ...]] = [((),)]
    parents: list[IntArray] = []
    for depth in range(1, len(levels) + 2):
        nodes = list(dict.fromkeys(path[:depth] for path in full))
        if depth <= len(levels):
            nodes.sort(key=lambda path: tuple(map(str, path)))
        known = {path: index for index, path in enumerate(paths[-1])}
        parents.append(np.array([known[path[:-1]] for path in nodes], dtype=np.int64))
        paths.append(tuple(nodes))
    return PlaceTree((WHOLE, *levels, leaf), tuple(paths), tuple(parents))
