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

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.weighted import Term, WeightedNoise

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
Steps = NDArray[np.int64]

_GROWTH = 1.05  # from one ratio whose law is known to the next: how much wider the noise is, at most
_FAINTEST = 2.0**-900  # a weight, beside others of about 1: what is smaller could be lost
_CELLS = 80  # beyond the last of them (50 times as wide as the numerator's noise alone) intervals are boxes
_AT_ONCE = 1 << 20  # numbers of groups times cells that are looked at together
_MOST_STEPS = 7000  # of growth: beyond, which is 10^148 times as wide, nobody knows
_MOST_KNOWN = 4096  # reaches of one law that are remembered
_WIDENING = tuple(float(np.sqrt(_GROWTH ** (2 * step) - 1)) for step in range(1, _CELLS + 1))


def _held(work: Callable[[], Ends], exponent: int, *, values: Sequence[Floats]) -> Ends:
    """Ends times a power of two, rounded outward; infinite where doubles do not hold what they are made of."""
    with np.errstate(all="ignore"):
        try:
            low, high = work()
        except ArithmeticError:
            shape = np.broadcast_shapes(*(value.shape for value in values))
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
            law = _ratio_law(self, confidence, (above, below))
            return law.ends(np.ldexp(top, -above), np.ldexp(bottom, -below))

        return _held(work, above - below, values=(top, bottom))

    def lowered(self, above: int, below: int) -> RatioNoise:
        """The same in other units, powers of two. Raises FloatingPointError where doubles do not hold it."""
        return RatioNoise(_lowered(self.top, above), tuple(_lowered(term, below) for term in self.bottom))

    def edges(self) -> Floats:
        """Where cells of |ratio| begin: at 0, and then wherever the noise is so much wider again."""
        unit = WeightedNoise.of([self.top]).deviation / max(WeightedNoise.of(self.bottom).deviation, 1e-300)
        return np.array([0.0, *(unit * each for each in _WIDENING)])

    def reach(self, ratio: float, confidence: Fraction) -> float:
        """The q that serves all ratios up to this one; infinite where nobody knows the law."""
        if not np.isfinite(ratio):
            return np.inf
        scaled = [Term(term.weight * ratio, term.noise, term.count) for term in self.bottom]
        reach = WeightedNoise.of([self.top, *scaled]).reach(confidence)
        return np.inf if reach is None else reach + abs(self.top.weight)


@lru_cache(maxsize=512)
def _ratio_law(noise: RatioNoise, confidence: Fraction, exponents: tuple[int, int]) -> _RatioLaw:
    return _RatioLaw.of(noise.lowered(*exponents), confidence)


