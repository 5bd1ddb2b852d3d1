"""The rounds of an additive model: from noisy histograms to weights. It sees what was released, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.learn.classifiers.additive_plan import AdditivePlan
from tacit.learn.classifiers.additive_shrinking import drawn_back
from tacit.learn.sums.cells import FeatureCells
from tacit.learn.sums.residuals import REACH, RESIDUAL, SCORE
from tacit.noise import IntArray, Source, uniform_integer

Floats = NDArray[np.float64]
_CURVATURE = 0.15  # about what p (1 − p) is of a row
_PLENTY = 100  # rows over the noise of one cell, from which cells are measured finely
_SPREAD = 0.03  # how often a cut is made where nobody is
_ALIKE = 12  # features that may move everybody's odds at once: times step and curvature, less than two
_GHOSTS = 4  # how often is drawn what chance alone would have made of the weights
_UNIFORM = 1 << 53


class CountsCells(Protocol):
    """Whoever can count the rows: arrays, or an engine."""

    def counts(self) -> IntArray:
        """How many rows fall into each cell, feature after feature."""

    def residuals(self, scores: IntArray, intercept: int, *, groups: IntArray) -> IntArray:
        """The sum of clipped residuals over each group of cells, where each cell adds its score to a row's.

        `groups` gives each cell its group; no group has cells of two features.
        """


class CellScores(Protocol):
    """Whoever can tell how good scores of cells are: arrays, or an engine."""

    def right(self, scores: IntArray, intercept: int) -> int:
        """How many rows the sum of their cells' scores tells right."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a round goes, and how many groups of cells it measures of a feature."""

    step: float
    shrinkage: float
    groups: int


_SPARSE = Pace(step=0.25, shrinkage=1.5, groups=6)
_AMPLE = Pace(step=0.25, shrinkage=1.0, groups=16)


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveWeights:
    """Weights of all cells, feature after feature, and of everybody."""

    weights: Floats
    intercept: float
    rows: float  # about how many there are, as far as anybody may know


def learn(plan: AdditivePlan, data: CountsCells, source: Source, *, pace: Pace | None = None) -> AdditiveWeights:
    """Measure the counts, then the residuals round by round; the mean of the later half of the weights is the model.

    The pace is one of two, by how many rows there are over the noise, unless it is given. Beside the weights goes what
    chance alone would have made of them, a few times over, drawn with public coins: the noise, anew in each round; and
    that these are the rows and no others, the same in all rounds. As much of each feature as that explains is taken
    back in the end (`drawn_back`).
    """
    counts = plan.count_noise.release(data.counts(), source).astype(np.float64)
    held, features = np.maximum(counts, 0.0), len(plan.cells)
    blocks = FeatureBlocks(np.repeat(np.arange(features), [each.size for each in plan.cells]), held)
    rows = max(1.0, float(counts.sum()) / features)  # what is released; how many there are in truth is never used
    noise = float(plan.residual_noise.sigma) / RESIDUAL  # on the sum of a group, in rows
    pace = pace or (_AMPLE if rows / noise >= _PLENTY else _SPARSE)
    floor = pace.shrinkage * pace.step * math.sqrt(plan.rounds) * noise
    weights = np.zeros((1 + _GHOSTS, counts.size))  # the first are the model's, the others of chance alone
    drawn = np.sqrt(_CURVATURE * held) * _normal(_GHOSTS * held.size, source).reshape(_GHOSTS, -1)
    intercept = 0.0
    later, common = np.zeros_like(weights), 0.0
    for turn in range(plan.rounds):
        groups = grouping(plan.cells, counts, pace=pace, source=source)
        sums = data.residuals(*in_steps(weights[0], intercept), groups=groups)
        noisy = plan.residual_noise.release(sums, source) / RESIDUAL
        within = _CURVATURE * np.maximum(np.bincount(groups, weights=counts, minlength=noisy.size), 0.0)
        left = drawn - _CURVATURE * held * weights[1:]
        ghosts = [np.bincount(groups, weights=each) for each in left]
        moves = np.vstack([noisy, ghosts + noise * _normal(_GHOSTS * noisy.size, source).reshape(_GHOSTS, -1)])
        weights = weights + blocks.said_once((pace.step * moves / (within + floor))[:, groups])
        intercept += pace.step * float(noisy.sum()) / features / (_CURVATURE * rows + floor)
        if turn >= plan.rounds // 2:
            later, common = later + weights, common + intercept
    averaged = plan.rounds - plan.rounds // 2
    around, shift = blocks.centred(later / averaged)
    model = drawn_back(around, held, blocks.feature, ordered=[each.is_ordered for each in plan.cells])
    return AdditiveWeights(model, common / averaged + shift, rows)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBlocks:
    """The cells of all features in one row: which feature each is of, and about how many rows it holds."""

    feature: IntArray
    held: Floats

    def means(self, values: Floats) -> Floats:
        """Of each row of values the mean within each feature, by rows held."""
        size = int(self.feature[-1]) + 1
        whole = np.maximum(np.bincount(self.feature, weights=self.held, minlength=size), 1.0)
        sums = [np.bincount(self.feature, weights=self.held * each, minlength=size) for each in values]
        return np.array(sums) / whole

    def said_once(self, moves: Floats) -> Floats:
        """Moves with less of what every feature says alike: that everybody's odds are higher or lower.

        Each of k features measures it, and k moves that way at once would swing ever further where k is large: they go
        no further together than `_ALIKE` of them would, whose steps end where they should, for p (1 − p) is then about
        a tenth.
        """
        means = self.means(moves)
        result: Floats = moves - (means * (1 - min(1.0, _ALIKE / means.shape[1])))[:, self.feature]
        return result

    def centred(self, weights: Floats) -> tuple[Floats, float]:
        """Weights around 0 in each feature; and the sum of the first row's means, which everybody has."""
        means = self.means(weights)
        return weights - means[:, self.feature], float(means[0].sum())


