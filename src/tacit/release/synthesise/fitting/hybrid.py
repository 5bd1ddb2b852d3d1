"""The default method: all pairs measured, those that show something measured again, and rows fitted to all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.release.synthesise.fitting.arrays import FloatArray, fitted_to, projected
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.compression import (
    Compression,
    compression_of,
    held_within,
    ordered_bins,
    rare_together,
)
from tacit.release.synthesise.fitting.estimation import fitted_tree
from tacit.release.synthesise.fitting.junction_tree import JunctionTree, pair_marginal, rows_from, tree_of, tree_size
from tacit.release.synthesise.fitting.measuring import Meter, NoisyMarginal, averaged, shares_of
from tacit.release.synthesise.fitting.mixture import Mixture, fitted_mixture, joined
from tacit.release.synthesise.fitting.shrinkage import shrunk

Pair = tuple[int, int]
_MOST_WORK = 4e11  # products that mixtures are fitted with: five times what fourteen columns of fifty bins take
_FEWEST = 10  # components of a mixture
_DRAWN = 30_000  # rows, to see what a junction tree makes of two columns that no clique has together


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a table is modelled. Chosen from what is public: the price, the columns, the declared number of rows."""

    singles: Fraction = Fraction(3, 10)  # of rho, for single columns
    first: Fraction = Fraction(1, 4)  # of the rest, for all pairs
    bins: int = 20
    mixtures: int = 4  # how many are averaged; 0: the junction tree alone
    components: int = 40
    steps: int = 700
    kept: float = 0.75  # of a target, what is shrunk; the rest is as it was measured
    cells: int = 100_000
    pair_cells: int = 1_000_000  # of all pairs together: each is counted, measured and fitted in memory
    sweeps: int = 4
    rare: float = 3.0  # standard deviations below which a value is rare
    fit_steps: int = 200  # of the junction tree
    round_steps: int = 15  # of the junction tree, in each round of AIM


