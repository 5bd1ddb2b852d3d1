"""A number from each person, in one bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate, Floats
from tacit.collect.numbers.piecewise import cell_tally
from tacit.collect.numbers.scale import Numbers, Scale, mean_of
from tacit.collect.ratios import price, ratio_costing
from tacit.collect.reports import Bodies, Tally
from tacit.core import Bounds, Loss, Number
from tacit.mechanisms import RandomisedResponse
from tacit.noise import SYSTEM, IntArray, Source, bernoulli, uniform_integer


@dataclass(frozen=True, slots=True)
class OneBit:
    """Round the number at random to one end of its bounds; report which, flipped with probability `flip`.

    Guarantee:    pure ε-DP with ε = ln((1 − flip) / flip) for neighbours that replace a person's number: the chance of
                  a 1 lies between flip and 1 − flip.
    Sensitivity:  one report a person.
    Error:        unbiased; variance at most ((e^ε + 1) / (e^ε − 1))² of the half width squared.
    Exactness:    rational flip, whole steps, exact coins; ε rounded up in the 24th digit.
    Reference:    Duchi, Jordan & Wainwright, JASA 2018; Ding, Kulkarni & Yekhanin, NeurIPS 2017.
    """

    scale: Scale
    flip: Fraction

    def __init__(self, scale: Scale, flip: Number) -> None:
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "flip", RandomisedResponse(flip).flip)

    @classmethod
    def costing(cls, loss: Loss, *, bounds: Bounds) -> OneBit:
        """The least flipping that costs no more than `loss`."""
        return cls(Scale.of(bounds), 1 / (1 + ratio_costing(loss)))

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return 1

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return 1

    def loss(self) -> Loss:
        """What one report costs."""
        return Loss(price((1 - self.flip) / self.flip))

    def draw(self, indices: IntArray, source: Source) -> IntArray:
        """A bit for each grid place."""
        upper = uniform_integer(self.scale.steps, indices.size, source=source) < indices
        bits: IntArray = (upper ^ bernoulli(self.flip, indices.size, source=source)).astype(np.int64)
        return bits

    def guesses(self) -> Floats:
        """The unbiased guess of the place for a 0 and for a 1."""
        guesses: Floats = self.scale.steps * (np.arange(2.0) - float(self.flip)) / float(1 - 2 * self.flip)
        return guesses

    def encode(self, values: Numbers, source: Source = SYSTEM) -> Bodies:
        """One report for each number, clamped into the bounds."""
        return self.draw(self.scale.places(values), source).astype(np.uint8)[:, np.newaxis]

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How many zeros and ones."""
        return cell_tally(bodies, weights, width=1, cells=2)

    def estimate(self, tally: Tally) -> Estimate:
        """The unbiased mean."""
        return mean_of(self.scale, self.guesses(), tally.counts, dropped=tally.dropped)
