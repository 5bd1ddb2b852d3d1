"""Levels measured: discrete Gaussian noise on each, at its share of rho, and then made consistent.

Sensitivity. The leaves are one marginal: what one unit brings to all its cells adds up to at most `sensitivity`, and so
does what it brings to the nodes of any level, or to their totals, which are sums of those cells. Each level, and its
totals, is a release of its own; rho adds up over them. Under replacement, of two such contributions one is taken away
and one added, neither with negative cells: their difference is at most √2 · `sensitivity` in L2.

Public totals leave without noise, so that neighbours must agree in them. The leaves leave out rows with a value outside
of a domain, and how many are left is not what the curator declared: the totals are counted by themselves, over all rows
of the table, or of each place.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.engines import State
from tacit.noise import IntArray, Source
from tacit.release.hierarchies.counts import HierarchicalCounts
from tacit.release.hierarchies.least_squares import TreeEstimate, fitted_levels
from tacit.release.hierarchies.tree import PlaceTree
from tacit.release.hierarchies.whole import whole_levels
from tacit.release.noisy_counts import NoisyCounts
from tacit.release.synthesise.counting import MarginalCounter, TablePlan, all_rows
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.fitting.measuring import Meter
from tacit.sql import Plan

_CELLS, _TOTALS = 0, 1


@dataclass(frozen=True, slots=True)
class PublicTotals:
    """What counts them: the rows of each place, and all rows."""

    places: TablePlan
    rows: Plan


@dataclass(frozen=True, slots=True)
class HierarchyPlan:
    """What is counted, in which places, and how rho is shared out."""

    noisy: NoisyCounts
    tree: PlaceTree
    shares: tuple[Fraction, ...]  # of rho, for each level
    totals: Fraction  # of a level's share, for the totals of its places
    held: int | None  # the lowest level whose totals are public
    public: PublicTotals | None = None  # what counts those

    @property
    def counted(self) -> TablePlan:
        """What is counted."""
        return self.noisy.counted

    @property
    def cells(self) -> int:
        """How many cells each place has."""
        return int(np.prod(self.counted.sizes[1:], dtype=np.int64))


def read_hierarchy(plan: HierarchyPlan, state: State, source: Source) -> HierarchicalCounts:
    """The only place where exact counts are: each level has noise before anything is made of it."""
    counted = plan.counted
    (axes,) = counted.plans
    leaves = MarginalCounter(counted, state)(axes)
    places = len(counted.attributes[0].values)
    exact = plan.tree.summed(leaves[:places].reshape(places, plan.cells))  # rows without a place are nowhere
    return consistent(plan, exact, source, held=_public_totals(plan, state))


def _public_totals(plan: HierarchyPlan, state: State) -> list[IntArray | None]:
    """Of each level the totals that the curator declared public, as they are; None for the others."""
    if plan.public is None or plan.held is None:
        return [None] * len(plan.shares)
    if plan.held == 0:
        everything: IntArray = np.array([all_rows(plan.public.rows, state)], dtype=np.int64)
        return [everything, *[None] * (len(plan.shares) - 1)]
    places = len(plan.counted.attributes[0].values)
    counts = MarginalCounter(plan.public.places, state)((0,))[:places]
    levels = plan.tree.summed(counts.reshape(places, 1))
    return [level[:, 0] if index <= plan.held else None for index, level in enumerate(levels)]


def consistent(
    plan: HierarchyPlan, exact: list[IntArray], source: Source, *, held: list[IntArray | None]
) -> HierarchicalCounts:
    """Exact levels in; what leaves is noisy, least-squares, whole, not negative, and adds up to what is public."""
    tables: dict[tuple[int, ...], IntArray] = {}
    for level, true in enumerate(exact):
        tables[level, _CELLS], tables[level, _TOTALS] = true, true.sum(axis=1, keepdims=True)
    counted = plan.counted
    meter = plan.noisy.meter(tables.__getitem__, source)
    totals, cells = _estimates(plan, meter, held)
    estimates = [total + rest for total, rest in zip(totals.values, cells.values, strict=True)]
    counts = whole_levels(estimates, plan.tree.parents, totals=held)
    number = plan.cells
    return HierarchicalCounts(
        table=counted.table,
        levels=plan.tree.levels,
        paths=plan.tree.paths,
        by=counted.attributes[1:],
        counts=tuple(counts),
        total_variances=tuple(each * number**2 for each in totals.variances),
        cell_variances=tuple(
            whole + rest * (1 - 1 / number) for whole, rest in zip(totals.variances, cells.variances, strict=True)
        ),
        moved=tuple((count - wanted).astype(np.float32) for count, wanted in zip(counts, estimates, strict=True)),
        loss=plan.noisy.loss,
        rho=plan.noisy.rho,
        held=None if plan.held is None else plan.tree.levels[plan.held],
    )


def _estimates(plan: HierarchyPlan, meter: Meter, held: list[IntArray | None]) -> tuple[TreeEstimate, TreeEstimate]:
    """Of every level the mean over the cells of each place, and how far each cell is from that mean.

    Noise is the same on every cell of a place, so that means and distances from them are independent, whatever the
    totals say: least squares are solved for each alone, and the sum of both is the least-squares estimate of the cells.
    """
    number = plan.cells
    means: list[FloatArray] = []
    rests: list[FloatArray] = []
    mean_variances: list[float] = []
    rest_variances: list[float] = []
    for level, share in enumerate(plan.shares):
        known = held[level]
        part = share if number > 1 and known is not None else share * (1 - plan.totals) if number > 1 else Fraction(0)
        shape = (plan.tree.sizes[level], number)
        seen = meter.measure((level, _CELLS), part) if part else None
        cells = np.zeros(shape) if seen is None else seen.counts
        sigma = np.inf if seen is None else seen.sigma
        mean, variance = cells.mean(axis=1, keepdims=True), sigma**2 / number
        if known is not None:
            mean, variance = known[:, None] / number, 0.0
        elif share > part:
            total = meter.measure((level, _TOTALS), share - part)
            mean, variance = _joined(mean, variance, total.counts / number, (total.sigma / number) ** 2)
        means.append(mean)
        mean_variances.append(variance)
        rests.append(cells - cells.mean(axis=1, keepdims=True))
        rest_variances.append(sigma**2 if number > 1 else 0.0)
    parents = plan.tree.parents
    return fitted_levels(parents, means, mean_variances), fitted_levels(parents, rests, rest_variances)


def _joined(one: FloatArray, variance: float, other: FloatArray, its: float) -> tuple[FloatArray, float]:
    """Two measurements of the same, each by its precision; the first may not be there."""
    if np.isinf(variance):
        return other, its
    return (one * its + other * variance) / (variance + its), variance * its / (variance + its)
