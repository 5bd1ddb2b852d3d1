"""The best strategy for a workload: histograms coarse and fine, or weighted sums, by expected error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.strategy.chain import Chain, chains, flat
from tacit.mechanisms.strategy.law import GAUSSIAN, LAPLACE, Law
from tacit.mechanisms.strategy.matrix import MOST_CELLS, Matrix, gram
from tacit.mechanisms.strategy.measure import StrategyNoise
from tacit.mechanisms.strategy.optimum import optimal_matrix
from tacit.mechanisms.strategy.p_identity import MOST_SEARCHED, p_identity
from tacit.mechanisms.strategy.picks import Floats, Picks
from tacit.mechanisms.strategy.plan import Part, Strategy, inverse, precision, residual_factors, residual_norms, widths
from tacit.mechanisms.strategy.shares import SMOOTH, asked_for, best_shares, thinned, total_error, whole_grains
from tacit.mechanisms.strategy.workload import Energies, Workload

Flags = NDArray[np.bool_]
_MOST_SUBSPACES = 1 << 12  # tuples of levels that are weighed against each other
_MOST_RESIDUALS = 256  # of them that are measured each by itself
_MOST_ATTRIBUTES = 10  # of which sets that hold several questions are looked for
_MOST_BARS = 1 << 23  # numbers that least squares may work on at once
_FINE_GRAIN = 1 << 30  # of the shares of residuals, which are many


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """A strategy, and the sum of the variances of all answers, in steps²."""

    strategy: Strategy
    error: float


def choose(workload: Workload, *, noise: Laplace | Gaussian) -> StrategyChoice:
    """The best strategy found; looks at no data. `noise` is what a bar has at the full budget.

    Each attribute's depth is tried in turn. Errors are those of the discrete law at the scale that each part gets: a
    bar with much of a large budget is exact, and then the continuous law would choose badly.
    """
    law, energies = Law.of(noise), Energies(workload)
    cuts = [flat(size) for size in workload.sizes]
    best = _identity(cuts, energies.of(cuts), law)
    if best.error == 0 or not _manageable(cuts):  # 0: nothing is counted by anyone
        return best
    best = min(best, *_tried(cuts, energies.of(cuts), law), key=_error)
    ranged = [_cut_by_ranges([block[index] for block in workload.blocks], size) for index, size in _sizes(workload)]
    if law.power == GAUSSIAN and any(ranged) and workload.cells <= MOST_CELLS:
        return min(best, _weighted(workload, law), key=_error)  # of smooth noise no hierarchy does better
    best = _hierarchy(best, energies, ranged, law)
    if law.power == LAPLACE and any(ranged) and workload.cells <= MOST_SEARCHED:
        best = min(best, _beside_cells(workload, law), key=_error)
    return best


def _hierarchy(best: StrategyChoice, energies: Energies, ranged: Sequence[bool], law: Law) -> StrategyChoice:
    """The best with deeper chains of the attributes that are asked for in ranges, one attribute after another."""
    cuts = list(best.strategy.chains)
    for index, flat_chain in enumerate(cuts):
        for chain in chains(flat_chain.values)[1:] if ranged[index] else ():
            deeper = [*cuts[:index], chain, *cuts[index + 1 :]]
            if _manageable(deeper):
                best = min(best, *_tried(deeper, energies.of(deeper), law), key=_error)
        cuts = list(best.strategy.chains)
    return best


def error_of(workload: Workload, noise: StrategyNoise) -> float:
    """The sum of the variances of all answers, in steps², with this noise."""
    strategy = noise.strategy
    if strategy.matrix is not None:
        questions = gram(workload.blocks, workload.sizes)
        return float(np.sum(strategy.matrix.covariance() * questions)) * noise.variances[0]
    energy = Energies(workload).of(strategy.chains)
    asked = asked_for(energy)
    return float(np.sum((energy * inverse(precision(strategy, noise.variances)))[asked]))


def _sizes(workload: Workload) -> list[tuple[int, int]]:
    return list(enumerate(workload.sizes))


def _tried(cuts: Sequence[Chain], energy: Floats, law: Law) -> Iterator[StrategyChoice]:
    """What these chains offer. Under smooth Gaussian noise no other shares of their blocks do better than residuals."""
    residuals = _residuals(cuts, energy, law) if law.power == GAUSSIAN else None
    if residuals is not None:
        yield residuals
    if residuals is None or not law.is_smooth:
        yield _mixed(cuts, energy, law)


def _weighted(workload: Workload, law: Law) -> StrategyChoice:
    """Sums of all cells with whole weights: the best there are, but for a few thousandths."""
    questions = gram(workload.blocks, workload.sizes)
    matrix, _ = optimal_matrix(questions)
    return _by_sums(workload, questions, matrix, Law(GAUSSIAN, law.size * matrix.squared_norm))


def _beside_cells(workload: Workload, law: Law) -> StrategyChoice:
    """Every cell and a few weighted sums, for Laplace noise: its lattice is fine beside the weights."""
    questions = gram(workload.blocks, workload.sizes)
    matrix = p_identity(questions)
    return _by_sums(workload, questions, matrix, Law(LAPLACE, law.size * matrix.absolute_norm))


def _by_sums(workload: Workload, questions: Floats, matrix: Matrix, law: Law) -> StrategyChoice:
    """Weighted sums alone, where the noise of each has this law."""
    cuts = tuple(flat(size) for size in workload.sizes)
    top = tuple(chain.levels - 1 for chain in cuts)
    error = float(np.sum(matrix.covariance() * questions)) * float(law.variance(np.ones(1))[0])
    return StrategyChoice(Strategy(cuts, (Part(top, Fraction(1)),), matrix), error)


def _residuals(cuts: Sequence[Chain], energy: Floats, law: Law) -> StrategyChoice | None:
    """Every residual that is asked for, by itself.

    One row moves the residual of T by √norm_T, and it is known with the precision share / (norm_T σ²) · factor_T; so
    Σ energy_T · norm_T / (factor_T · share_T) is least at share_T ∝ √(energy_T · norm_T / factor_T). For marginals no
    strategy at all does better (Xiao, He, Zhang & Kifer, NeurIPS 2023: ResidualPlanner).
    """
    asked = asked_for(energy)
    if np.count_nonzero(asked) > _MOST_RESIDUALS:
        return None
    norms, factors = residual_norms(cuts)[asked], residual_factors(cuts)[asked]
    shares = np.sqrt(energy[asked] * norms / factors)
    exact = whole_grains(shares, _FINE_GRAIN)
    indices = [tuple(int(level) for level in index) for index in np.argwhere(asked)]
    parts = tuple(Part(index, share, residual=True) for index, share in zip(indices, exact, strict=True))
    variances = law.variance(np.array([float(share) for share in exact]) / norms)
    return StrategyChoice(Strategy(tuple(cuts), parts), float(np.sum(energy[asked] * variances / factors)))


def _error(choice: StrategyChoice) -> float:
    return choice.error


def _manageable(cuts: Sequence[Chain]) -> bool:
    subspaces = math.prod(chain.levels for chain in cuts)
    return subspaces <= _MOST_SUBSPACES and math.prod(sum(chain.blocks) for chain in cuts) <= _MOST_BARS


def _cut_by_ranges(column: Sequence[Picks], size: int) -> bool:
    """Whether some question counts several values of an attribute, and not all: then coarser blocks may help."""
    if size <= 3:
        return False
    for picks in column:
        counted = picks.energies(Chain(size, (size,)))[0] * size  # (values counted)²
        if np.any((counted > 1.5) & (counted < (size - 0.5) ** 2)):
            return True
    return False


def _identity(cuts: Sequence[Chain], energy: Floats, law: Law) -> StrategyChoice:
    top = tuple(chain.levels - 1 for chain in cuts)
    error = float(energy.sum() * law.variance(np.ones(1))[0])
    return StrategyChoice(Strategy(tuple(cuts), (Part(top, Fraction(1)),)), error)


def _mixed(cuts: Sequence[Chain], energy: Floats, law: Law) -> StrategyChoice:
    """The best shares of all parts. Under Laplace noise the problem has several valleys, so it is entered from each.

    Where the discrete law is another than the continuous one, the descent goes on from the best that this one finds;
    and where it is quite another, from each start as well: at a large budget fewer parts are better.
    """
    sizes = widths(cuts)
    candidates: list[Floats] = []
    for start in _starts(energy):
        candidates.append(_descended(start, energy, sizes=sizes, law=SMOOTH[law.power]))
        if law.size < 1:
            candidates.append(_descended(start, energy, sizes=sizes, law=law))
    shares = min(candidates, key=lambda each: total_error(each, energy, sizes=sizes, law=law))
    if not law.is_smooth:
        shares = _descended(shares, energy, sizes=sizes, law=law)
    indices = [tuple(int(level) for level in index) for index in np.argwhere(shares > 0)]
    exact = whole_grains(np.array([shares[index] for index in indices]))
    rounded = np.zeros_like(shares)
    for index, share in zip(indices, exact, strict=True):
        rounded[index] = float(share)
    parts = tuple(Part(index, share) for index, share in zip(indices, exact, strict=True))
    return StrategyChoice(Strategy(tuple(cuts), parts), total_error(rounded, energy, sizes=sizes, law=law))


def _descended(start: Floats, energy: Floats, *, sizes: Floats, law: Law) -> Floats:
    shares = best_shares(start, energy, sizes=sizes, law=law)
    return thinned(shares, energy, sizes=sizes, law=law)


def _starts(energy: Floats) -> Iterator[Floats]:
    """Every part alike; the parts that the questions reach for themselves; those with the cells; wider ones."""
    yield np.ones_like(energy)
    asked = energy > 1e-12 * energy.max()
    wanted = asked & ~_covered(asked)
    yield wanted.astype(np.float64)
    with_cells = wanted.astype(np.float64)
    with_cells[(-1,) * energy.ndim] = max(1.0, wanted.sum())
    yield with_cells
    if 3 <= energy.ndim <= _MOST_ATTRIBUTES:
        for width in range(2, energy.ndim):
            yield _covering(wanted, width)


def _covering(wanted: Flags, width: int) -> Floats:
    """A few marginals of `width` attributes that between them hold every wanted part: greedily, the most at a time."""
    start = np.zeros(wanted.shape)
    left = np.argwhere(wanted) > 0  # left: (part, attribute)
    tuples = list(itertools.combinations(range(wanted.ndim), width))
    while len(left):
        inside = [~np.delete(left, names, axis=1).any(axis=1) for names in tuples]
        best = int(np.argmax([held.sum() for held in inside]))
        if not inside[best].any():  # a part has more attributes than that
            index = tuple(np.where(left[0], np.array(wanted.shape) - 1, 0).tolist())
            left = left[1:]
        else:
            index = tuple(size - 1 if axis in tuples[best] else 0 for axis, size in enumerate(wanted.shape))
            left = left[~inside[best]]
        start[index] = 1.0
    return start


def _covered(asked: Flags) -> Flags:
    """Where a part at least as fine in every attribute, and finer in one, is asked for as well."""
    above = asked.astype(np.int64)
    for axis in range(above.ndim):
        above = np.flip(np.cumsum(np.flip(above, axis), axis=axis), axis)
    return above > asked
