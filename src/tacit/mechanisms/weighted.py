"""How far a weighted sum of independent noises strays, by its own law, rounded outward.

Let S = Σ w Z over independent draws Z of symmetric laws on the whole numbers. On a lattice of step h each weight is
w = h m + e with a whole m, so that S = h S′ + E with S′ = Σ m Z, a whole number, and E = Σ e Z. If |S′| ≤ k and |E| ≤ s
then |S| ≤ h k + s, hence

    P(|S| > h k + s) ≤ P(|S′| > k) + P(|E| > s).

The last is held below a thousandth of the chance by Chernoff's bound, which also says how far S′ goes. Its law within
that is the inverse Fourier transform, on a ring of N numbers, of the product of the characteristic functions, each of
which is looked up in one table: that of the noise at every N-th part of a turn, m parts at a time. What goes round
the ring is counted with the tail, and so is the rounding of doubles. So the reach is never too small.

Noise of a large scale has too long a ring. But a sum with one smooth draw in it has a smooth law, whatever the others,
and one draw can be drawn together with one of its smooth law, never far from it (`Smooth`): that far is added to what
the Fourier series of the sum says (`accuracy.smooth`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.core import Number
from tacit.mechanisms.accuracy.geometric import share
from tacit.mechanisms.accuracy.moments import NoiseMoments, chernoff
from tacit.mechanisms.accuracy.smooth import smooth_reach
from tacit.mechanisms.protocol import AddedNoise

Floats = NDArray[np.float64]

_SHORTEST, _LONGEST = 12, 15  # binary digits of the ring's size
_OFF = 1e-3  # of the chance: that the weights' rounding takes the sum further than is added for it
_FAR = 1e-5  # of the chance: that the sum goes round the ring
_FINE = 0.01  # of a deviation: how much may be added for rounded weights, while a longer ring is to be had
_COARSE = 0.05  # and at most; beyond, nothing is said
_ROUGHEST = 0.2  # of a deviation: how much may be added for taking a draw for smooth
_ROOM = 1.02  # on the ring: so that a twentieth of a deviation does not matter beside three of them
_ROUNDING = 2.0**-50  # relative, of one double operation, with much to spare
_UP = 1 + 1e-9  # above what the few operations around a closed form lose
_PLAIN = 2.0**-256, 2.0**256  # weights whose squares a double holds, and their sums
_LARGEST = sys.float_info.max_exp
_FAINTEST = 2.0**-900  # of the largest weight: what is smaller could be lost, and so nothing is said


@dataclass(frozen=True, slots=True)
class Term:
    """So many independent draws of a noise, each times a weight."""

    weight: float
    noise: AddedNoise
    count: int = 1


@dataclass(frozen=True, slots=True)
class WeightedNoise:
    """The noise of a weighted sum of independent draws."""

    terms: tuple[Term, ...]

    @classmethod
    def of(cls, terms: Iterable[Term]) -> WeightedNoise:
        """The same sum with equal weights of one noise counted together, in an order that is its own."""
        counts: dict[tuple[float, AddedNoise], int] = {}
        for term in terms:
            size = abs(term.weight)  # noise is the same on both sides of 0
            if size != 0 and term.count:  # what is no number is kept, and has no reach
                counts[size, term.noise] = counts.get((size, term.noise), 0) + term.count
        order = sorted(counts, key=lambda key: (-key[0], key[1].law.name, key[1].law.size))
        return cls(tuple(Term(size, noise, counts[size, noise]) for size, noise in order))

    @property
    def deviation(self) -> float:
        """The standard deviation of the sum."""
        return math.hypot(*(term.weight * math.sqrt(term.noise.variance * term.count) for term in self.terms))

    def reach(self, confidence: Number) -> float | None:
        """A t that, with this confidence, the sum does not stray beyond; None where its law would take too long.

        None also where the weights are too far apart for doubles, or no double is as large as t.
        """
        if not self.terms:
            return 0.0
        sizes = [term.weight for term in self.terms]
        if not all(map(math.isfinite, sizes)):
            return None
        chance, least, largest = share(confidence), min(sizes), max(sizes)
        if least >= _PLAIN[0] and largest <= _PLAIN[1]:
            return _reach(self, chance)
        exponent = math.frexp(largest)[1]
        if math.ldexp(least, -exponent) < _FAINTEST:
            return None
        scaled = (Term(math.ldexp(term.weight, -exponent), term.noise, term.count) for term in self.terms)
        reach = _reach(WeightedNoise(tuple(scaled)), chance)
        return None if reach is None else _raised(reach, exponent)


def _raised(reach: float, exponent: int) -> float | None:
    """Times a power of two, rounded up; None where it overflows."""
    if math.frexp(reach)[1] + exponent > _LARGEST:
        return None
    raised = math.ldexp(reach, exponent)
    return raised if math.ldexp(raised, -exponent) >= reach else math.nextafter(raised, math.inf)


@lru_cache(maxsize=4096)
def _reach(noise: WeightedNoise, chance: Fraction) -> float | None:
    terms = noise.terms
    if len(terms) == 1 and terms[0].count == 1:
        return float(terms[0].noise.error(1 - chance) * Fraction(terms[0].weight))
    laws = [term.noise.law.moments for term in terms]
    known = [law for law in laws if law is not None]
    if len(known) < len(laws):
        return None
    parts = _Parts(
        np.array([term.weight for term in terms]), np.array([float(term.count) for term in terms]), tuple(known)
    )
    beyond, spread = float(chance) / _UP, noise.deviation
    if math.fsum(term.count * term.noise.variance for term in terms) <= beyond / _UP:
        return 0.0  # P(draw ≠ 0) ≤ E[draw²]: all of them are 0
    far = max(parts.bound(parts.weights, beyond * _FAR), 3 * spread)
    if not 0 < far < math.inf:  # of noises that are too wide for doubles, nothing is said
        return None
    smooth = parts.smoothest()
    if smooth.off > _FINE * spread:
        reach = _by_lattice(parts, beyond, spread=spread, far=far)
        if reach is not None or smooth.off > _ROUGHEST * spread:
            return reach
    reach = smooth_reach(
        lambda turns: parts.smoothed(turns, smooth), smooth.size, beyond * (1 - _FAR), far=far + smooth.off
    )
    return None if reach is None else reach + smooth.off


def _by_lattice(parts: _Parts, beyond: float, *, spread: float, far: float) -> float | None:
    for digits in range(_SHORTEST, _LONGEST + 1):
        lattice = _Lattice.of(parts, 1 << digits, far=far, beyond=beyond * _OFF)
        if lattice.off <= (_FINE if digits < _LONGEST else _COARSE) * spread:
            return lattice.reach(parts, beyond * (1 - _OFF - 2 * _FAR))
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Weights, how many draws have each, and their laws."""

    weights: Floats
    counts: Floats
    laws: tuple[NoiseMoments, ...]

    def bound(self, weights: Floats, beyond: float) -> float:
        """What |Σ weight · draw| exceeds with this chance at most, for other weights of the same draws."""
        return chernoff(
            [(weight, count, law) for weight, (_, count, law) in zip(weights.tolist(), self.each(), strict=True)],
            beyond,
        )

    def each(self) -> Iterator[tuple[float, float, NoiseMoments]]:
        """Weight, count and law."""
        return zip(self.weights.tolist(), self.counts.tolist(), self.laws, strict=True)

    def smoothest(self) -> _Smoothed:
        """The part of which one draw is taken for smooth: the widest of those that can be."""
        sizes = [weight * law.smooth.size if math.isfinite(law.smooth.apart) else 0.0 for weight, _, law in self.each()]
        index = int(np.argmax(sizes))
        apart = self.laws[index].smooth.apart
        return _Smoothed(index, sizes[index], float(self.weights[index]) * apart if sizes[index] else math.inf)

    def smoothed(self, turns: Floats, one: _Smoothed) -> Floats:
        """The characteristic function of the sum where one draw is smooth."""
        values = np.ones_like(turns)
        for index, (weight, count, law) in enumerate(self.each()):
            exact = count - (index == one.index)
            if exact:
                values *= law.characteristic(weight * turns) ** exact
        return values * self.laws[one.index].smooth.characteristic(float(self.weights[one.index]) * turns)


