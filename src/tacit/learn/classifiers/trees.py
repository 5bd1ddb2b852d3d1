"""A decision tree whose splits are chosen from noisy histograms: level by level, then its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, Number, sqrt_above
from tacit.errors import InvalidParameter
from tacit.learn.classifiers.tree_growing import best_split, coarse, shares_of
from tacit.learn.sums.cells import FeatureCells, cells_of
from tacit.learn.sums.moments import composed
from tacit.learn.sums.routing import Level, Split, node_of
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsClassifier, classes_cells
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray, Source

_GROWING = Fraction(17, 20)  # of rho, for all histograms that splits are chosen from
_LATER = Fraction(7, 10)  # of what a level has, for the next: what is asked first parts the most rows
_DEEPEST = 10


class CountsNodes(Protocol):
    """Whoever can count the rows: arrays, or an engine."""

    def node_counts(self, levels: Sequence[Level], *, groups: IntArray) -> IntArray:
        """How many rows of each class fall into each group of cells, by the node they reach: (node, class, group).

        `groups` gives each cell its group; no group has cells of two features.
        """

    def leaf_counts(self, levels: Sequence[Level]) -> IntArray:
        """How many rows of each class reach each node: (node, class)."""


@dataclass(frozen=True, slots=True)
class TreePlan:
    """One noisy histogram for each level, by node, class and group of cells; then one by leaf and class.

    A row reaches one node of a level and is in one group of each of k features, so it moves a level's histogram by √k
    in L2, and the leaves' by one. That a level's nodes are chosen in view of earlier levels changes nothing, as in
    `AdditivePlan`.
    """

    loss: Loss
    noises: tuple[Gaussian, ...]  # of each level, and of the leaves
    moves: tuple[Fraction, ...]

    @property
    def event(self) -> Event:
        """What an accountant needs to know of all of it."""
        return composed(self.noises, self.moves)


class TreeClassifier(SumsClassifier):
    """Any number of classes, by a tree of questions, each about one feature; every leaf says how likely each class is.

    Most of the budget goes into choosing questions, more of it into the first: at each level one histogram by node,
    class and group of cells is measured, with noise, and every node asks what parts its classes best (Gini), less what
    noise alone would have parted. The rest counts the classes at the leaves, where a row is counted once. All of a
    level's nodes are measured at once, for a row is in one only. Numbers are asked about in ten groups of cells.
    `AdditiveClassifier` predicts better; a tree can be read, and knows what goes together with what.

    Guarantee:    (ε, δ)-DP for one row added or removed, splits and leaves together (`TreePlan`).
    Sensitivity:  L2, √k for a level of k features, and 1 for the leaves, whatever the row holds.
    Exactness:    counts and noise are whole numbers.
    Reference:    Friedman & Schuster, KDD 2010 (trees from private counts); the noise: `Gaussian`.
    """

    _many_classes = True
    cells_: tuple[FeatureCells, ...]
    asks_: NDArray[np.float64]  # for each node but the leaves, the number of its feature
    goes_right_: NDArray[np.float64]  # for each of them and each cell of that feature: one, or nothing
    shares_: NDArray[np.float64]

    def __init__(
        self,
        depth: int = 4,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        classes: Sequence[Any] | None = None,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon, delta=delta, features=features, classes=classes, max_rows=max_rows, source=source
        )
        self.depth = depth

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        if isinstance(self.depth, bool) or not isinstance(self.depth, int) or not 1 <= self.depth <= _DEEPEST:
            raise InvalidParameter(f"the depth of a tree is a whole number from 1 to {_DEEPEST}")
        cells = cells_of(declared.features, declared.names)
        plan = plan_tree(len(cells), declared.loss, depth=self.depth, times=declared.times)

        def learn(data: CountsNodes, source: Source) -> Learnt:
            return grown(plan, data, source, cells=cells, classes=len(declared.classes))

        return Study(cells, classes_cells(declared.classes), plan, learn)

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.cells_, self.shares_ = study.columns, learnt["shares"]
        self.asks_, self.goes_right_ = learnt["asks"], learnt["right"]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """The probability of each class, for each row: what its leaf says."""
        columns = self._columns(X)
        codes = [cells.codes(column) for cells, column in zip(self.cells_, columns, strict=True)]
        probabilities: NDArray[np.float64] = self.shares_[node_of(self._levels(), codes)]
        return probabilities

    def _levels(self) -> list[Level]:
        asks = self.asks_.astype(np.int64).tolist()
        splits = [
            Split(feature, tuple(self.goes_right_[node, : self.cells_[feature].size].astype(np.int64).tolist()))
            for node, feature in enumerate(asks)
        ]
        return [splits[(1 << level) - 1 : (2 << level) - 1] for level in range((len(asks) + 1).bit_length() - 1)]

    def rules(self) -> list[str]:
        """The tree in words, a line for each question and each leaf: free, for it was released."""
        lines: list[str] = []
        levels = self._levels()

        def told(level: int, node: int) -> None:
            margin = "  " * level
            if level == len(levels):
                pairs = zip(self.classes_, self.shares_[node], strict=True)
                lines.append(margin + ", ".join(f"{label}: {share:.0%}" for label, share in pairs))
                return
            split = levels[level][node]
            cells = self.cells_[split.feature]
            lines.append(f"{margin}{cells.name} among {', '.join(split.in_words(cells))}?")
            told(level + 1, 2 * node + 1)
            lines.append(f"{margin}else")
            told(level + 1, 2 * node)

        told(0, 0)
        return lines


def plan_tree(features: int, loss: Loss, *, depth: int, times: int) -> TreePlan:
    """The least noise for which levels and leaves cost no more than `loss` together."""
    weights = [_LATER**level for level in range(depth)]
    shares = [*(_GROWING * weight / sum(weights) for weight in weights), 1 - _GROWING]
    moves = *[times * sqrt_above(Fraction(features))] * depth, Fraction(times)
    return TreePlan(loss, Gaussian.jointly(loss, list(zip(moves, shares, strict=True))), moves)


def grown(plan: TreePlan, data: CountsNodes, source: Source, *, cells: Sequence[FeatureCells], classes: int) -> Learnt:
    """Level by level; it sees what was released, and nothing else."""
    levels: list[Level] = []
    *growing, counting = plan.noises
    groups = coarse(cells)
    for depth, noise in enumerate(growing):
        noisy = noise.release(data.node_counts(levels, groups=groups), source).astype(np.float64)
        nodes = noisy.reshape(1 << depth, classes, -1)
        levels.append([best_split(node, cells, groups=groups, noise=float(noise.sigma)) for node in nodes])
    leaves = counting.release(data.leaf_counts(levels), source).reshape(1 << len(growing), classes)
    splits = [split for level in levels for split in level]
    right = np.zeros((len(splits), max(each.size for each in cells)))
    for node, split in enumerate(splits):
        right[node, : len(split.right)] = split.right
    return {
        "asks": np.array([split.feature for split in splits], dtype=np.float64),
        "right": right,
        "shares": shares_of(leaves, noise=float(counting.sigma)),
    }
