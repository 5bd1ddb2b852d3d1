"""A model beside the truth: exact distances of its rows from the table's. For the curator's eyes alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.engines import Engine, one_state
from tacit.errors import InvalidParameter
from tacit.noise import IntArray
from tacit.policy import Policy, resolve_types
from tacit.release.synthesise.columns import MOST_CELLS, Attribute, key_of
from tacit.release.synthesise.counting import Axes, MarginalCounter, TablePlan, plan_counts
from tacit.release.synthesise.model import SyntheticModel
from tacit.release.synthesise.table import SyntheticTable

MOST_COMPARED = 10_000  # cells of columns that are compared together
WAYS = (1, 2, 3)


@dataclass(frozen=True, slots=True, repr=False)
class ExactDistances:
    """The total variation between a model's rows and the table's, of columns taken together. Not private: no noise."""

    distances: tuple[tuple[tuple[str, ...], float], ...]
    left_out: int  # marginals of more cells than are compared

    def mean(self, ways: int) -> float | None:
        """The mean over all marginals of so many columns; None where there is none."""
        distances = [distance for names, distance in self.distances if len(names) == ways]
        return float(np.mean(distances)) if distances else None

    def worst(self, ways: int, count: int = 5) -> list[tuple[tuple[str, ...], float]]:
        """The marginals of so many columns that are furthest off."""
        marginals = [each for each in self.distances if len(each[0]) == ways]
        return sorted(marginals, key=lambda each: -each[1])[:count]

    def __repr__(self) -> str:
        return "<exact>"


def exact_distances(
    policy: Policy, engine: Engine, model: SyntheticModel, *, progress: Callable[[float], None] = lambda _: None
) -> ExactDistances:
    """Count the table's marginals of one, two and three columns as they are, and hold the model's rows against them.

    Rows are counted as the model saw them: within public values, units bounded. Nothing is charged, and nothing is
    private: what this tells of the data is exact.
    """
    typed = resolve_types(policy, engine.schema())
    declared = typed.table(model.table)
    keys = [key_of(declared, declared.column(each.name)) for each in model.attributes]
    every = [axes for ways in WAYS for axes in itertools.combinations(range(len(keys)), ways)]
    sizes = [each.cells for each in model.attributes]
    few = [axes for axes in every if math.prod(sizes[axis] for axis in axes) <= MOST_COMPARED]
    counted = plan_counts(typed, engine, declared, keys=keys, axes=few or every[:1], most=MOST_CELLS)
    if counted.attributes != model.attributes:
        raise InvalidParameter("the model is of other columns than the policy's: one of them has changed since")
    drawn = model.rows_drawn
    distances = []
    with one_state(engine) as state:
        counter = MarginalCounter(counted, state, progress)
        for axes in few:
            names = tuple(model.attributes[axis].name for axis in axes)
            distances.append((names, _apart(counter(axes).ravel(), _cells(drawn, axes, counted))))
    return ExactDistances(tuple(distances), len(every) - len(few))


def _cells(drawn: SyntheticTable, axes: Axes, counted: TablePlan) -> IntArray:
    """How many synthetic rows each cell has."""
    cells: IntArray = np.zeros(len(drawn), dtype=np.int64)
    for axis in axes:
        cells = cells * counted.sizes[axis] + _code(drawn, axis, counted.attributes)
    out: IntArray = np.bincount(cells, minlength=math.prod(counted.sizes[axis] for axis in axes))
    return out


def _code(drawn: SyntheticTable, axis: int, attributes: tuple[Attribute, ...]) -> IntArray:
    return np.minimum(drawn.codes[axis], attributes[axis].cells - 1)


def _apart(one: IntArray, other: IntArray) -> float:
    """Half the sum of the differences of shares; of nothing and something it is one."""
    totals = int(one.sum()), int(other.sum())
    if not all(totals):
        return 0.0 if totals[0] == totals[1] else 1.0
    return float(np.abs(one / totals[0] - other / totals[1]).sum() / 2)