def in_steps(weights: Floats, intercept: float) -> tuple[IntArray, int]:
    """Scores as whole numbers; held where no sum of them leaves 32 bits."""
    steps = np.clip(np.rint(np.append(weights, intercept) * SCORE), -REACH, REACH).astype(np.int64)
    return steps[:-1], int(steps[-1])


def grouping(cells: Sequence[FeatureCells], counts: Floats, *, pace: Pace, source: Source) -> IntArray:
    """A group for each cell, at most `pace.groups` a feature, drawn anew for every round.

    Neighbouring cells of numbers share a group, and any cells of categories. Cuts are likelier where noisy counts are
    large; they depend on what was released and on coins that hide nothing. Measuring a random coarsening each time has
    the noise of few cells and, over all rounds, the resolution of many.
    """
    groups, first, start = [], 0, 0
    for each in cells:
        held = np.maximum(counts[start : start + each.size], 0.0)
        cut = _cut(held, pace.groups, ordered=each.is_ordered, source=source)
        groups.append(cut + first)
        first += int(cut.max()) + 1
        start += each.size
    return np.concatenate(groups)


def _cut(held: Floats, most: int, *, ordered: bool, source: Source) -> IntArray:
    """A row of cells cut at `most` − 1 places, chosen without replacement; categories are shuffled before."""
    if held.size <= most:
        return np.arange(held.size)
    order = np.arange(held.size) if ordered else np.argsort(_coins(held.size, source), kind="stable")
    weight = np.sqrt(held[order]) + _SPREAD * math.sqrt(held.sum() + 1)
    wait = -np.log(_coins(held.size - 1, source)) / (weight[1:] + weight[:-1])  # the first to ring are chosen
    cuts = np.sort(np.argsort(wait, kind="stable")[: most - 1])
    groups = np.empty(held.size, dtype=np.int64)
    groups[order] = np.searchsorted(cuts, np.arange(held.size), side="left")
    return groups


def _coins(size: int, source: Source) -> Floats:
    """Uniform numbers in (0, 1): public ones, on which no privacy rests."""
    return (uniform_integer(_UNIFORM, size, source=source) + 0.5) / _UNIFORM


def _normal(size: int, source: Source) -> Floats:
    """Normal numbers, of public coins (Box & Muller, Ann. Math. Statist. 29, 1958): they hide nothing."""
    first, second = np.split(_coins(2 * size, source), 2)
    result: Floats = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    return result
