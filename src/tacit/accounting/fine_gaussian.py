"""Rounds of Gaussian noise on Poisson samples, added up numerically: an upper bound on delta, not an estimate.

A unit that is in the sample with probability q shifts continuous noise by at most mu of its standard deviations. The
pair of laws (1 − q) N(0, 1) + q N(mu, 1) and N(0, 1) dominates such a round in the one direction, and turned round in
the other; compositions of such pairs dominate compositions of such rounds, adaptive ones too (Zhu, Dong & Wang, AISTATS
2022, Theorems 10 and 11). Their losses are put on a grid so that no delta becomes less: what lies between two dots is
split between them so that both laws keep their mass, which spreads the ratio of the laws and so raises every convex
function of it (Doroshenko and others, PETS 2022). Fourier transforms add up the rounds.

Ours is discrete noise. Given what was sampled it is, outcome by outcome, a rounding of continuous noise of s² steps²
less, times a factor between A and B (`gaussian_cost`, the third proof); a mixture over samples keeps the factors, for
neither they nor the rounding depend on the sample, and rounds multiply them. The coordinates that count are those that
one unit moves: what the others are sampled to be is the same for both neighbours, and may be given.

All that doubles could have lost is added: to the mass of each cell when it is made, to delta for what lies beyond the
window, and for the transforms by their error in the mean square.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.event_loss import plain
from tacit.core import Event, FineGaussianEvent, SampledEvent
from tacit.mechanisms.calibration.gaussian_cost import lost_by_rounding, moved_values, rounding_that_loses

Floats = NDArray[np.float64]
_DOUBLE = 2.0**-53
_BEYOND = 1e-14  # of the mass: what a window leaves out, for all rounds together
_FINE = 24  # dots in one standard deviation of a round's loss
_MOST_DOTS = 1 << 20
_ORDERS = np.geomspace(1e-2, 3e3, 120)  # of moments, for what lies beyond the window
_FURTHEST = 600.0  # losses beyond are lost
_MOST_LOST = Fraction(1, 1000)
_ROOT_2 = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class Rounds:
    """So many rounds, each a Gaussian shift of `mu` that happens with this probability."""

    probability: float
    mu: float
    times: int


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """What both laws of a round put between the dots of a grid, below the first and above the last.

    `within` is the law with the unit, which it is in the sample with probability q; `without` the other. `off` says how
    wrong a mass may be.
    """

    first: int  # dot
    within: Floats  # below, in each cell, above
    without: Floats
    off: tuple[Floats, Floats]
    times: int


@dataclass(frozen=True, slots=True, eq=False)
class _Losses:
    """The mass of each loss on the grid, from the dot `first` on; and that of losses beyond all dots."""

    first: int
    masses: Floats
    lost: float
    times: int


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """The losses of all rounds added up: the mass of each, and what may be missing from any sum of masses."""

    losses: Floats
    masses: Floats
    missing: float

    def delta(self, epsilon: float) -> float:
        seen = self.losses > epsilon
        return float((self.masses[seen] * -np.expm1(epsilon - self.losses[seen])).sum()) + self.missing


@dataclass(frozen=True, slots=True, eq=False)
class FineProfile:
    """An upper bound on delta at every epsilon, of fine Gaussian noises together; `lost` of both to rounding."""

    sums: tuple[_Sum, ...]  # of a unit that is removed, and of one that is added
    lost: float
    times: int

    def delta(self, epsilon: float) -> float:
        """The delta at this epsilon, or more."""
        target = epsilon * (1 - 1e-12) - 1e-13 * self.times - self.lost  # for where doubles put the dots
        worst = max((each.delta(target) for each in self.sums), default=0.0)
        return min(1.0, worst * (1 + self.lost) * (1 + 1e-9))

    def epsilon(self, delta: float) -> float:
        """The least epsilon, or a little more, with no more delta than this; infinite where there is none."""
        low, high = 0.0, _FURTHEST
        if self.delta(high) > delta:
            return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high


def is_fine(event: Event) -> bool:
    """Whether it is fine Gaussian noise, on a sample or not."""
    return isinstance(plain(event)[1] if isinstance(event, SampledEvent) else event, FineGaussianEvent)


def fine_profile(counts: Mapping[Event, int]) -> FineProfile | None:
    """That of all these events, each of them fine Gaussian noise; None where a grid is too coarse for it."""
    parts = [(q, inner, times) for event, times in counts.items() for q, inner in _inner(event) if inner.rho > 0]
    values = sum(times * _moved(inner) for _, inner, times in parts)
    if not parts:
        return FineProfile((), 0.0, 0)
    s_squared = rounding_that_loses(min(1e-9, *(float(inner.rho) * 1e-6 for _, inner, _ in parts)), values)
    lost = lost_by_rounding(s_squared, values)
    if lost > _MOST_LOST or any(inner.variance <= s_squared for _, inner, _ in parts):
        return None
    rounds = []
    for q, inner, times in parts:
        shift = math.sqrt(2 * inner.rho * inner.variance / (inner.variance - s_squared)) * (1 + 1e-15)
        rounds.append(Rounds(min(1.0, math.nextafter(float(q), 2)), shift, times))
    return FineProfile(sampled_sums(rounds), float(lost) * (1 + 1e-9), sum(each.times for each in rounds))


def _inner(event: Event) -> Iterator[tuple[Fraction, FineGaussianEvent]]:
    q, inner = plain(event) if isinstance(event, SampledEvent) else (Fraction(1), event)
    if isinstance(inner, FineGaussianEvent):
        yield q, inner


def _moved(event: FineGaussianEvent) -> int:
    """How many whole numbers one unit moves at most: (L2 sensitivity)² = 2 rho variance of them."""
    return moved_values(Fraction(math.isqrt(math.floor(2 * event.rho * event.variance)) + 1))


def sampled_sums(rounds: Sequence[Rounds]) -> tuple[_Sum, ...]:
    """The losses of continuous noise, all rounds added up: of a unit that is removed, and of one that is added."""
    fine = min(_spread(each) for each in rounds) / _FINE
    coarse = 4 * max(-math.log(_BEYOND) / _ORDERS[-1], *(_span(each) for each in rounds)) / _MOST_DOTS
    step = 2.0 ** math.floor(math.log2(max(fine, coarse)))
    while True:
        cells = [_cells(each, step, lost=_BEYOND / len(rounds) / each.times) for each in rounds]
        sides = [_window([split(each, step) for each in cells], step) for split in (_removed, _added)]
        if all(size <= _MOST_DOTS for _, _, size in sides):
            return tuple(_added_up(*side, step) for side in sides)
        step *= 2


def _spread(rounds: Rounds) -> float:
    """About the standard deviation of a round's loss, but no more than one."""
    shift = min(rounds.mu, 3.0)
    return min(1.0, rounds.probability * math.sqrt(math.expm1(shift * shift)))


