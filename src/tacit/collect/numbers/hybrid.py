"""A number from each person, by a window or in one bit, whichever a coin says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate
from tacit.collect.integers import bits_for, bytes_for, to_rows
from tacit.collect.numbers.one_bit import OneBit
from tacit.collect.numbers.piecewise import Piecewise, cell_tally
from tacit.collect.numbers.scale import Numbers, Scale, mean_of
from tacit.collect.numbers.windows import Window
from tacit.collect.reports import Bodies, Tally
from tacit.core import Bounds, Loss, Number, rational
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, IntArray, Source, bernoulli

_WORTH_IT = 0.61  # below this epsilon the window is never the better half
_GRAIN = 1 << 16


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Report as `Piecewise` with probability `mix`, else as `OneBit`.

    Guarantee:    pure ε-DP with the larger ε of the two, for neighbours that replace a person's number: which one it is
                  does not depend on the number, and the report says it.
    Sensitivity:  one report a person.
    Error:        unbiased; with mix = 1 − e^(−ε/2) (0 for ε ≤ 0.61) its largest variance is below both others'.
    Exactness:    rational chances, exact coins; ε rounded up in the 24th digit.
    Reference:    Wang et al., ICDE 2019 (the hybrid mechanism), here on a grid.
    """

    scale: Scale
    size: int
    lie: Fraction
    flip: Fraction
    mix: Fraction

    def __init__(self, scale: Scale, size: int, lie: Number, *, flip: Number, mix: Number) -> None:
        by_window, in_one = Piecewise(scale, size, lie), OneBit(scale, flip)
        share = rational(mix, "the share of windows")
        if not 0 <= share <= 1:
            raise InvalidParameter("the share of windows must lie between 0 and 1")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "size", by_window.size)
        object.__setattr__(self, "lie", by_window.lie)
        object.__setattr__(self, "flip", in_one.flip)
        object.__setattr__(self, "mix", share)

    @classmethod
    def costing(cls, loss: Loss, *, bounds: Bounds) -> Hybrid:
        """The mix of least worst-case variance for this loss."""
        by_window, in_one = Piecewise.costing(loss, bounds=bounds), OneBit.costing(loss, bounds=bounds)
        epsilon = float(min(loss.epsilon, Fraction(1000)))
        share = Fraction(round(_GRAIN * (1 - math.exp(-epsilon / 2))), _GRAIN) if epsilon > _WORTH_IT else Fraction(0)
        return cls(by_window.scale, by_window.size, by_window.lie, flip=in_one.flip, mix=share)

    @property
    def _window(self) -> Window:
        return Window(self.scale.steps, self.size, self.lie)

    @property
    def _cells(self) -> int:
        return self._window.cells + 2  # the last two are the bits 0 and 1

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return bytes_for(self._cells)

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(self._cells)

    def loss(self) -> Loss:
        """What one report costs."""
        by_bit = OneBit(self.scale, self.flip).loss()
        return Loss(max(self._window.epsilon, by_bit.epsilon))

    def encode(self, values: Numbers, source: Source = SYSTEM) -> Bodies:
        """One report for each number, clamped into the bounds. Both are drawn, one is sent."""
        steps = self.scale.places(values)
        choose = bernoulli(self.mix, steps.size, source=source)
        cells = self._window.draw(steps, source)
        bits = OneBit(self.scale, self.flip).draw(steps, source)
        return to_rows(np.where(choose, cells, self._window.cells + bits), self.width)

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How often each cell and each bit was reported."""
        return cell_tally(bodies, weights, width=self.width, cells=self._cells)

    def estimate(self, tally: Tally) -> Estimate:
        """The unbiased mean."""
        guesses = np.concatenate((self._window.guesses(), OneBit(self.scale, self.flip).guesses()))
        return mean_of(self.scale, guesses, tally.counts, dropped=tally.dropped)
