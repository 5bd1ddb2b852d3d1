"""How far counts of randomised answers stray from their mean, whatever the truth: exactly, or by a proven bound.

Of n people c belong to a category. Each of those is missing from its reports with probability `lie`, each other one
strays into it with probability `stray`, so the reports are off by D = Bin(n − c, stray) − Bin(c, lie) less its mean.
Nobody knows c: what is stated must hold for every c from 0 to n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LONGEST = 1 << 22  # numbers in the table of all laws; beyond, the bound
_CELLS = 256  # of c, in the bound
_BEYOND = 1e-18  # the chance of a D outside the table
_ROUNDING = 2.0**-50  # of a phase or a stage of the Fourier transform, relative
_BERRY_ESSEEN = 0.56  # the constant for sums of unlike summands: Shevtsova, Doklady Mathematics 2010
_LEAST = 1e-300  # a rarer lie counts as this one
_FLAT = 1e-6  # a variance at which nothing is normal
_STEEPEST = 600.0  # a tilt whose exponential doubles hold
_FINE = 1e-10  # how finely the quantile is searched, relative
_NOBODY = 1e-9  # of a person: no quantile is searched more finely
_UP = 1 + 1e-9  # above what the search and the few operations around it can lose


@lru_cache(maxsize=256)
def response_reach(respondents: int, lie: Fraction, stray: Fraction, *, chance: Fraction, categories: int) -> float:
    """A t such that no category's reports are off by more than t but with probability at most `chance`, for any truth.

    The probabilities of the categories are added up: Σ p(c_j, t) with Σ c_j = n. For every slope s that is at most
    categories · max over c of (p(c, t) − s (c − n / categories)); the least of these is their best. Of two categories
    one is off by what the other is, so one is enough. Where the table of all laws is not too long p is exact but for
    a bounded rounding error, which is added to it; else it is bounded (`_Bound`).
    """
    wanted = float(chance)
    chances = _Chances(respondents, max(float(lie), _LEAST), max(float(stray), _LEAST))
    tails = _Table.of(chances)
    if tails is None or tails.slack * categories > wanted / 1000:
        return _quantile(_Bound(chances), wanted, categories, most=chances.far(wanted / (2 * categories)))
    return _quantile(tails, wanted, categories, most=chances.far(wanted / (2 * categories)))


@dataclass(frozen=True, slots=True)
class _Chances:
    """n people, and how each may be misreported."""

    n: int
    lie: float
    stray: float

    def far(self, chance: float) -> float:
        """Bernstein's bound: what |D| exceeds with probability at most 2 · chance, for every c; or Hoeffding's."""
        variance = self.n * max(self.lie * (1 - self.lie), self.stray * (1 - self.stray))
        third = -math.log(chance) / 3
        return min(third + math.sqrt(third * third + 6 * variance * third), math.sqrt(1.5 * self.n * third)) * _UP


@dataclass(frozen=True, slots=True)
class _Table:
    """The laws of D for all c at once: `within[c, j]` is P(D ≤ the j-th number of the window around its mean)."""

    members: Floats  # c
    offset: Floats  # of each law: its middle number less its mean
    within: Floats
    slack: float

    @classmethod
    def of(cls, chances: _Chances) -> _Table | None:
        """By Fourier transform: the characteristic function is a product of two powers, in polar form."""
        n, lie, stray = chances.n, chances.lie, chances.stray
        size = 1 << math.ceil(math.log2(2 * chances.far(_BEYOND) + 4))
        if (n + 1) * size > _LONGEST:
            return None
        turns = 2 * math.pi * np.arange(size // 2 + 1) / size
        missing, strayed = 1 - lie + lie * np.exp(1j * turns), 1 - stray + stray * np.exp(-1j * turns)
        members = np.arange(n + 1, dtype=np.float64)[:, None]  # members: one law a row
        mean = (n - members) * stray - members * lie
        middle = np.rint(mean)
        logs = [np.log(np.maximum(np.abs(turned), _LEAST)) for turned in (missing, strayed)]  # 0 where lie = 1/2
        angles = members * np.angle(missing) + (n - members) * np.angle(strayed) + turns * middle
        spectrum = np.exp(members * logs[0] + (n - members) * logs[1])
        law = np.fft.fftshift(np.fft.irfft(spectrum * np.exp(1j * angles), size, axis=1), axes=1)
        work = (4 * math.pi * n + size.bit_length()) * _ROUNDING  # of every turn
        slack = work * (2 * float(spectrum.sum(axis=1).max()) + 1) + 2 * _BEYOND
        return cls(members[:, 0], (middle - mean)[:, 0], np.cumsum(law, axis=1), slack)

    def exceeding(self, reach: float) -> tuple[Floats, Floats]:
        """c, and P(|D| > reach) rounded up."""
        half = self.within.shape[1] // 2
        last = np.clip(np.floor(reach - self.offset) + half, 0, 2 * half - 1).astype(np.int64)
        first = np.clip(np.ceil(-reach - self.offset) + half, 0, 2 * half - 1).astype(np.int64)
        rows = np.arange(self.members.size)
        below = np.where(first > 0, self.within[rows, first - 1], 0.0)
        return self.members, np.maximum(0.0, 1 - self.within[rows, last] + below) + self.slack


@dataclass(frozen=True, slots=True)
class _Bound:
    """P(|D| > reach) bounded for whole cells of c, by tilting.

    For θ > 0 let D~ have the law of D weighed by exp(θD), with mean μ and deviation s. Then P(D > t) =
    e^(Λ(θ) − θt) E[e^(−θ(D~ − t)); D~ > t], where Λ is the logarithm of E[e^(θD)]. If D~ were normal the second factor
    were at most R(θs − (μ − t)⁺/s), R(v) = e^(v²/2) Q(v); it is at most 2Δ more (integrate by parts), Δ the distance
    of the two distribution functions, which Berry and Esseen bound by 0.56 Σ E|X|³ / s³. Never more than 1: Chernoff.
    Λ, μ, s² and Σ E|X|³ are linear in c, so within a cell they lie between their values at its ends. Every θ gives a
    true bound; Newton finds a good one for the middle of each cell (Bahadur & Rao, 1960).
    """

    chances: _Chances

    def exceeding(self, reach: float) -> tuple[Floats, Floats]:
        """The ends of the cells, and what P(|D| > reach) is at most in each cell: two corners a cell."""
        edges = np.linspace(0.0, self.chances.n, _CELLS + 1)
        above = self._above(edges, reach, self.chances.stray, self.chances.lie)
        below = self._above(self.chances.n - edges[::-1], reach, self.chances.lie, self.chances.stray)[::-1]
        return np.repeat(edges, 2)[1:-1], np.repeat(np.minimum(1.0, above + below), 2)

    def _above(self, edges: Floats, reach: float, rising: float, falling: float) -> Floats:
        """For each cell a bound on P(D > reach), D = Bin(n − c, rising) − Bin(c, falling) less its mean."""
        others, own = self.chances.n - edges, edges
        centre = (others[1:] + others[:-1]) / 2, (own[1:] + own[:-1]) / 2
        theta = np.full(_CELLS, min(1.0, reach / max(_variance(centre, rising, falling).max(), _FLAT)))
        for _ in range(12):
            up, down = _tilted(rising, theta), _tilted(falling, -theta)
            mean = centre[0] * (up - rising) - centre[1] * (down - falling)
            step = (reach - mean) / np.maximum(_variance(centre, up, down), _LEAST)
            theta = np.clip(theta + np.clip(step, -1.0, 1.0), 1e-12, _STEEPEST)
        up, down = _tilted(rising, theta), _tilted(falling, -theta)

        def ends(of_others: Floats, of_own: Floats) -> tuple[Floats, Floats]:
            left, right = others[:-1] * of_others + own[:-1] * of_own, others[1:] * of_others + own[1:] * of_own
            return np.minimum(left, right), np.maximum(left, right)

        most_log = ends(_log_moment(rising, theta), _log_moment(falling, -theta))[1]
        most_mean = ends(up - rising, falling - down)[1]
        lowest = ends(up * (1 - up), down * (1 - down))[0]
        least_variance = np.maximum(lowest, _FLAT)
        most_third = ends(_third(up), _third(down))[1]
        deviation = np.sqrt(least_variance)
        v = theta * deviation - np.maximum(0.0, most_mean - reach) / deviation
        apart = 2 * _BERRY_ESSEEN * most_third / (least_variance * deviation)
        lost = 1e-14 * theta * (self.chances.n * (rising + falling) + reach)  # of digits, in the exponent
        kept = np.where(lowest > _FLAT, np.minimum(1.0, _normal_part(v) + apart), 1.0)
        bound: Floats = np.exp(np.minimum(0.0, most_log - theta * reach + lost)) * kept
        return bound


def _quantile(tails: _Table | _Bound, chance: float, categories: int, *, most: float) -> float:
    """The least reach that halving finds, at most `most`, at which all categories together keep `chance`."""
    low, high = 0.0, most
    if _together(*tails.exceeding(low), categories) <= chance:
        return 0.0
    while high - low > _FINE * high and high > _NOBODY:
        middle = (low + high) / 2
        low, high = (low, middle) if _together(*tails.exceeding(middle), categories) <= chance else (middle, high)
    return high * _UP


def _together(members: Floats, tails: Floats, categories: int) -> float:
    """The most that the probabilities of the categories can add up to, by the best slope that a search finds."""
    if categories <= 2:
        return float(tails.max())
    away = members - members[-1] / categories

    def at(slope: float) -> float:
        return float((tails - slope * away).max())

    low, high = -float(tails.max()) * categories / members[-1], float(tails.max()) * categories / members[-1]
    for _ in range(60):  # convex in the slope
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return categories * min(at(0.0), at((low + high) / 2))


def _tilted(chance: float, theta: Floats) -> Floats:
    """The chance of a coin that is weighed by exp(theta · coin)."""
    heads = chance * np.exp(theta)
    weighed: Floats = heads / (1 - chance + heads)
    return weighed


def _log_moment(chance: float, theta: Floats) -> Floats:
    moment: Floats = np.log1p(chance * np.expm1(theta)) - chance * theta
    return moment


def _variance(people: tuple[Floats, Floats], up: float | Floats, down: float | Floats) -> Floats:
    variance: Floats = people[0] * up * (1 - up) + people[1] * down * (1 - down)
    return variance


def _third(chance: Floats) -> Floats:
    """The third absolute moment of a coin less its mean."""
    moment: Floats = chance * (1 - chance) * (chance**2 + (1 - chance) ** 2)
    return moment


def _normal_part(v: Floats) -> Floats:
    """R(v) = e^(v²/2) Q(v), at most 1 / (v √(2π)); 1 where v is negative."""
    near = [math.exp(x * x / 2) * math.erfc(x / math.sqrt(2)) / 2 if 0 <= x < 25 else 1.0 for x in v.tolist()]
    with np.errstate(divide="ignore"):
        far = np.where(v >= 25, 1 / (np.maximum(v, 1.0) * math.sqrt(2 * math.pi)), 1.0)
    part: Floats = np.minimum(np.array(near), far)
    return part
