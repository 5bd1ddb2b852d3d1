"""How far off an answer will be, before anyone has looked at the data: at a nominal size of each group.

The size is what the policy says of the table, shared out among its public groups; else a thousand rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.protocol import AddedNoise
from tacit.sql.binding import post
from tacit.sql.expressions.measures import Additive, Counted, Measure
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


def nominal(measurements: Sequence[Measurement], confidence: Fraction, *, rows: int) -> list[post.Band]:
    """The measurements as they might come out in a group of so many rows."""
    bands = []
    shared = shared_confidence(confidence, len(measurements))
    for measurement in measurements:
        value = np.full(1, nominal_value(measurement.measure, rows))
        width = half_width(measurement, shared)
        bands.append(post.Band(value, value - width, value + width))
    return bands


def shared_confidence(confidence: Fraction, count: int) -> Fraction:
    """What each of `count` measurements must hold with, for all of them to hold together (union bound)."""
    return 1 - (1 - confidence) / max(1, count)


def expected(value: post.Post, measures: Sequence[Measure], *, rows: int) -> tuple[float, list[float]]:
    """The nominal value of an output, and how much it moves when each measurement does."""
    points = [np.full(1, nominal_value(measure, rows)) for measure in measures]
    still = [post.Band(p, p, p) for p in points]
    base = float(post.evaluate(value, still).value[0])
    slopes = [0.0] * len(measures)
    for place in sorted(set(post.refs(value))):  # it does not move with the others
        nudge = max(abs(points[place][0]) * _NUDGE, _NUDGE)
        moved = post.evaluate(value, [*still[:place], _nudged(points[place], nudge), *still[place + 1 :]])
        slopes[place] = float(moved.error[0]) / nudge
    return base, slopes


def _nudged(point: NDArray[np.float64], nudge: float) -> post.Band:
    return post.Band(point, point - nudge, point + nudge)