@dataclass(frozen=True, slots=True, eq=False)
class _RatioLaw:
    """The law of a quotient at one confidence: how far each noise strays alone, and the cells of all ratios in order.

    A reach that nobody has asked for is NaN. Whoever fills it in writes what follows from the noise alone, so that it
    does not matter who comes first.
    """

    noise: RatioNoise
    confidence: Fraction
    alone: tuple[float, float] | None  # of the numerator, and of the denominator
    starts: Floats
    ends_at: Floats
    reaches: Floats

    @classmethod
    def of(cls, noise: RatioNoise, confidence: Fraction) -> _RatioLaw:
        half = 1 - (1 - confidence) / 2
        first, second = (WeightedNoise.of(terms).reach(half) for terms in ((noise.top,), noise.bottom))
        edges = np.append(noise.edges(), np.inf)
        bounds = np.concatenate([-edges[:0:-1], edges])  # −∞ … 0 … ∞
        alone = None if first is None or second is None else (first, second)
        return cls(noise, confidence, alone, bounds[:-1], bounds[1:], np.full(bounds.size - 1, np.nan))

    def ends(self, top: Floats, bottom: Floats) -> Ends:
        """The ends of all ratios that are not ruled out."""
        negative = bottom < 0
        if negative.any():  # symmetric noise is the same on either side
            top, bottom = np.where(negative, -top, top), np.abs(bottom)
        outer = self._outer(top, bottom)
        low, high = np.full(outer[0].shape, np.inf), np.full(outer[0].shape, -np.inf)
        sure = bottom > 0
        divisor = np.where(sure, bottom, 1.0)
        unsure = None if sure.all() else ~sure  # a divisor of zero rules nothing out
        cells = self._cells(outer)
        together = max(1, _AT_ONCE // max(1, low.size))
        for first in range(cells.start, cells.stop, together):
            block = slice(first, min(first + together, cells.stop))
            shape = (-1, *(1 for _ in low.shape))
            starts, ends, wide = (each[block].reshape(shape) for each in (self.starts, self.ends_at, self.reaches))
            least, most = (top - wide) / divisor, (top + wide) / divisor
            if unsure is not None:
                least, most = np.where(unsure, -np.inf, least), np.where(unsure, np.inf, most)
            least = np.maximum(np.maximum(outer[0], starts), least)
            most = np.minimum(np.minimum(outer[1], ends), most)
            some = least <= most
            low = np.minimum(low, np.where(some, least, np.inf).min(axis=0))
            high = np.maximum(high, np.where(some, most, -np.inf).max(axis=0))
        unknown = low > high  # rounding alone could leave nothing: then the box stands
        return np.where(unknown, outer[0], low), np.where(unknown, outer[1], high)

    def _cells(self, outer: Ends) -> slice:
        """The cells that some group may be in, their reaches filled in."""
        least = float(np.fmin.reduce(outer[0].ravel(), initial=np.inf))
        most = float(np.fmax.reduce(outer[1].ravel(), initial=-np.inf))
        first = int(np.searchsorted(self.ends_at, least, "left"))
        last = max(first, int(np.searchsorted(self.starts, most, "right")))
        for index in (np.flatnonzero(np.isnan(self.reaches[first:last])) + first).tolist():
            widest = max(abs(float(self.starts[index])), abs(float(self.ends_at[index])))
            self.reaches[index] = self.reaches[-1 - index] = self.noise.reach(widest, self.confidence)
        return slice(first, last)

    def _outer(self, top: Floats, bottom: Floats) -> Ends:
        """The ends by what each noise does for itself, half of the chance for each: |X − r Y| ≤ a + b |r|."""
        if self.alone is None:
            shape = np.broadcast_shapes(top.shape, bottom.shape)
            return np.full(shape, -np.inf), np.full(shape, np.inf)
        low, high = top - self.alone[0], top + self.alone[0]
        least, most = bottom - self.alone[1], bottom + self.alone[1]
        sure = least > 0
        divisors = np.where(sure, least, 1.0), np.where(most > 0, most, 1.0)
        lowest = low / np.where(low < 0, *divisors)
        highest = high / np.where(high > 0, *divisors)
        return np.where(sure, lowest, -np.inf), np.where(sure, highest, np.inf)


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
        above, below = _exponent([self.total]), _exponent([self.count])
        exponents = 2 * above - below, above, below

        def work() -> Ends:
            law = _spread_law(self, confidence, exponents)
            lowered = [np.ldexp(value, -exponent) for value, exponent in zip(values, exponents, strict=True)]
            low, high = (np.ldexp(end, 2 * (below - above)) for end in box)
            return law.ends(lowered, (low, high))

        return _held(work, 2 * (above - below), values=(*values, *box))

    def lowered(self, exponents: tuple[int, int, int]) -> SpreadNoise:
        """The same in other units, powers of two. Raises FloatingPointError where doubles do not hold it."""
        terms = zip((self.squares, self.total, self.count), exponents, strict=True)
        return SpreadNoise(*(_lowered(term, exponent) for term, exponent in terms))

    def reach(self, mean: float, count: float, *, confidence: Fraction) -> float:
        """How far Z − mean X + count Y strays, for all weights that are no larger; infinite where nobody knows."""
        terms = [self.squares, *(Term(t.weight * w, t.noise) for t, w in ((self.total, mean), (self.count, count)))]
        reach = WeightedNoise.of(terms).reach(confidence)
        return np.inf if reach is None else reach + sum(abs(term.weight) for term in terms)


@lru_cache(maxsize=512)
def _spread_law(noise: SpreadNoise, confidence: Fraction, exponents: tuple[int, int, int]) -> _SpreadLaw:
    return _SpreadLaw.of(noise.lowered(exponents), confidence)


@dataclass(frozen=True, slots=True, eq=False)
class _SpreadLaw:
    """The law of a variance at one confidence, with the reaches that were worked out, by the steps of both weights."""

    noise: SpreadNoise
    mean: RatioNoise
    confidences: tuple[Fraction, Fraction]  # of the mean, and of the variance around it
    units: tuple[float, float]  # the weights of sum and count whose noise is as wide as that of the squares
    reaches: dict[int, float]

    @classmethod
    def of(cls, noise: SpreadNoise, confidence: Fraction) -> _SpreadLaw:
        share = (1 - confidence) / 10
        squares, total, count = (
            WeightedNoise.of([term]).deviation for term in (noise.squares, noise.total, noise.count)
        )
        units = squares / max(total, 1e-150), squares / max(count, 1e-150)
        return cls(noise, RatioNoise(noise.total, (noise.count,)), (1 - share, 1 - 9 * share), units, {})

    def ends(self, values: Sequence[Floats], box: Ends) -> Ends:
        """The ends of the variance, given those of a box that holds it but for a chance of its own."""
        squares, total, count = values
        low, high = self.mean.ends(total, count, confidence=self.confidences[0])
        sure = (count > 0) & np.isfinite(low) & np.isfinite(high) & np.isfinite(box[0]) & np.isfinite(box[1])
        divisor = np.where(sure, count, 1.0)
        mean = np.where(sure, total / divisor, 0.0)
        low, high = np.where(sure, np.minimum(low, mean), 0.0), np.where(sure, np.maximum(high, mean), 0.0)
        variance = squares / divisor - mean**2
        above = np.maximum(mean - low, high - mean) ** 2
        farthest = np.maximum(np.abs(low), np.abs(high))
        nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        ends = np.where(sure, box[0], 0.0), np.where(sure, box[1], 0.0)
        steps = self._steps(0, 2 * farthest)
        for _ in range(2):  # the second time with the ends that the first has found
            weight = np.maximum(np.abs(farthest**2 - ends[0]), np.abs(ends[1] - nearest**2))
            wide = self._wide(steps, self._steps(1, weight)) / divisor
            ends = np.maximum(ends[0], variance - wide), np.minimum(ends[1], variance + above + wide)
            ends = np.minimum(*ends), np.maximum(*ends)
        return np.where(sure, ends[0], -np.inf), np.where(sure, ends[1], np.inf)

    def _wide(self, means: Steps, counts: Steps) -> Floats:
        """How far Z − mean X + count Y strays for each pair of weights, each rounded up to one whose law is known."""
        pairs, which = np.unique(means * (_MOST_STEPS + 1) + counts, return_inverse=True)
        reaches = np.array([self._reach(pair) for pair in pairs.tolist()])
        widths: Floats = reaches[which.ravel()].reshape(np.broadcast_shapes(means.shape, counts.shape))
        return widths

    def _reach(self, pair: int) -> float:
        known = self.reaches.get(pair)
        if known is not None:
            return known
        steps = divmod(pair, _MOST_STEPS + 1)
        reach = np.inf
        if _MOST_STEPS not in steps:
            mean, count = (float(_weight(unit, np.float64(step))) for unit, step in zip(self.units, steps, strict=True))
            reach = self.noise.reach(mean, count, confidence=self.confidences[1])
        if len(self.reaches) >= _MOST_KNOWN:
            self.reaches.clear()
        self.reaches[pair] = reach
        return reach

    def _steps(self, which: int, weights: Floats) -> Steps:
        """By how many steps weights are rounded up: each makes the noise, with that of the squares, so much wider."""
        unit = self.units[which]
        steps = np.ceil(np.log1p((weights / unit) ** 2) / (2 * math.log(_GROWTH)) - 1e-9)
        steps = np.where(_weight(unit, steps) < weights, steps + 1, steps)  # what rounding has lost
        known = _weight(unit, steps) >= weights
        return np.where(known, np.minimum(steps, _MOST_STEPS), _MOST_STEPS).astype(np.int64)


def _weight(unit: float, steps: Floats | np.float64) -> Floats:
    """The weight whose noise, with one that is as wide as that of `unit`, is so many times wider again."""
    weight: Floats = unit * np.sqrt(_GROWTH ** (2 * steps) - 1)
    return weight
