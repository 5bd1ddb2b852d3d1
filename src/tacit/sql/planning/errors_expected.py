"""How far off an answer will be, before anyone has looked at the data: at a nominal size of each group.

The size is what the policy says of the table, shared out among its public groups; else a thousand rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.protocol import AddedNoise
from tacit.mechanisms.weighted import Term, WeightedNoise
from tacit.sql.binding import post
from tacit.sql.expressions.measures import Additive, Counted, Measure
from tacit.sql.planning.plan import Measurement
from tacit.sql.planning.ratio_laws import RatioNoise, SpreadNoise

_NUDGE = 1e-6
_BOXED = Fraction(1, 50)  # of what may fail: that a quotient is not in the box of its parts


def nominal_value(measure: Measure, rows: int) -> float:
    """A plausible value: so many rows, each halfway to its farthest end."""
    if not isinstance(measure, Additive):
        return float(rows)
    if measure.counted is not Counted.VALUES:
        return float(rows)
    far = measure.high if measure.high >= -measure.low else measure.low
    return rows * float(far * measure.step) / 2


def half_width(measurement: Measurement, confidence: Fraction) -> float:
    """The error of one measurement at this confidence; infinite where no theorem bounds it in the value's own terms."""
    if isinstance(measurement.measure, Additive) and measurement.added is not None:
        return float(_reach(measurement.added, confidence) * measurement.step)
    return float("inf")


@lru_cache(maxsize=1024)
def _reach(noise: AddedNoise, confidence: Fraction) -> int:
    return noise.error(confidence)


@dataclass(frozen=True, slots=True)
class MeasuredColumns:
    """Measurements as they came out, or might: `bands` has the intervals that each holds with a given confidence.

    `terms` has the noise in each, where it is that of one draw, whatever the group; `confidence` is what an output made
    of them is to hold with. `roughly`: quotients by boxes, which is fast and good enough to compare plans by.
    """

    bands: Callable[[Fraction], Sequence[post.Band]]
    terms: Sequence[Term | None]
    confidence: Fraction
    roughly: bool = False

    def band(self, value: post.Post) -> post.Band:
        """An output with its interval: by the law of its noise where that is known, else by those of its parts."""
        refs = post.refs(value)
        bands = self.bands(shared_confidence(self.confidence, len(refs)))
        if len(refs) > 1:
            inner = post.core(value)
            band = self._by_law(inner, bands)
            if band is not None:
                return post.around_core(value, band)
        return post.evaluate(value, bands)

    def _by_law(self, value: post.Post, bands: Sequence[post.Band]) -> post.Band | None:
        """A sum, a quotient of sums or a variance, whose noise has a law of its own; None of anything else."""
        terms = self._terms(value)
        if terms is not None:
            width = WeightedNoise.of(terms).reach(self.confidence) if terms else None
            return None if width is None else post.linear_band(value, bands, width)
        if self.roughly:
            return None
        boxed = self.bands(shared_confidence(1 - (1 - self.confidence) * _BOXED, len(post.refs(value))))
        ends = self._ends(value, boxed, confidence=1 - (1 - self.confidence) * (1 - _BOXED))
        if ends is None:
            return None
        estimate, box = post.evaluate(value, bands).value, post.evaluate(value, boxed)
        low, high = np.fmax(box.low, ends.low), np.fmin(box.high, ends.high)  # an end nobody knows is that of the box
        return post.Band(estimate, np.minimum(low, estimate), np.maximum(high, estimate))

    def _ends(self, value: post.Post, boxed: Sequence[post.Band], *, confidence: Fraction) -> post.Band | None:
        """A quotient or a variance by its law, where all measurements are in their boxes; None of anything else."""
        match value:
            case post.Quotient(left, right, _):
                return self._ratio(left, right, boxed, confidence=confidence)
            case post.Product(post.Sum() as variance, post.Quotient() as factor) if post.refs(factor) < post.refs(
                value
            ):
                spread = self._variance(variance, boxed, confidence=confidence)
                return None if spread is None else post.product(spread, post.evaluate(factor, boxed))
        return self._variance(value, boxed, confidence=confidence)

    def _ratio(
        self, left: post.Post, right: post.Post, boxed: Sequence[post.Band], *, confidence: Fraction
    ) -> post.Band | None:
        top, bottom = self._terms(left), self._terms(right)
        if top is None or len(top) != 1 or not bottom or post.refs(left) & post.refs(right):
            return None
        values = [post.evaluate(side, boxed).value for side in (left, right)]
        low, high = RatioNoise(top[0], tuple(bottom)).ends(*values, confidence=confidence)
        return post.Band(low, low, high)

    def _variance(self, value: post.Post, boxed: Sequence[post.Band], *, confidence: Fraction) -> post.Band | None:
        parts = post.variance_parts(value)
        known = [term for ref in parts or () if (term := self.terms[ref]) is not None]
        if parts is None or len(known) < len(parts):
            return None
        box = post.evaluate(value, boxed)
        values = [boxed[ref].value for ref in parts]
        low, high = SpreadNoise(*known).ends(values, (box.low, box.high), confidence=confidence)
        return post.Band(low, low, high)

    def _terms(self, value: post.Post) -> list[Term] | None:
        """The noise of a sum of measurements times constants; None where it is no sum, or nobody knows."""
        weights = post.weights(value)
        if weights is None:
            return None
        terms = []
        for ref, weight in weights.items():
            term = self.terms[ref]
            if term is None:
                return None
            size = _representable(Fraction(term.weight) * weight)
            if size is None or _representable(weight) is None:
                return None
            terms.append(Term(size, term.noise))
        return terms


