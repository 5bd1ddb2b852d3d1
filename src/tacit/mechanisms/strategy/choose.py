"""The best strategy for a workload: identity, total, marginals or hierarchies, by expected error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.strategy.chain import Chain, chains, flat
from tacit.mechanisms.strategy.picks import Floats, Picks
from tacit.mechanisms.strategy.plan import Part, Strategy, widths
from tacit.mechanisms.strategy.shares import best_shares, thinned, total_error, whole_grains
from tacit.mechanisms.strategy.workload import Energies, Workload

Flags = NDArray[np.bool_]
LAPLACE, GAUSSIAN = 2, 1  # the power of the share that a bar's precision grows with
_MOST_SUBSPACES = 1 << 12  # tuples of levels that are weighed against each other
_MOST_ATTRIBUTES = 10  # of which sets that hold several questions are looked for
_MOST_BARS = 1 << 23  # numbers that least squares may work on at once


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy, and the sum of the variances of all answers: one bar at the full budget has variance 1."""

    strategy: Strategy
    error: float


def choose(workload: Workload, *, power: int) -> Choice:
    """The best strategy found. Each attribute's depth is tried in turn; looks at no data."""
    energies = Energies(workload)
    cuts = [flat(size) for size in workload.sizes]
    best = _identity(cuts, energies.of(cuts))
    if best.error == 0 or not _manageable(cuts):  # 0: nothing is counted by anyone
        return best
    best = min(best, _mixed(cuts, energies.of(cuts), power=power), key=_error)
    for place, size in enumerate(workload.sizes):
        if not _cut_by_ranges([block[place] for block in workload.blocks], size):
            continue
        for chain in chains(size)[1:]:
            deeper = [*cuts[:place], chain, *cuts[place + 1 :]]
            if _manageable(deeper):
                best = min(best, _mixed(deeper, energies.of(deeper), power=power), key=_error)
        cuts = list(best.strategy.chains)
    return best


def _error(choice: Choice) -> float:
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


def _identity(cuts: Sequence[Chain], energy: Floats) -> Choice:
    top = tuple(chain.levels - 1 for chain in cuts)
    return Choice(Strategy(tuple(cuts), (Part(top, Fraction(1)),)), float(energy.sum()))


def _mixed(cuts: Sequence[Chain], energy: Floats, *, power: int) -> Choice:
    """The best shares of all parts. Under Laplace noise the problem has several valleys, so it is entered from each."""
    sizes = widths(cuts)
    found: list[Floats] = []
    for start in _starts(energy):
        shares = best_shares(start, energy, sizes=sizes, power=power)
        found.append(thinned(shares, energy, sizes=sizes, power=power))
    shares = min(found, key=lambda each: total_error(each, energy, sizes=sizes, power=power))
    places = [tuple(int(level) for level in place) for place in np.argwhere(shares > 0)]
    exact = whole_grains(np.array([shares[place] for place in places]))
    rounded = np.zeros_like(shares)
    for place, share in zip(places, exact, strict=True):
        rounded[place] = float(share)
    parts = tuple(Part(place, share) for place, share in zip(places, exact, strict=True))
    return Choice(Strategy(tuple(cuts), parts), total_error(rounded, energy, sizes=sizes, power=power))


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
            place = tuple(np.where(left[0], np.array(wanted.shape) - 1, 0).tolist())
            left = left[1:]
        else:
            place = tuple(size - 1 if axis in tuples[best] else 0 for axis, size in enumerate(wanted.shape))
            left = left[~inside[best]]
        start[place] = 1.0
    return start


def _covered(asked: Flags) -> Flags:
    """Where a part at least as fine in every attribute, and finer in one, is asked for as well."""
    above = asked.astype(np.int64)
    for axis in range(above.ndim):
        above = np.flip(np.cumsum(np.flip(above, axis), axis=axis), axis)
    return above > asked
