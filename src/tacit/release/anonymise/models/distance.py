"""The earth mover's distance between two spreads of one column: equal, ordered or along a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.errors import InvalidParameter
from tacit.release.anonymise.values.tuples import Floats

EQUAL, ORDERED, HIERARCHICAL = "equal", "ordered", "hierarchical"


@dataclass(frozen=True, slots=True)
class Ground:
    """How far two values of a column are apart.

    equal: 1 for any two. ordered: their places apart, over the most there can be. hierarchical: the height of the
    lowest group that holds both, over the tree's; `levels[h][v]` is the group of value v at height h + 1.
    """

    name: str
    levels: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        known_distance(self.name)
        if self.name == HIERARCHICAL and not self.levels:
            raise InvalidParameter("a hierarchical distance needs the column's hierarchy")


def known_distance(name: str) -> None:
    """Refuse a distance that there is not."""
    if name not in (EQUAL, ORDERED, HIERARCHICAL):
        raise InvalidParameter(
            f"there is no distance named {name!r}", hint=f"there are {EQUAL}, {ORDERED} and {HIERARCHICAL}"
        )


def distance(share: Floats, prior: Floats, *, ground: Ground) -> Floats:
    """The distance of each spread in `share`, (values, …), from `prior`."""
    extra = share - prior
    if ground.name == EQUAL:
        return np.asarray(np.abs(extra).sum(axis=0) / 2, dtype=np.float64)
    if ground.name == ORDERED:
        most = max(extra.shape[0] - 1, 1)
        return np.asarray(np.abs(np.cumsum(extra, axis=0)[:-1]).sum(axis=0) / most, dtype=np.float64)
    return _along_tree(extra, ground.levels)


def _along_tree(extra: Floats, levels: tuple[tuple[int, ...], ...]) -> Floats:
    """What moves within a group pays the group's height; the rest moves on to the group above (Li 2007, §4.3)."""
    total = np.zeros(extra.shape[1:])
    below, groups = extra, np.arange(extra.shape[0])  # groups: of each value, at the height below
    for height, names in enumerate(levels, 1):
        parent = np.zeros(below.shape[0], dtype=np.int64)
        parent[groups] = np.asarray(names)
        number = int(parent.max()) + 1
        more, less = np.zeros((number, *extra.shape[1:])), np.zeros((number, *extra.shape[1:]))
        np.add.at(more, parent, np.maximum(below, 0))
        np.add.at(less, parent, np.maximum(-below, 0))
        total += np.minimum(more, less).sum(axis=0) * height / len(levels)
        below, groups = more - less, np.asarray(names)
    return np.asarray(total, dtype=np.float64)