def single_term(measurement: Measurement) -> Term | None:
    """The noise of a measurement that has one draw of it; None of a choice."""
    if not isinstance(measurement.measure, Additive) or measurement.added is None:
        return None
    step = _representable(measurement.step)
    return None if step is None else Term(step, measurement.added)


def _representable(weight: Fraction) -> float | None:
    """A weight as a double; None where it overflows, or would be taken for none."""
    try:
        size = float(weight)
    except OverflowError:
        return None
    return size if abs(size) >= sys.float_info.min or not weight else None


def nominal(
    measurements: Sequence[Measurement], confidence: Fraction, *, rows: int, roughly: bool = False
) -> MeasuredColumns:
    """The measurements as they might come out in a group of so many rows."""

    def bands(shared: Fraction) -> list[post.Band]:
        known = []
        for measurement in measurements:
            value = np.full(1, nominal_value(measurement.measure, rows))
            width = half_width(measurement, shared)
            known.append(post.Band(value, value - width, value + width))
        return known

    return MeasuredColumns(bands, [single_term(measurement) for measurement in measurements], confidence, roughly)


def shared_confidence(confidence: Fraction, count: int) -> Fraction:
    """What each of `count` measurements must hold with, for all of them to hold together (union bound)."""
    return 1 - (1 - confidence) / max(1, count)


def expected(value: post.Post, measures: Sequence[Measure], *, rows: int) -> tuple[float, list[float]]:
    """The nominal value of an output, and how much it moves when each measurement does."""
    points = [np.full(1, nominal_value(measure, rows)) for measure in measures]
    still = [post.Band(p, p, p) for p in points]
    base = float(post.evaluate(value, still).value[0])
    slopes = [0.0] * len(measures)
    for index in sorted(set(post.refs(value))):  # it does not move with the others
        nudge = max(abs(points[index][0]) * _NUDGE, _NUDGE)
        moved = post.evaluate(value, [*still[:index], _nudged(points[index], nudge), *still[index + 1 :]])
        slopes[index] = float(moved.error[0]) / nudge
    return base, slopes


def _nudged(point: NDArray[np.float64], nudge: float) -> post.Band:
    return post.Band(point, point - nudge, point + nudge)