@dataclass(frozen=True, slots=True, eq=False)
class Singles:
    """Single columns: the estimated number of rows, the chances of every cell, their noise, and their bins."""

    rows: float  # at least one, to divide by
    total: float  # as it was measured
    chances: tuple[FloatArray, ...]
    sigmas: tuple[float, ...]  # of chances
    bins: tuple[Compression, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of bins."""
        return tuple(each.size for each in self.bins)


def measured_singles(
    meter: Meter, sizes: Sequence[int], ordered: Sequence[bool], *, share: Fraction, settings: ModelSettings
) -> Singles:
    """Every column alone, with a precision that grows with its size: each enters a pair with all the others."""
    shares = shares_of([float(size) for size in sizes], share)
    measured = [meter.measure((axis,), part) for axis, part in enumerate(shares)]
    precision = [1.0 / (each.counts.size * each.sigma**2) for each in measured]
    total = float(np.average([each.counts.sum() for each in measured], weights=precision))
    rows = max(1.0, total)
    chances = tuple(projected(each.counts / rows) for each in measured)
    sigmas = tuple(each.sigma / rows for each in measured)
    bins = []
    for chance, sigma, is_ordered in zip(chances, sigmas, ordered, strict=True):
        if is_ordered:
            bins.append(compression_of(ordered_bins(chance, most=settings.bins), chance))
        else:
            bins.append(compression_of(rare_together(chance, least=settings.rare * sigma), chance))
    return Singles(rows, total, chances, sigmas, held_within(bins, chances, ordered, cells=settings.pair_cells))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """What was found of every pair: consistent chances, their noise, and the rank of what is not independent."""

    ones: tuple[FloatArray, ...]  # of bins
    tables: Mapping[Pair, FloatArray]
    noisy: Mapping[Pair, FloatArray]  # as measured, as chances
    sigmas: Mapping[Pair, float]
    ranks: Mapping[Pair, int]


def measured_pairs(
    meter: Meter,
    singles: Singles,
    *,
    share: Fraction,
    settings: ModelSettings,
    wanted: Sequence[Pair] | None = None,
) -> Pairs:
    """All pairs, or these, at a part of the share, and those with a rank at the rest of it."""
    sizes = singles.sizes
    pairs = list(itertools.combinations(range(len(sizes)), 2) if wanted is None else wanted)
    if not pairs:
        return Pairs(tuple(b.shrunk(c) for b, c in zip(singles.bins, singles.chances, strict=True)), {}, {}, {}, {})
    cells = [float(sizes[a] * sizes[b]) for a, b in pairs]
    shares = shares_of([count ** (2 / 3) for count in cells], share * settings.first)
    first = {pair: meter.measure(pair, part, singles.bins) for pair, part in zip(pairs, shares, strict=True)}
    estimated = estimated_pairs(singles, first)
    aims = [(sizes[a] * sizes[b] * (sizes[a] + sizes[b]) * estimated.ranks[a, b]) ** (1 / 3) for a, b in pairs]
    left = share * (1 - settings.first)
    again = shares_of(_filled(aims, [float(part) for part in shares], float(left)), left)
    second = {
        pair: averaged(first[pair], meter.measure(pair, part, singles.bins)) if part > 0 else first[pair]
        for pair, part in zip(pairs, again, strict=True)
    }
    return estimated_pairs(singles, second)


def _filled(wanted: Sequence[float], given: Sequence[float], left: float) -> list[float]:
    """What to add to what is given so that all is as wanted, in proportion, as far as there is more to give."""
    if not any(wanted):
        wanted = given
    low, high = 0.0, (left + sum(given)) / min(weight for weight in wanted if weight > 0)
    for _ in range(80):
        level = (low + high) / 2
        total = sum(max(0.0, level * weight - part) for weight, part in zip(wanted, given, strict=True))
        low, high = (level, high) if total < left else (low, level)
    return [max(0.0, high * weight - part) for weight, part in zip(wanted, given, strict=True)]


def estimated_pairs(singles: Singles, measured: Mapping[Pair, NoisyMarginal]) -> Pairs:
    """Margins folded back into the single columns, residuals without their noise, and all of it consistent."""
    ones = _folded(singles, measured)
    tables, sigmas, ranks = {}, {}, {}
    for (a, b), marginal in measured.items():
        sigma = marginal.sigma / singles.rows
        rest, rank = shrunk(marginal.counts / singles.rows, ones[a], ones[b], sigma=sigma)
        table = projected(np.outer(ones[a], ones[b]) + rest) if rank else np.outer(ones[a], ones[b])
        tables[a, b] = fitted_to(table, ones[a], ones[b])
        sigmas[a, b], ranks[a, b] = sigma, rank
    noisy = {pair: marginal.counts / singles.rows for pair, marginal in measured.items()}
    return Pairs(ones, tables, noisy, sigmas, ranks)


def _folded(singles: Singles, measured: Mapping[Pair, NoisyMarginal]) -> tuple[FloatArray, ...]:
    """The chances of bins: each column's own, and what every pair's margin says, by their precision."""
    ones = []
    for axis, (compression, chances) in enumerate(zip(singles.bins, singles.chances, strict=True)):
        number = np.bincount(compression.bins, minlength=compression.size)
        weight = 1.0 / (number * singles.sigmas[axis] ** 2)
        total = weight * compression.shrunk(chances)
        for pair, marginal in measured.items():
            if axis in pair:
                other = 1 - pair.index(axis)
                precision = singles.rows**2 / (marginal.counts.shape[other] * marginal.sigma**2)
                total = total + precision * marginal.counts.sum(axis=other) / singles.rows
                weight = weight + precision
        ones.append(np.maximum(projected(total / weight), 1e-9))
    return tuple(one / one.sum() for one in ones)


def strongest(pairs: Pairs, sizes: Sequence[int], *, cells: int) -> list[Pair]:
    """The pairs that tell most beyond independence, as many as a junction tree of so many cells holds."""
    told = {
        pair: float(np.abs(table - np.outer(pairs.ones[pair[0]], pairs.ones[pair[1]])).sum())
        for pair, table in pairs.tables.items()
        if pairs.ranks[pair]
    }
    chosen: list[Pair] = []
    for pair in sorted(told, key=lambda pair: -told[pair]):
        if tree_size(sizes, [*chosen, pair]) <= cells:
            chosen.append(pair)
    return chosen


def _mixed(pairs: Pairs, settings: ModelSettings, chance: Chance) -> Mixture:
    """Several mixtures, each from another start, as one: their average is nearer to the truth than any of them.

    They are fitted to what is shrunk and a part of what was cut off: a mixture has so few components that it takes up
    little of the noise, and what several pairs have in common was cut off each of them alone.
    """
    mixtures, components = _affordable(sum(each.size for each in pairs.ones), settings)
    top = min(pairs.sigmas.values())
    weights = {pair: (top / sigma) ** 2 for pair, sigma in pairs.sigmas.items()}
    targets = {
        pair: settings.kept * table + (1 - settings.kept) * pairs.noisy[pair] for pair, table in pairs.tables.items()
    }
    return joined(
        [
            fitted_mixture(
                targets,
                pairs.ones,
                weights=weights,
                components=components,
                steps=settings.steps,
                chance=chance,
            )
            for _ in range(mixtures)
        ]
    )


def _affordable(cells: int, settings: ModelSettings) -> tuple[int, int]:
    """How many mixtures of how many components are fitted to columns of so many cells in a minute or so."""
    share = _MOST_WORK / (cells**2 * settings.mixtures * settings.components * settings.steps)
    if share >= 1:
        return settings.mixtures, settings.components
    mixtures = max(1, int(settings.mixtures * share))
    share *= settings.mixtures / mixtures
    return mixtures, max(_FEWEST, int(settings.components * min(1.0, share)))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A junction tree with its marginals, and the targets that rows are then brought nearer to."""

    singles: Singles
    tree: JunctionTree
    marginals: tuple[FloatArray, ...]
    targets: Mapping[Pair, FloatArray]
    mixture: Mixture | None
    parameters: Mapping[Pair, FloatArray]
    errors: Mapping[tuple[int, ...], float]  # expected distance of marginals from the truth, of those measured


def fitted(
    meter: Meter,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    *,
    settings: ModelSettings,
    chance: Chance,
) -> Fitted:
    """Everything that is measured, and the law that is made of it."""
    singles = measured_singles(meter, sizes, ordered, share=settings.singles, settings=settings)
    pairs = measured_pairs(meter, singles, share=1 - settings.singles, settings=settings)
    targets, mixture = pairs.tables, None
    if settings.mixtures and pairs.tables:
        mixture = _mixed(pairs, settings, chance)
        targets = {pair: mixture.pair(*pair) for pair in pairs.tables}
    chosen = strongest(pairs, singles.sizes, cells=settings.cells)
    tree = tree_of(singles.sizes, chosen)
    wanted = {pair: targets[pair] for pair in chosen}
    marginals, parameters = fitted_tree(
        tree, pairs.ones, wanted, sigmas=pairs.sigmas, rows=singles.rows, steps=settings.fit_steps
    )
    if mixture is None:
        drawn = rows_from(tree, marginals, number=_DRAWN, chance=chance)
        targets = {pair: pair_marginal(tree, marginals, drawn, pair) for pair in pairs.tables}
    errors = {**single_errors(singles), **pair_errors(pairs, singles, targets)}
    return Fitted(singles, tree, tuple(marginals), targets, mixture, parameters, errors)


def single_errors(singles: Singles) -> dict[tuple[int, ...], float]:
    """The total variation that the noise of each single column makes one expect."""
    return {
        (axis,): expected_distance(sigma, chances.size)
        for axis, (sigma, chances) in enumerate(zip(singles.sigmas, singles.chances, strict=True))
    }


def expected_distance(sigma: float, cells: float) -> float:
    """Half the sum of the absolute errors of so many cells: of normal ones with this standard deviation, at most 1."""
    return min(1.0, 0.5 * cells * sigma * math.sqrt(2 / math.pi))


def pair_errors(pairs: Pairs, singles: Singles, modelled: Mapping[Pair, FloatArray]) -> dict[tuple[int, ...], float]:
    """The same of pairs: of the noise, what a matrix of the rank that was found takes up, and both margins' own.

    And what `modelled`, which rows are drawn from, misses: where it is further from what was measured than noise is, so
    is the truth from it. That is a squared distance; the total variation is at most what it allows.
    """
    errors: dict[tuple[int, ...], float] = {}
    for (a, b), table in pairs.tables.items():
        rows, columns = table.shape
        free = pairs.ranks[a, b] * (rows + columns - pairs.ranks[a, b])
        inside = expected_distance(pairs.sigmas[a, b] * math.sqrt(min(1.0, free / table.size)), table.size)
        margins = [expected_distance(singles.sigmas[axis], singles.chances[axis].size) for axis in (a, b)]
        beyond = np.square(pairs.noisy[a, b] - modelled[a, b]).sum() - (table.size - free) * pairs.sigmas[a, b] ** 2
        missed = math.sqrt(table.size * max(0.0, float(beyond))) / 2
        errors[a, b] = min(1.0, math.sqrt(inside**2 + missed**2 + sum(each**2 for each in margins)))
    return errors
