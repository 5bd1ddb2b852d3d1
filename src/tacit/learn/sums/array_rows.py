"""Rows in memory, and what is added up of them: whole numbers, the same as an engine adds up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.learn.sums.cells import Codes, FeatureCells, offsets
from tacit.learn.sums.moments import GRID
from tacit.learn.sums.residuals import CLIP, REACH, clipped
from tacit.learn.sums.routing import Level, node_of
from tacit.noise import IntArray

Floats = NDArray[np.float64]
SHARES = 1 << 12  # steps of one in a probability
WEIGHT = 1 << 10  # steps of one in a weight, so that a score has GRID · WEIGHT
SCORED = 8 * GRID * WEIGHT  # scores are held there, in steps
LINE = GRID * WEIGHT // 8  # steps of a score that one straight line of the link covers
FAR = 64 * WEIGHT  # weights are held there
AT_ONCE = 1 << 22  # rows whose weighted products doubles add up exactly: each is at most GRID² · SHARES / 4 = 2^30


class ArrayCells:
    """Rows as the cells they fall into, and the number of each one's class."""

    def __init__(
        self, cells: Sequence[FeatureCells], codes: Sequence[Codes], which: NDArray[np.generic], classes: int = 2
    ) -> None:
        starts = offsets(cells)
        self._size, self._classes = int(starts[-1]), classes
        self._within = codes
        self._codes = [(code + start).astype(np.int64) for code, start in zip(codes, starts[:-1], strict=True)]
        self._which = which.astype(np.int64)

    def counts(self) -> IntArray:
        """How many rows fall into each cell, feature after feature."""
        return sum((np.bincount(code, minlength=self._size) for code in self._codes), np.zeros(self._size, np.int64))

    def class_counts(self) -> IntArray:
        """How many rows of each class fall into each cell: class after class, feature after feature."""
        counts = np.zeros(self._classes * self._size, dtype=np.int64)
        for code in self._codes:
            counts += np.bincount(self._which * self._size + code, minlength=counts.size)
        return counts

    def node_counts(self, levels: Sequence[Level], *, groups: IntArray) -> IntArray:
        """How many rows of each node of a tree fall into each group of cells: node after node, class after class."""
        size = int(groups.max()) + 1
        before = (node_of(levels, self._within) * self._classes + self._which) * size
        counts = np.zeros((1 << len(levels)) * self._classes * size, dtype=np.int64)
        for code in self._codes:
            counts += np.bincount(before + groups[code], minlength=counts.size)
        return counts

    def leaf_counts(self, levels: Sequence[Level]) -> IntArray:
        """How many rows of each class reach each node of a tree."""
        reached = node_of(levels, self._within) * self._classes + self._which
        return np.bincount(reached, minlength=(1 << len(levels)) * self._classes)

    def residuals(self, scores: IntArray, intercept: int, *, groups: IntArray) -> IntArray:
        """The sum of clipped residuals over each group of cells."""
        score = self._scored(scores, intercept)
        each = residuals_of(score, self._which == 1).astype(np.float64)  # whole numbers, far below 2^53 in sum
        size = int(groups.max()) + 1
        sums = np.zeros(size)
        for code in self._codes:
            sums += np.bincount(groups[code], weights=each, minlength=size)
        return sums.astype(np.int64)

    def right(self, scores: IntArray, intercept: int) -> int:
        """How many rows the sum of their cells' scores tells right."""
        return int(((self._scored(scores, intercept) > 0) == (self._which == 1)).sum())

    def _scored(self, scores: IntArray, intercept: int) -> IntArray:
        score = np.full(self._which.size, intercept, dtype=np.int64)
        for code in self._codes:
            score += scores[code]
        return score


def residuals_of(score: IntArray, is_second: NDArray[np.bool_]) -> IntArray:
    """Of each row the truth less its probability, in steps, clipped at one half."""
    agrees = np.clip(np.where(is_second, score, -score), 0, REACH)
    left = np.minimum(clipped()[agrees], CLIP)
    result: IntArray = np.where(is_second, left, -left)
    return result


