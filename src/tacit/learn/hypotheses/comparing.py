"""Tests of hypotheses on noisy numbers: proportions, means, independence, correlation; p-values that know of the noise.

Each is made of what was released: counts and sums with noise of a known spread. A statistic is divided by what sampling
and noise make of it together where nothing is there to find, so that under the null its p-value is at most α in about a
share α of all tables, however much noise there is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.core import Event, Loss, Number, rational, sqrt_above
from tacit.errors import InvalidParameter
from tacit.learn.conventions import numbers_among, source_of
from tacit.learn.sums.array_rows import ArrayRows
from tacit.learn.sums.cells import cells_of
from tacit.learn.sums.moments import GRID, composed, plan_moments, scaled
from tacit.learn.sums.studies import spendable
from tacit.mechanisms import Gaussian
from tacit.noise import Source

Floats = NDArray[np.float64]
_FEW = 5.0  # rows expected in a cell, below which no law of large numbers holds


@dataclass(frozen=True, slots=True)
class HypothesisTest:
    """A statistic, how likely one as large is where there is nothing to find, and what was estimated.

    `estimate` ± `off` holds 95 % of the time; an independence has no estimate. `notes` say what to be careful about.
    """

    statistic: float
    p_value: float
    freedom: int = 1
    estimate: float = math.nan
    off: float = math.nan
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """Counts of rows by two columns, or by one: noisy, with the spread of the noise on each, and its price."""

    counts: Floats
    noise: float
    loss: Loss
    event: Event


# ── what is released ─────────────────────────────────────────────────────────────────────────────────────────────────


def measure_counts(
    *columns: ArrayLike,
    values: Sequence[Sequence[Any]],
    epsilon: Number = 1,
    delta: Number = "0.000001",
    source: Source | None = None,
) -> NoisyTable:
    """How many rows have each combination of these declared values: (ε, δ)-DP for one row, which counts once."""
    if len(columns) != len(values) or not 1 <= len(columns) <= 2:
        raise InvalidParameter("one or two columns are counted, each with a list of its values")
    loss = spendable(epsilon, delta)
    codes = [_codes(column, each) for column, each in zip(columns, values, strict=True)]
    if len({code.size for code in codes}) > 1:
        raise InvalidParameter("the columns are of different lengths")
    shape = tuple(len(each) for each in values)
    known = np.all([code < size for code, size in zip(codes, shape, strict=True)], axis=0)
    flat = np.ravel_multi_index(tuple(code[known] for code in codes), shape)
    noise = Gaussian.costing(loss, 1)
    noisy = noise.release(np.bincount(flat, minlength=math.prod(shape)), source_of(source))
    return NoisyTable(noisy.reshape(shape).astype(np.float64), math.sqrt(noise.variance), loss, noise.event(1))


def _codes(column: ArrayLike, values: Sequence[Any]) -> NDArray[np.int64]:
    (cells,) = cells_of([list(values)], ["a column"])
    if len(cells.values) < 2:
        raise InvalidParameter("a column has two values at least, and none is named twice")
    return cells.codes(_one_a_row(column)).astype(np.int64)


def _one_a_row(column: ArrayLike) -> NDArray[Any]:
    """A column as it is: of a list, one cell does not decide how the others are read."""
    if isinstance(column, list | tuple):
        return np.fromiter(column, dtype=object, count=len(column))
    array: NDArray[Any] = np.asarray(column)
    if array.ndim != 1:
        raise InvalidParameter("a column has one value for each row")
    return array


# ── what is made of it ───────────────────────────────────────────────────────────────────────────────────────────────


def independence(table: NoisyTable | ArrayLike, noise: float | None = None) -> HypothesisTest:
    """Whether two columns have anything to do with each other: χ² with (r − 1)(c − 1) degrees of freedom.

    What is left of the counts when rows and columns are taken out is divided by its covariance under independence, of
    sampling and that of the noise: so it is χ² however large the noise. Pearson's own statistic would call noise a
    finding (Gaboardi, Lim, Rogers & Vadhan, ICML 2016).
    """
    counts, spread = _read(table, noise, dimensions=2)
    held = np.maximum(counts, 0.5)
    total = held.sum()
    rows, columns = held.sum(axis=1) / total, held.sum(axis=0) / total
    left = np.eye(rows.size) - rows[:, None]  # takes out what a row's share alone says
    right = np.eye(columns.size) - columns[:, None]
    contrast = np.kron(left, right)
    rest = contrast @ counts.ravel()
    expected = total * np.outer(rows, columns).ravel()
    covariance = contrast @ np.diag(expected + spread**2) @ contrast.T
    freedom = (rows.size - 1) * (columns.size - 1)
    values, vectors = np.linalg.eigh(covariance)
    kept = np.argsort(values)[-freedom:]
    statistic = float(((vectors[:, kept].T @ rest) ** 2 / np.maximum(values[kept], 1e-12)).sum())
    return HypothesisTest(statistic, chi_squared_tail(statistic, freedom), freedom, notes=_notes(expected))


def compare_proportions(table: NoisyTable | ArrayLike, noise: float | None = None) -> HypothesisTest:
    """Whether two groups, the rows of the table, have the same share of its second column; the difference ± 95 %."""
    counts, spread = _read(table, noise, dimensions=2)
    if counts.shape != (2, 2):
        raise InvalidParameter("two groups and two outcomes are compared: a table of two by two")
    sizes = np.maximum(counts.sum(axis=1), 1.0)
    shares = np.clip(counts[:, 1] / sizes, 0.0, 1.0)
    pooled = float(np.clip(counts[:, 1].sum() / sizes.sum(), 0.0, 1.0))

    def variance(share: Floats) -> float:
        noisy = spread**2 * (share**2 + (1 - share) ** 2) / sizes**2
        return float((share * (1 - share) / sizes + noisy).sum())

    apart = float(shares[1] - shares[0])
    statistic = apart / math.sqrt(max(variance(np.full(2, pooled)), 1e-12))
    expected = np.outer(sizes, [1 - pooled, pooled])
    return HypothesisTest(
        statistic, _two_sided(statistic), 1, apart, 1.96 * math.sqrt(max(variance(shares), 0.0)), _notes(expected)
    )


def compare_means(
    values: ArrayLike,
    groups: ArrayLike,
    *,
    bounds: tuple[Number, Number],
    named: Sequence[Any],
    epsilon: Number = 1,
    delta: Number = "0.000001",
    source: Source | None = None,
) -> tuple[HypothesisTest, Event]:
    """Whether two named groups have the same mean: Welch's test, the noise in it; (ε, δ)-DP for one row.

    A group's count, sum and sum of squares less one half are measured, of values scaled by their bounds.
    """
    if len(named) != 2:
        raise InvalidParameter("two groups are compared: name both")
    loss, which = spendable(epsilon, delta), _codes(groups, named)
    (column,) = scaled([bounds], ["the values"])
    steps = column.steps(_one_a_row(values))[:, 0]
    if steps.size != which.size:
        raise InvalidParameter("values and groups are of different numbers")
    known = which < 2
    rows = np.stack([np.full(int(known.sum()), float(GRID)), steps[known]], axis=1)
    sums = ArrayRows(rows, None, which[known], 2).by_class()
    moves = [GRID * sqrt_above(Fraction(2)), Fraction(GRID * GRID, 2)]
    noises = Gaussian.jointly(loss, [(moves[0], Fraction(2, 3)), (moves[1], Fraction(1, 3))])
    first = noises[0].release(sums[:, :2].ravel(), source_of(source)).reshape(2, 2) / GRID
    second = noises[1].release(sums[:, 2] - sums[:, 0] * (GRID // 2), source_of(source)) / GRID**2 + first[:, 0] / 2
    spread = math.sqrt(noises[0].variance) / GRID
    sizes = np.maximum(first[:, 0], 1.0)
    means = np.clip(first[:, 1] / sizes, -1.0, 1.0)
    within = np.clip(second / sizes - means**2, 0.0, 1.0)
    variances = within / sizes + spread**2 * (1 + means**2) / sizes**2
    half = column.scale[1]
    apart = float(means[1] - means[0])
    statistic = apart / math.sqrt(max(float(variances.sum()), 1e-12))
    off = 1.96 * math.sqrt(float(variances.sum())) * half
    verdict = HypothesisTest(statistic, _two_sided(statistic), 1, apart * half, off, _notes(sizes))
    return verdict, composed(noises, moves)


def correlation(
    one: ArrayLike,
    other: ArrayLike,
    *,
    bounds: tuple[tuple[Number, Number], tuple[Number, Number]],
    epsilon: Number = 1,
    delta: Number = "0.000001",
    source: Source | None = None,
) -> tuple[HypothesisTest, Event]:
    """Whether two numbers go together: Pearson's correlation from noisy sums of products; (ε, δ)-DP for one row."""
    features = scaled(list(bounds), ["one", "the other"])
    columns = [feature.steps(_one_a_row(each))[:, 0] for feature, each in zip(features, (one, other), strict=True)]
    if columns[0].size != columns[1].size:
        raise InvalidParameter("the columns are of different lengths")
    plan = plan_moments(features, spendable(epsilon, delta), times=1, with_target=False)
    rows = np.stack([np.full(columns[0].size, float(GRID)), *columns], axis=1)
    measured = plan.measure(ArrayRows(rows, None, None, 0), source_of(source))
    products = measured.products
    count = max(1.0, float(products[0, 0]))
    means = np.clip(products[0, 1:] / count, -1.0, 1.0)
    spread = np.clip(np.diag(products)[1:] / count - means**2, 1e-4, 1.0)
    together = float(products[1, 2]) - count * float(means[0] * means[1])
    noisy = measured.product_sigma**2 * float((1 + means**2).prod())
    statistic = together / math.sqrt(count * float(spread.prod()) + noisy)
    estimate = float(np.clip(together / count / math.sqrt(float(spread.prod())), -1.0, 1.0))
    sampled = (1 - estimate**2) ** 2 / count
    off = 1.96 * math.sqrt(sampled + noisy / count**2 / float(spread.prod()))
    return HypothesisTest(statistic, _two_sided(statistic), 1, estimate, off, _notes(np.array([count]))), plan.event


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """P(χ² ≥ statistic), by the closed form that whole degrees of freedom have."""
    half = max(statistic, 0.0) / 2
    if freedom % 2:
        term, total = math.sqrt(half / math.pi) * math.exp(-half) * 2, math.erfc(math.sqrt(half))
        for index in range(1, freedom, 2):
            total += term
            term *= half / (index / 2 + 1)
        return min(1.0, total)
    term, total = math.exp(-half), 0.0
    for index in range(freedom // 2):
        total += term
        term *= half / (index + 1)
    return min(1.0, total)


def _two_sided(statistic: float) -> float:
    return math.erfc(abs(statistic) / math.sqrt(2))


def _read(table: NoisyTable | ArrayLike, noise: float | None, *, dimensions: int) -> tuple[Floats, float]:
    if isinstance(table, NoisyTable):
        counts, spread = table.counts, table.noise
    else:
        if noise is None:
            raise InvalidParameter("nobody said how noisy the counts are", hint="noise= their standard deviation")
        counts, spread = numbers_among(table, "counts"), float(rational(noise, "the noise"))
    if (
        counts.ndim != dimensions
        or min(counts.shape) < 2
        or not np.isfinite(counts).all()
        or not 0 <= spread < math.inf
    ):
        raise InvalidParameter("a table of counts has two rows and two columns at least, all of them numbers")
    return counts, spread


def _notes(expected: Floats) -> tuple[str, ...]:
    if float(np.min(expected)) >= _FEW:
        return ()
    return ("fewer than five rows are expected in a cell: the p-value is a rough one",)