def _span(rounds: Rounds) -> float:
    """How far apart the losses of a round lie, of those that matter."""
    far = _reach(_BEYOND / rounds.times / 10)
    return min(_FURTHEST, _loss(rounds.probability, rounds.mu, far + rounds.mu)) - _least(rounds, far)


def _least(rounds: Rounds, far: float) -> float:
    return max(_loss(rounds.probability, rounds.mu, -far), -_FURTHEST)


def _reach(lost: float) -> float:
    """Beyond it normal numbers lie with less probability."""
    return math.sqrt(2 * math.log(2 / lost))


def _cells(rounds: Rounds, step: float, *, lost: float) -> _Cells:
    q, mu = rounds.probability, rounds.mu
    far = _reach(lost)
    top = max(1, math.ceil(min(_loss(q, mu, far + mu), _FURTHEST) / step))
    bottom = min(-1, math.floor(_least(rounds, far) / step))
    dots = _dots(bottom, top + 1 - bottom, step)
    if q < 1:
        above = np.expm1(dots) + q  # e^l − (1 − q)
        odds = np.log(np.where(above > 0, above, 1.0) / q)
        edges = np.where(above > 0, (odds + mu * mu / 2) / mu, -np.inf)
    else:
        edges = dots / mu + mu / 2
    without, off = _normal_masses(edges)
    shifted, further = _normal_masses(edges - mu)
    within = (1 - q) * without + q * shifted
    return _Cells(bottom, within, without, ((1 - q) * off + q * further + 4 * _DOUBLE * within, off), rounds.times)


def _dots(first: int, size: int, step: float) -> Floats:
    """The `size` losses of the grid from number `first` on."""
    return np.arange(first, first + size, dtype=np.float64) * step


def _loss(q: float, mu: float, x: float) -> float:
    """ln((1 − q) + q e^(mu x − mu²/2))."""
    rise = mu * x - mu * mu / 2
    return rise if q == 1 else float(np.logaddexp(math.log1p(-q), math.log(q) + rise))


