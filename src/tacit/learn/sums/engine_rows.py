"""Rows in an engine, and what is added up of them there: what leaves it are sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tacit.engines import Exact
from tacit.learn.sums.array_rows import LINE, SCORED, SHARES, link_lines
from tacit.learn.sums.cells import FeatureCells, offsets
from tacit.learn.sums.moments import GRID, Scaled
from tacit.learn.sums.residuals import CLIP, clipped
from tacit.learn.sums.routing import Level
from tacit.noise import IntArray
from tacit.sql.workloads.binned import CodedRows
from tacit.sql.workloads.scaled import TARGET, LinkLines, ScaledRows, Term

_AT_ONCE = 500  # sums in one reading of the rows; PostgreSQL gives back 1,664 at most


class EngineCells:
    """Rows in an engine as the cells they fall into: what `ArrayCells` counts, counted there."""

    def __init__(
        self, coded: CodedRows, cells: Sequence[FeatureCells], execute: Callable[[str], Exact], classes: int = 2
    ) -> None:
        self._coded, self._execute, self._classes = coded, execute, classes
        self._starts = offsets(cells)
        self._parts, self._size = self._starts[1:-1], int(self._starts[-1])

    def counts(self) -> IntArray:
        """How many rows fall into each cell, feature after feature."""
        return self._summed(self._coded.counts(self._apart(np.arange(self._size))), self._size)

    def class_counts(self) -> IntArray:
        """How many rows of each class fall into each cell: class after class, feature after feature."""
        sql = self._coded.class_counts(self._size, self._starts[:-1].tolist())
        return self._summed(sql, self._classes * self._size)

    def node_counts(self, levels: Sequence[Level], *, groups: IntArray) -> IntArray:
        """How many rows of each node of a tree fall into each group of cells: node after node, class after class."""
        size = int(groups.max()) + 1
        sql = self._coded.node_counts(_asked(levels), self._apart(groups), size)
        return self._summed(sql, (1 << len(levels)) * self._classes * size)

    def leaf_counts(self, levels: Sequence[Level]) -> IntArray:
        """How many rows of each class reach each node of a tree."""
        return self._summed(self._coded.leaf_counts(_asked(levels)), (1 << len(levels)) * self._classes)

    def residuals(self, scores: IntArray, intercept: int, *, groups: IntArray) -> IntArray:
        """The sum of clipped residuals over each group of cells."""
        left = np.minimum(clipped(), CLIP).tolist()
        sql = self._coded.sums(self._apart(scores), intercept, left=left, groups=self._apart(groups))
        return self._summed(sql, int(groups.max()) + 1)

    def right(self, scores: IntArray, intercept: int) -> int:
        """How many rows the sum of their cells' scores tells right."""
        return int(self._summed(self._coded.right(self._apart(scores), intercept), 1)[0])

    def _apart(self, values: IntArray) -> list[list[int]]:
        return [part.tolist() for part in np.split(values, self._parts)]

    def _summed(self, sql: str, size: int) -> IntArray:
        exact = self._execute(sql)
        counts = np.zeros(size, dtype=np.int64)
        np.add.at(counts, exact.integers("c"), exact.integers("s"))
        return counts


class EngineRows:
    """Rows in an engine as whole numbers between bounds: what `ArrayRows` adds up, added up there."""

    def __init__(
        self, coded: CodedRows, features: Sequence[Scaled], execute: Callable[[str], Exact], classes: int
    ) -> None:
        columns = [
            (index, value if feature.values else None)
            for index, feature in enumerate(features)
            for value in range(feature.width)
        ]
        self._rows, self._execute = ScaledRows(coded, tuple(columns), GRID), execute
        self._width, self._classes, self._predicts = 1 + len(columns), classes, coded.has_target and not classes

    def products(self) -> IntArray:
        """Σ xxᵀ, each pair once; then Σ xy and Σ y², where there is a number to predict."""
        terms: list[Term] = self._pairs()
        if self._predicts:
            terms += [*((index, TARGET) for index in range(self._width)), (TARGET, TARGET)]
        return self._flat(self._rows.products, terms)

    def near(self, centres: IntArray) -> IntArray:
        """For each centre the number of rows that are nearest to it, in steps, and their sum."""
        terms: list[Term] = [(index,) for index in range(self._width)]
        return self._keyed(lambda some: self._rows.near(centres.tolist(), some), terms, len(centres))

    def votes(self, centres: IntArray) -> IntArray:
        """For each centre how many rows of each class are nearest to it."""
        size = len(centres) * self._classes
        counts = self._keyed(lambda some: self._rows.near(centres.tolist(), some, by_class=True), [()], size)
        return counts.reshape(len(centres), -1)

    def by_class(self) -> IntArray:
        """For each class its number of rows, in steps, their sum, and the sum of their squares."""
        terms: list[Term] = [(index,) for index in range(self._width)]
        terms += [(index, index) for index in range(1, self._width)]
        return self._keyed(self._rows.by_class, terms, self._classes)

    def residuals(self, weights: IntArray) -> IntArray:
        """Σ (truth − probability) x, by the public table of probabilities."""
        return _row(self._execute(self._rows.residuals(weights.tolist(), _link())), self._width)

    def curvature(self, weights: IntArray) -> IntArray:
        """Σ p (1 − p) xxᵀ, each pair once."""
        return self._flat(lambda some: self._rows.curvature(weights.tolist(), _link(), some), self._pairs())

    def right(self, weights: IntArray) -> int:
        """How many rows the public table of probabilities tells right."""
        return int(_row(self._execute(self._rows.right(weights.tolist(), _link())), 1)[0])

    def _pairs(self) -> list[Term]:
        rows, columns = np.triu_indices(self._width)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def _flat(self, sql: Callable[[Sequence[Term]], str], terms: Sequence[Term]) -> IntArray:
        parts = [terms[start : start + _AT_ONCE] for start in range(0, len(terms), _AT_ONCE)]
        return np.concatenate([_row(self._execute(sql(part)), len(part)) for part in parts])

    def _keyed(self, sql: Callable[[Sequence[Term]], str], terms: Sequence[Term], size: int) -> IntArray:
        sums = np.zeros((size, len(terms)), dtype=np.int64)
        for start in range(0, len(terms), _AT_ONCE):
            part = terms[start : start + _AT_ONCE]
            exact = self._execute(sql(part))
            keys = exact.integers("c")
            for index in range(len(part)):
                sums[keys, start + index] = exact.integers(f"s{index}")
        return sums


def _asked(levels: Sequence[Level]) -> list[list[tuple[int, tuple[int, ...]]]]:
    """The questions of a tree, as an engine is given them."""
    return [[(split.feature, split.right) for split in level] for level in levels]


def _row(exact: Exact, size: int) -> IntArray:
    """The sums s0, s1, … of an answer with one row."""
    return np.array([int(exact.integers(f"s{index}")[0]) for index in range(size)], dtype=np.int64)


def _link() -> LinkLines:
    """The public table of probabilities, as an engine is given it."""
    return LinkLines(SCORED, LINE, SHARES, tuple(zip(*(part.tolist() for part in link_lines()), strict=True)))