class ArrayRows:
    """Rows in steps, the ones first; with a number to predict, in steps, or the number of a class.

    Doubles add whole numbers below 2^53 exactly, in any order; where rows could reach that, they are added in parts.
    """

    def __init__(self, rows: Floats, goal: Floats | None, which: NDArray[np.generic] | None, classes: int) -> None:
        self._rows, self._goal, self._classes = rows, goal, classes
        self._which = np.zeros(len(rows), np.int64) if which is None else which.astype(np.int64)

    def products(self) -> IntArray:
        """Σ xxᵀ, each pair once; then Σ xy and Σ y², where there is a number to predict."""
        sums = [self._squares(None)]
        if self._goal is not None:
            sums += [_whole(self._rows.T @ self._goal), _whole(np.array([self._goal @ self._goal]))]
        return np.concatenate(sums)

    def near(self, centres: IntArray) -> IntArray:
        """For each centre the number of rows that are nearest to it, in steps, and their sum."""
        return self._by_key(nearest(self._rows[:, 1:], centres), len(centres), self._rows)

    def votes(self, centres: IntArray) -> IntArray:
        """For each centre how many rows of each class are nearest to it."""
        key = nearest(self._rows[:, 1:], centres) * self._classes + self._which
        return np.bincount(key, minlength=len(centres) * self._classes).reshape(len(centres), -1)

    def by_class(self) -> IntArray:
        """For each class its number of rows, in steps, their sum, and the sum of their squares."""
        wide = np.hstack([self._rows, self._rows[:, 1:] ** 2])
        return self._by_key(self._which, self._classes, wide)

    def residuals(self, weights: IntArray) -> IntArray:
        """Σ (truth − probability) x, by the public table of probabilities."""
        share = self._shares(weights)
        left = np.where(self._which == 1, SHARES - share, -share)
        return _whole(self._rows.T @ left.astype(np.float64))

    def curvature(self, weights: IntArray) -> IntArray:
        """Σ p (1 − p) xxᵀ, each pair once."""
        share = self._shares(weights)
        return self._squares(share * (SHARES - share) // SHARES)

    def right(self, weights: IntArray) -> int:
        """How many rows the public table of probabilities tells right."""
        return int(((self._shares(weights) > SHARES // 2) == (self._which == 1)).sum())

    def _shares(self, weights: IntArray) -> IntArray:
        starts, slopes = link_lines()
        scores = np.rint(self._rows @ weights.astype(np.float64)).astype(np.int64)
        above = np.clip(scores, -SCORED, SCORED) + SCORED
        line = np.minimum(above // LINE, slopes.size - 1)
        result: IntArray = (starts[line] + slopes[line] * above) // LINE
        return result

    def _squares(self, weight: NDArray[np.generic] | None) -> IntArray:
        upper = np.triu_indices(self._rows.shape[1])
        total = np.zeros(upper[0].size, dtype=np.int64)
        for start in range(0, len(self._rows), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            rows = self._rows[part] if weight is None else self._rows[part] * weight[part].astype(np.float64)[:, None]
            total += _whole((rows.T @ self._rows[part])[upper])
        return total

    def _by_key(self, key: IntArray, size: int, rows: Floats) -> IntArray:
        sums = np.stack([np.bincount(key, weights=column, minlength=size) for column in rows.T], axis=1)
        return _whole(sums)


def _whole(sums: NDArray[Any]) -> IntArray:
    """Whole numbers that doubles hold exactly, as such."""
    result: IntArray = np.rint(sums).astype(np.int64)
    return result


def nearest(rows: Floats, centres: IntArray) -> IntArray:
    """For each row the number of its centre, the first of those as near; both in whole steps."""
    points = centres.astype(np.float64)
    far = (points**2).sum(axis=1) - 2 * rows @ points.T
    result: IntArray = far.argmin(axis=1)
    return result


@lru_cache(maxsize=1)
def link_lines() -> tuple[IntArray, IntArray]:
    """Probabilities of scores, by straight lines that are an eighth wide: starts and slopes, public, for every engine.

    They are within 0.0003 of the logistic function, and end at 0.0003 and 0.9997.
    """
    knots = np.rint(SHARES / (1 + np.exp(-np.arange(-8.0, 8.125, 0.125)))).astype(np.int64)
    slopes = np.diff(knots)
    starts = (knots[:-1] - slopes * np.arange(slopes.size)) * LINE + LINE // 2
    return starts, slopes
