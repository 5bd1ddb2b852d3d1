"""Laplace noise on whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

from tacit.core import LaplaceEvent, Loss, Number
from tacit.mechanisms.accuracy.geometric import geometric_reach, share
from tacit.mechanisms.accuracy.moments import GeometricMoments
from tacit.mechanisms.additive import noisy
from tacit.mechanisms.limits import movement, narrow, spendable
from tacit.mechanisms.protocol import L1, NoiseLaw
from tacit.noise import (
    MAX_SCALE,
    SYSTEM,
    IntArray,
    Source,
    WideArray,
    two_sided_geometric,
    wide_two_sided_geometric,
)
from tacit.noise.scales import fitting_scale


@dataclass(frozen=True, slots=True)
class Laplace:
    """Add two-sided geometric noise, the Laplace law on whole numbers, to a number or to each of several.

    Values are counted in steps of a public grid; what leaves is in the same steps (`on_grid` shows it as numbers).

    Guarantee:    pure ε-DP with ε = sensitivity / scale. P(noise = k) is proportional to exp(−|k| / scale), so moving
                  the values by v changes the probability of any output by at most exp(‖v‖₁ / scale).
    Sensitivity:  L1 over all the values of one release, in steps, between neighbours of whichever relation is claimed.
    Error:        P(|noise| > t) = 2 q^(t+1) / (1 + q) with q = exp(−1/scale); variance 2q / (1 − q)².
    Exactness:    rational scale, exact law; time independent of the draw. Sums of 64-bit numbers are held at the ends
                  of 64 bits; those of Python's own whole numbers (an array of objects) have no end.
    Reference:    Ghosh, Roughgarden & Sundararajan, STOC 2009; Dwork, McSherry, Nissim & Smith, TCC 2006.
    """

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", fitting_scale(scale))

    @classmethod
    def costing(cls, loss: Loss, sensitivity: Number) -> Laplace:
        """The least noise that costs no more than `loss`."""
        return cls(movement(sensitivity) / spendable(loss))

    def loss(self, sensitivity: Number) -> Loss:
        """What one release costs."""
        return Loss(movement(sensitivity) / self.scale)

    def event(self, sensitivity: Number) -> LaplaceEvent:
        """What an accountant needs to know of one release."""
        return LaplaceEvent(movement(sensitivity) / self.scale)

    def error(self, confidence: Number, *, count: int = 1) -> int:
        """The least t that, with this confidence, none of `count` released values strays beyond, in steps."""
        return geometric_reach(self.scale, share(confidence, count=count))

    @property
    def law(self) -> NoiseLaw:
        """Which noise it is."""
        moments = GeometricMoments(self.scale)
        return NoiseLaw("Laplace", "Laplace of scale", self.scale, L1, unit_variance=2, moments=moments)

    @property
    def variance(self) -> float:
        """2q / (1 − q)², which is 1 / (2 sinh²(1 / (2 scale)))."""
        half = 1 / (2 * self.scale)
        return 0.0 if half > 350 else 0.5 / math.sinh(half) ** 2  # beyond, below the least double

    @overload
    def release(self, values: WideArray, source: Source = SYSTEM) -> WideArray: ...
    @overload
    def release(self, values: int | Sequence[int] | IntArray, source: Source = SYSTEM) -> IntArray: ...
    def release(
        self, values: int | Sequence[int] | IntArray | WideArray, source: Source = SYSTEM
    ) -> IntArray | WideArray:
        """The values with independent noise added to each."""
        return noisy(
            values,
            lambda size: two_sided_geometric(narrow(self.scale, most=MAX_SCALE), size=size, source=source),
            draw_wide=lambda size: wide_two_sided_geometric(self.scale, size, source=source),
        )
