"""The noise of an answer, drawn again: what it might have been, had the true numbers been those that were released.

The law of the noise is public, and so are the numbers: what is drawn here tells nothing new about anybody.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.curator.jobs.pieces import variance
from tacit.curator.measuring.noisy import Noisy, NoisyColumn
from tacit.mechanisms.kept import kept_noise
from tacit.mechanisms.protocol import is_added
from tacit.noise import Source, discrete_gaussian
from tacit.sql import Measurement, Output, Plan
from tacit.sql.binding import post

Floats = NDArray[np.float64]

DRAWS = 200
MOST_CELLS = 400_000  # that are drawn for one answer
_UNIT = 1 << 20  # steps of a normal number
_MOST_ADDED = 64  # draws that are added up one by one; the sum of more is as good as normal


def draws_for(confidence: Fraction, cells: int) -> int:
    """How many draws tell the width at this confidence; 0 where they would be too many."""
    wanted = max(DRAWS, math.ceil(2 / (1 - confidence)))
    return wanted if cells * wanted <= MOST_CELLS else 0


def redrawn(plan: Plan, noisy: Noisy, *, draws: int, source: Source) -> list[post.Band]:
    """For each measurement its values in every draw, one draw after the other."""
    bands = []
    for measurement, column in zip(plan.measurements, noisy.columns, strict=True):
        shown = _shown(column, len(noisy.keys))
        values = np.tile(shown, draws)
        if can_be_redrawn(measurement, column):
            values = values + _noise(measurement, column, count=values.size, draws=draws, source=source)
        bands.append(post.Band(values, values, values))
    return bands


def can_be_redrawn(measurement: Measurement, column: NoisyColumn) -> bool:
    """Whether its noise has a law of its own, whatever the data: that of a choice has none."""
    return is_added(measurement.noise) and column.choices is None


def has_noise(out: Output) -> bool:
    """Whether a column is made of measurements: a key, and a number that was typed, is not."""
    return out.value is not None and bool(post.refs(out.value))


def values_in_draws(out: Output, bands: list[post.Band], count: int) -> Floats:
    """A column of an answer in every draw."""
    if out.value is None:
        raise TypeError("a key has no noise")
    return np.broadcast_to(post.evaluate(out.value, bands).value, (count,))


def _shown(column: NoisyColumn, groups: int) -> Floats:
    if column.numbers is not None:
        return column.numbers.astype(np.float64) * column.step.numerator / column.step.denominator
    return column.values if column.values is not None else np.zeros(groups)


def _noise(measurement: Measurement, column: NoisyColumn, *, count: int, draws: int, source: Source) -> Floats:
    if column.estimates is not None:
        return np.tile(np.sqrt(column.estimates.variances), draws) * _normal(count, source)
    step = float(column.step)
    if column.cells > _MOST_ADDED:
        return math.sqrt(column.cells * variance(measurement)) * _normal(count, source)
    return sum((_draw(measurement, count, source) for _ in range(column.cells)), np.zeros(count)) * step


def _draw(measurement: Measurement, count: int, source: Source) -> Floats:
    """Whole numbers by the law itself; where these are too wide for 64 bits, nobody sees that they are not whole."""
    noise = measurement.noise
    if not is_added(noise):
        raise TypeError("a choice has no noise of its own")
    law = noise.law
    if law.size < _UNIT:
        return noise.release(np.zeros(count, dtype=np.int64), source).astype(np.float64)
    narrow = kept_noise(law.name, Fraction(_UNIT), delta=law.delta)
    if narrow is None:
        return _normal(count, source) * math.sqrt(noise.variance)
    drawn = narrow.release(np.zeros(count, dtype=np.int64), source).astype(np.float64)
    return drawn * (float(law.size) / _UNIT)


def _normal(count: int, source: Source) -> Floats:
    return discrete_gaussian(_UNIT, size=count, source=source).astype(np.float64) / _UNIT