def _normal_masses(edges: Floats) -> tuple[Floats, Floats]:
    """The normal mass below all edges, between each two, and above all; and how far off doubles may have it."""
    below = np.array([0.0, *(math.erfc(-x / _ROOT_2) / 2 for x in edges.tolist()), 1.0])
    above = np.array([1.0, *(math.erfc(x / _ROOT_2) / 2 for x in edges.tolist()), 0.0])
    upper = np.append(-np.inf, edges) > 0
    masses = np.where(upper, above[:-1] - above[1:], below[1:] - below[:-1])
    off = 16 * _DOUBLE * np.where(upper, above[:-1], below[1:])
    off *= 1 + np.append(-1e9, edges).clip(-40, 40) ** 2  # an edge may be off too, and the tail falls as fast as x²
    return np.maximum(masses, 0.0) + off, 2 * off


def _removed(cells: _Cells, step: float) -> _Losses:
    """Losses of the law with the unit, beside the one without it."""
    lower = _dots(cells.first, cells.within.size - 2, step)
    masses = _split(cells.within[1:-1], cells.without[1:-1], [each[1:-1] for each in cells.off], lower, step)
    masses[0] += cells.within[0]
    return _Losses(cells.first, masses, float(cells.within[-1]), cells.times)


def _added(cells: _Cells, step: float) -> _Losses:
    """Losses of the law without the unit, beside the one with it: the same cells, the other way round."""
    last = cells.first + cells.within.size - 2
    lower = _dots(-last, cells.within.size - 2, step)
    off = [each[-2:0:-1] for each in reversed(cells.off)]
    masses = _split(cells.without[-2:0:-1], cells.within[-2:0:-1], off, lower, step)
    masses[0] += cells.without[-1]
    return _Losses(-last, masses, float(cells.without[0]), cells.times)


def _split(mine: Floats, other: Floats, off: Sequence[Floats], lower: Floats, step: float) -> Floats:
    """Each cell's mass on its two dots, so that both laws keep theirs; what is uncertain goes to the upper one."""
    ratio = np.exp(lower)
    upper = (mine - ratio * other + off[0] + ratio * off[1]) / -math.expm1(-step)
    upper = np.clip(upper * (1 + 1e-12), 0.0, mine)
    masses = np.zeros(mine.size + 1)
    masses[1:] += upper
    masses[:-1] += mine - upper
    return masses


def _window(losses: Sequence[_Losses], step: float) -> tuple[Sequence[_Losses], int, int]:
    """The losses, the first dot of a window that nearly all of their sum lies in, and how many dots it has."""
    ends = []
    for sign in (1, -1):
        bounds = np.full(_ORDERS.size, -math.log(_BEYOND))
        for each in losses:
            dots = sign * _dots(each.first, each.masses.size, step)
            seen = each.masses > 0
            bounds += each.times * np.array([_log_moment(dots[seen], each.masses[seen], order) for order in _ORDERS])
        ends.append(float((bounds / _ORDERS).min()))
    bottom, top = math.floor(-ends[1] / step), math.ceil(max(ends[0], 0.0) / step)
    widest = max(each.masses.size for each in losses)
    size = 1 << math.ceil(math.log2(max(top - bottom + 2, widest)))
    return losses, bottom, size


def _log_moment(losses: Floats, masses: Floats, order: float) -> float:
    grown = order * losses
    most = float(grown.max())
    return most + math.log(float((masses * np.exp(grown - most)).sum()))


def _added_up(losses: Sequence[_Losses], bottom: int, size: int, step: float) -> _Sum:
    """The sum of all losses, and what doubles, windows and transforms may have left out of it."""
    error = 8 * _DOUBLE * math.log2(size)  # of one number of a transform, where masses add up to one
    waves = []
    for each in losses:
        circle = np.zeros(size)
        np.add.at(circle, (each.first + np.arange(each.masses.size)) % size, each.masses)
        waves.append(np.fft.rfft(circle))
    whole = np.prod([wave**each.times for wave, each in zip(waves, losses, strict=True)], axis=0)
    around = np.fft.irfft(whole, size)
    wrong = _wave_error(waves, losses, error) + error * float(np.linalg.norm(around))
    missing = math.sqrt(size) * wrong + sum(each.times * each.lost for each in losses) + 4 * _BEYOND
    masses = np.maximum(np.roll(around, -(bottom % size)), 0.0)
    return _Sum(_dots(bottom, size, step), masses, missing)


def _wave_error(waves: Sequence[NDArray[np.complex128]], losses: Sequence[_Losses], error: float) -> float:
    """In the mean square, how far off the product of powers may be where every factor is off by `error`."""
    sizes = [np.log(np.abs(wave) + error) for wave in waves]
    logs = sum((size * each.times for size, each in zip(sizes, losses, strict=True)), np.zeros(waves[0].size))
    moved = sum((each.times * np.exp(np.minimum(logs - size, 5.0)) for size, each in zip(sizes, losses, strict=True)))
    return 2 * error * float(np.sqrt(np.mean(np.asarray(moved) ** 2)))
