"""Intervals of quotients of noisy sums, and of variances, from the law of what would be zero at the truth.

*Quotients.* Let S = s + X and C = c + Y be noisy, X and Y independent and symmetric, and r = s / c. Then S − r C is
X − r Y: its law is known for every r that might be true. So the set of all r with |S − r C| ≤ q(r), where |X − r Y|
exceeds q(r) with a chance of at most α, holds the truth but for that chance (Fieller 1954, who had normal laws). A box
around (S, C) would need both of X and Y to be large at once, and in the worst direction.

*Variances.* With Q = Σx² + Z as well, m = s / c and v the variance, Q − 2 m S + (m² − v) C is Z − 2 m X + (m² − v) Y.
It is also C (V + (M − m)² − v) with M = S / C and V = Q / C − M². So v = V + (M − m)² up to q / C, where m lies in its
own interval; the chances that either fails add up.

*One law for many ratios.* q need be known only at few ratios. Let X be on whole multiples of w, and U uniform on
[−w/2, w/2]. The law of X + U is symmetric and falls away from 0 (that of X does, for every noise here), so that
P(|X + U + r Y| ≤ q) only falls as |r| grows: given Y it does (Anderson 1955). And U takes nothing further than w / 2.
So q(t) + w serves all |r| ≤ t. Where several weights grow, each of their noises is made smooth like this, and the step
of each, times its weight, is added.

*In which unit.* All of it is worked out in the powers of two that make the weights about 1, which changes no digit, and
said in those of the values. What doubles cannot hold even so has ends that are infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.weighted import Term, WeightedNoise

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]

_GROWTH = 1.05  # from one ratio whose law is known to the next: how much wider the noise is, at most
_FAINTEST = 2.0**-900  # a weight, beside others of about 1: what is smaller could be lost
_CELLS = 80  # beyond the last of them (50 times as wide as the numerator's noise alone) intervals are boxes
_AT_ONCE = 1 << 20  # numbers of groups times cells that are looked at together
_WIDENING = tuple(float(np.sqrt(_GROWTH ** (2 * step) - 1)) for step in range(1, _CELLS + 1))


def _held(shape: tuple[int, ...], work: Callable[[], Ends], exponent: int) -> Ends:
    """Ends times a power of two, rounded outward; infinite where doubles do not hold what they are made of."""
    with np.errstate(all="ignore"):
        try:
            low, high = work()
        except ArithmeticError:
            return np.full(shape, -np.inf), np.full(shape, np.inf)
        return _rounded_to(low, -np.inf, exponent), _rounded_to(high, np.inf, exponent)


def _rounded_to(ends: Floats, side: float, exponent: int) -> Floats:
    raised = np.ldexp(ends, exponent)
    raised = np.where(np.ldexp(raised, -exponent) == ends, raised, np.nextafter(raised, side))
    known: Floats = np.where(np.isnan(raised), side, raised)
    return known


def _exponent(terms: Sequence[Term]) -> int:
    return math.frexp(max(abs(term.weight) for term in terms))[1]


def _lowered(term: Term, exponent: int) -> Term:
    weight = math.ldexp(term.weight, -exponent)
    if not (_FAINTEST <= abs(weight) < math.inf or term.weight == 0):
        raise FloatingPointError("a weight too far from the others")
    return Term(weight, term.noise, term.count)


@dataclass(frozen=True, slots=True)
class RatioNoise:
    """The noise of a numerator, which is one draw, and of a denominator, which may be several."""

    top: Term
    bottom: tuple[Term, ...]

    def ends(self, top: Floats, bottom: Floats, *, confidence: Fraction) -> Ends:
        """The ends of all ratios that are not ruled out, infinite where the denominator may be zero."""
        above, below = _exponent([self.top]), _exponent(self.bottom)

        def work() -> Ends:
            alike = RatioNoise(_lowered(self.top, above), tuple(_lowered(term, below) for term in self.bottom))
            return alike._ends(np.ldexp(top, -above), np.ldexp(bottom, -below), confidence)

        return _held(np.broadcast_shapes(top.shape, bottom.shape), work, above - below)

    def _ends(self, top: Floats, bottom: Floats, confidence: Fraction) -> Ends:
        sign = np.where(bottom < 0, -1.0, 1.0)  # symmetric noise is the same on either side
        top, bottom = top * sign, bottom * sign
        outer = self._outer(top, bottom, confidence)
        low, high = np.full(outer[0].shape, np.inf), np.full(outer[0].shape, -np.inf)
        sure = bottom > 0
        divisor = np.where(sure, bottom, 1.0)
        halves = self._halves(outer, confidence)  # (half of a cell: start, end, reach)
        together = max(1, _AT_ONCE // max(1, low.size))
        for block in (halves[each : each + together] for each in range(0, len(halves), together)):
            starts, ends, wide = (column.reshape(-1, *(1 for _ in low.shape)) for column in block.T)
            least = np.maximum(np.maximum(outer[0], starts), np.where(sure, (top - wide) / divisor, -np.inf))
            most = np.minimum(np.minimum(outer[1], ends), np.where(sure, (top + wide) / divisor, np.inf))
            some = least <= most
            low = np.minimum(low, np.where(some, least, np.inf).min(axis=0))
            high = np.maximum(high, np.where(some, most, -np.inf).max(axis=0))
        unknown = low > high  # rounding alone could leave nothing: then the box stands
        return np.where(unknown, outer[0], low), np.where(unknown, outer[1], high)

    def _edges(self) -> list[float]:
        """Where the cells of |ratio| begin: at 0, and then wherever the noise is so much wider again."""
        unit = WeightedNoise.of([self.top]).deviation / max(WeightedNoise.of(self.bottom).deviation, 1e-300)
        return [0.0, *(unit * each for each in _WIDENING)]

    def _reach(self, ratio: float, confidence: Fraction) -> float:
        """The q that serves all ratios up to this one; infinite where nobody knows the law."""
        if not np.isfinite(ratio):
            return np.inf
        scaled = [Term(term.weight * ratio, term.noise, term.count) for term in self.bottom]
        reach = WeightedNoise.of([self.top, *scaled]).reach(confidence)
        return np.inf if reach is None else reach + abs(self.top.weight)

    def _halves(self, outer: Ends, confidence: Fraction) -> Floats:
        """Start, end and reach of what lies on either side of 0 in every cell that some group may be in."""
        least, most = (
            float(fold.reduce(end.ravel(), initial=start))
            for fold, end, start in ((np.fmin, outer[0], np.inf), (np.fmax, outer[1], -np.inf))
        )
        reaches, halves = _known_reaches(self, confidence), []
        for index, (start, end) in enumerate(pairwise([*self._edges(), np.inf])):
            there = [each for each in ((start, end), (-end, -start)) if least <= each[1] and most >= each[0]]
            if there and index not in reaches:
                reaches[index] = self._reach(end, confidence)
            halves += [(*each, reaches[index]) for each in there]
        return np.array(halves).reshape(-1, 3)

    def _outer(self, top: Floats, bottom: Floats, confidence: Fraction) -> Ends:
        """The ends by what each noise does for itself, half of the chance for each: |X − r Y| ≤ a + b |r|."""
        half = 1 - (1 - confidence) / 2
        first, second = (WeightedNoise.of(terms).reach(half) for terms in ((self.top,), self.bottom))
        shape = np.broadcast_shapes(top.shape, bottom.shape)
        if first is None or second is None:
            return np.full(shape, -np.inf), np.full(shape, np.inf)
        low, high = top - first, top + first
        least, most = bottom - second, bottom + second
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            sure = np.broadcast_to(least > 0, shape)
            divisors = np.where(least > 0, least, 1.0), np.where(most > 0, most, 1.0)
            lowest = np.where(low < 0, low / divisors[0], low / divisors[1])
            highest = np.where(high > 0, high / divisors[0], high / divisors[1])
        return np.where(sure, lowest, -np.inf), np.where(sure, highest, np.inf)


@lru_cache(maxsize=512)
def _known_reaches(noise: RatioNoise, confidence: Fraction) -> dict[int, float]:
    """The reaches of one law that were worked out, by the number of their cell: filled as they are needed."""
    return {}


@dataclass(frozen=True, slots=True)
class SpreadNoise:
    """The noises of a sum of squares, of a sum, and of a count: of each one draw."""

    squares: Term
    total: Term
    count: Term

    def ends(self, values: Sequence[Floats], box: Ends, *, confidence: Fraction) -> Ends:
        """The ends of the variance, given those of a box that holds it but for a chance of its own.

        `values`: the noisy sum of squares, sum and count. Of what may fail nine tenths are for the law of the variance,
        the rest for that of the mean. Infinite where the count may be zero, or nobody knows a law.
        """
        shape = np.broadcast_shapes(*(value.shape for value in (*values, *box)))
        above, below = _exponent([self.total]), _exponent([self.count])
        exponents = 2 * above - below, above, below

        def work() -> Ends:
            terms = zip((self.squares, self.total, self.count), exponents, strict=True)
            alike = SpreadNoise(*(_lowered(term, exponent) for term, exponent in terms))
            lowered = [np.ldexp(value, -exponent) for value, exponent in zip(values, exponents, strict=True)]
            low, high = (np.ldexp(end, 2 * (below - above)) for end in box)
            return alike._ends(lowered, (low, high), confidence)

        return _held(shape, work, 2 * (above - below))

    def _ends(self, values: Sequence[Floats], box: Ends, confidence: Fraction) -> Ends:
        squares, total, count = values
        share = (1 - confidence) / 10
        low, high = RatioNoise(self.total, (self.count,)).ends(total, count, confidence=1 - share)
        sure = (count > 0) & np.isfinite(low) & np.isfinite(high) & np.isfinite(box[0]) & np.isfinite(box[1])
        divisor = np.where(sure, count, 1.0)
        mean = np.where(sure, total / divisor, 0.0)
        low, high = np.where(sure, np.minimum(low, mean), 0.0), np.where(sure, np.maximum(high, mean), 0.0)
        variance = squares / divisor - mean**2
        above = np.maximum(mean - low, high - mean) ** 2
        farthest = np.maximum(np.abs(low), np.abs(high))
        nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        ends = np.where(sure, box[0], 0.0), np.where(sure, box[1], 0.0)
        for _ in range(2):  # the second time with the ends that the first has found
            weight = np.maximum(np.abs(farthest**2 - ends[0]), np.abs(ends[1] - nearest**2))
            wide = self._reaches(2 * farthest, weight, confidence=1 - 9 * share) / divisor
            ends = np.maximum(ends[0], variance - wide), np.minimum(ends[1], variance + above + wide)
            ends = np.minimum(*ends), np.maximum(*ends)
        return np.where(sure, ends[0], -np.inf), np.where(sure, ends[1], np.inf)

    def _reaches(self, means: Floats, counts: Floats, *, confidence: Fraction) -> Floats:
        """How far Z − mean X + count Y strays for each pair of weights, each rounded up to one whose law is known."""
        means, counts = np.broadcast_arrays(self._rounded(self.total, means), self._rounded(self.count, counts))
        pairs = np.stack([means.ravel(), counts.ravel()], axis=1)
        different, which = np.unique(pairs, axis=0, return_inverse=True)
        reaches = np.array([self._reach(*weights, confidence=confidence) for weights in different.tolist()])
        widths: Floats = reaches[which.ravel()].reshape(means.shape)
        return widths

    def _reach(self, mean: float, count: float, *, confidence: Fraction) -> float:
        terms = [self.squares, *(Term(t.weight * w, t.noise) for t, w in ((self.total, mean), (self.count, count)))]
        reach = WeightedNoise.of(terms).reach(confidence)
        return np.inf if reach is None else reach + sum(abs(term.weight) for term in terms)

    def _rounded(self, term: Term, weights: Floats) -> Floats:
        """Weights rounded up to where the noise, with that of the squares, is so much wider again."""
        unit = WeightedNoise.of([self.squares]).deviation / max(WeightedNoise.of([term]).deviation, 1e-150)
        steps = np.ceil(np.log1p((weights / unit) ** 2) / (2 * np.log(_GROWTH)) - 1e-9)
        rounded: Floats = np.maximum(weights, unit * np.sqrt(_GROWTH ** (2 * steps) - 1))
        return rounded
