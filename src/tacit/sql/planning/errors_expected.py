"""How far off an answer will be, before anyone has looked at the data: at a nominal size of each group.

The size is what the policy says of the table, shared out among its public groups; else a thousand rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.mechanisms.protocol import AddedNoise
from tacit.sql.binding import post
from tacit.sql.expressions.measures import Additive, Counted, Measure
from tacit.sql.planning.output_laws import ColumnNoise, OutputLaw, QuotientLaw, single_term
from tacit.sql.planning.plan import Measurement

_NUDGE = 1e-6


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

    `noise` is that of each measurement, and what outputs made of them are to hold with. `roughly`: quotients by boxes,
    which is fast and good enough to compare plans by.
    """

    bands: Callable[[Fraction], post.Bands]
    noise: ColumnNoise
    roughly: bool = False

    def band(self, value: post.Post) -> post.Band:
        """An output with its interval: by the law of its noise where that is known, else by those of its parts."""
        law = self.noise.law(value)
        bands = self.bands(law.shared)
        if law.width is not None:
            return post.around_core(value, post.linear_band(law.core, bands, law.width))
        if law.quotient is None or self.roughly:
            return post.evaluate(value, bands)
        return post.around_core(value, self._quotient(law, law.quotient, bands))

    def _quotient(self, law: OutputLaw, noise: QuotientLaw, bands: post.Bands) -> post.Band:
        boxed = self.bands(law.boxed)
        estimate, box = post.evaluate(law.core, bands).value, post.evaluate(law.core, boxed)
        low, high = noise.ends(boxed, law.confidence)
        low, high = np.fmax(box.low, low), np.fmin(box.high, high)  # an end nobody knows is that of the box
        return post.Band(estimate, np.minimum(low, estimate), np.maximum(high, estimate))


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

    noise = ColumnNoise(tuple(single_term(measurement) for measurement in measurements), confidence)
    return MeasuredColumns(bands, noise, roughly)


def expected(value: post.Post, measures: Sequence[Measure], *, rows: int) -> tuple[float, list[float]]:
    """The nominal value of an output, and how much it moves when each measurement does."""
    moving = sorted(set(post.refs(value)))  # it does not move with the others
    points = {ref: nominal_value(measures[ref], rows) for ref in moving}
    nudges = [max(abs(points[ref]) * _NUDGE, _NUDGE) for ref in moving]
    bands = {ref: _nudged(points[ref], nudges, at=index) for index, ref in enumerate(moving)}
    out = post.evaluate(value, bands)  # as many cells as measurements that move, and one where all stand still
    errors = np.broadcast_to(out.error, len(moving) + 1)
    slopes = [0.0] * len(measures)
    for index, ref in enumerate(moving):
        slopes[ref] = float(errors[index]) / nudges[index]
    return float(out.value[-1]), slopes


def _nudged(point: float, nudges: Sequence[float], *, at: int) -> post.Band:
    """A measurement that moves in the cell `at` alone."""
    still = np.full(len(nudges) + 1, point)
    low, high = still.copy(), still.copy()
    low[at], high[at] = point - nudges[at], point + nudges[at]
    return post.Band(still, low, high)