@dataclass(frozen=True, slots=True)
class _Smoothed:
    """One draw that is taken for smooth: of which part, its weight times its size, and how far that takes the sum."""

    index: int
    size: float
    off: float


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice:
    """A ring of whole numbers, each `step` wide, the weights in steps, and what is added for their rounding."""

    size: int
    step: float
    weights: NDArray[np.int64]
    off: float

    @classmethod
    def of(cls, parts: _Parts, size: int, *, far: float, beyond: float) -> _Lattice:
        """The largest weight is a whole number of steps, so that equal weights are not rounded at all.

        Half the ring holds `far`, and the little that rounded weights add: at most a twentieth of a deviation.
        """
        largest = float(parts.weights.max())
        whole = int(largest * (size // 2 - 1) / (far * _ROOM))
        if not whole:
            return cls(size, largest, parts.weights.astype(np.int64), math.inf)
        step = largest / whole
        weights = np.rint(parts.weights / step).astype(np.int64)
        left = np.abs(parts.weights - weights * step)
        left = np.where(left <= 4 * _ROUNDING * parts.weights, 0.0, left)  # what is dropped here is added below
        return cls(size, step, weights, parts.bound(left, beyond) + 8 * _ROUNDING * far)

    def reach(self, parts: _Parts, beyond: float) -> float | None:
        """The least k with P(|S′| > k) ≤ beyond, in its own units, and what is added."""
        size = self.size
        turns = np.arange(size // 2 + 1)
        tables: dict[NoiseMoments, Floats] = {}
        spectrum = np.ones(turns.size)
        for weight, count, law in zip(self.weights.tolist(), parts.counts.tolist(), parts.laws, strict=True):
            if law not in tables:
                tables[law] = law.characteristic(np.arange(size, dtype=np.float64) * (2 * math.pi / size))
            spectrum *= tables[law][turns * weight % size] ** count
        ring = np.fft.irfft(spectrum, size)
        slack = size * (float(parts.counts.sum()) + 8 * math.log2(size)) * 8 * _ROUNDING
        both = ring[1 : size // 2] + ring[: size // 2 : -1]  # both: P(|S′| = k), k = 1 …
        tail = np.append(np.cumsum(both[::-1])[::-1], 0.0) + abs(ring[size // 2]) + slack  # tail: P(|S′| > k), k = 0 …
        kept = np.flatnonzero(tail <= beyond)
        return None if kept.size == 0 else int(kept[0]) * self.step + self.off
