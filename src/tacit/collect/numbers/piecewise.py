"""A number from each person, reported by a sliding window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate
from tacit.collect.integers import bits_for, bytes_for, from_rows, to_rows
from tacit.collect.numbers.scale import Numbers, Scale, mean_of
from tacit.collect.numbers.windows import Window, lie_for
from tacit.collect.ratios import ratio_costing
from tacit.collect.reports import Bodies, Tally, checked_rows, checked_weights
from tacit.core import Bounds, Loss, Number
from tacit.noise import SYSTEM, IntArray, Source

_DEAREST = Fraction(1000)  # beyond it the window is one cell anyway


@dataclass(frozen=True, slots=True)
class Piecewise:
    """Report a cell near the number's own grid place with probability 1 − `lie`, else any other, evenly.

    Guarantee:    pure ε-DP with ε = ln((1 − lie) / lie · steps / size) for neighbours that replace a person's number:
                  cells are of two weights, and `size` of them are heavy whatever the number.
    Sensitivity:  one report a person.
    Error:        unbiased; the variance is least at the ends' middle and at most
                  (4 e^(ε/2) / (3 (e^(ε/2) − 1)²)) of the half width squared, to within the grid.
    Exactness:    rational lie, exact coins, whole cells; ε rounded up in the 24th digit.
    Reference:    Wang et al., ICDE 2019 (the piecewise mechanism), here on a grid.
    """

    scale: Scale
    size: int
    lie: Fraction

    def __init__(self, scale: Scale, size: int, lie: Number) -> None:
        window = Window(scale.steps, size, lie)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "size", window.size)
        object.__setattr__(self, "lie", window.lie)

    @classmethod
    def costing(cls, loss: Loss, *, bounds: Bounds) -> Piecewise:
        """The window of least variance, and the least lying that costs no more than `loss`."""
        ratio, scale = ratio_costing(loss), Scale.of(bounds)
        size = max(1, round(scale.steps * math.exp(-float(min(loss.epsilon, _DEAREST)) / 2)))
        return cls(scale, size, lie_for(ratio, steps=scale.steps, size=size))

    @property
    def window(self) -> Window:
        """The law of a report."""
        return Window(self.scale.steps, self.size, self.lie)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return bytes_for(self.window.cells)

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(self.window.cells)

    def loss(self) -> Loss:
        """What one report costs."""
        return Loss(self.window.epsilon)

    def encode(self, values: Numbers, source: Source = SYSTEM) -> Bodies:
        """One report for each number, clamped into the bounds."""
        return to_rows(self.window.draw(self.scale.places(values), source), self.width)

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How often each cell was reported."""
        return cell_tally(bodies, weights, width=self.width, cells=self.window.cells)

    def estimate(self, tally: Tally) -> Estimate:
        """The unbiased mean."""
        return mean_of(self.scale, self.window.guesses(), tally.counts, dropped=tally.dropped)


def cell_tally(bodies: Bodies, weights: IntArray | None, *, width: int, cells: int) -> Tally:
    """How often each of `cells` whole numbers was reported."""
    numbers = from_rows(checked_rows(bodies, width))
    times = checked_weights(weights, numbers.size)
    good = numbers < cells
    counts = np.bincount(numbers[good], weights=times[good], minlength=cells).astype(np.int64)
    return Tally(counts, int(counts.sum()), int(times[~good].sum()))
