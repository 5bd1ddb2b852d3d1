"""A number from each person, with Laplace noise of its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate, nothing_to_estimate, root
from tacit.collect.numbers.scale import Numbers, Scale
from tacit.collect.reports import Bodies, Tally, checked_rows, checked_weights
from tacit.core import Bounds, Loss, Number
from tacit.errors import InvalidParameter
from tacit.mechanisms import Laplace
from tacit.noise import SYSTEM, IntArray, Source

_FARTHEST = 1 << 40  # steps: beyond it lies no honest report, but for a chance of exp(−2^20) at the scales allowed


@dataclass(frozen=True, slots=True)
class LocalLaplace:
    """Report the number's grid place with two-sided geometric noise of `noise` steps.

    Guarantee:    pure ε-DP with ε = steps / noise for neighbours that replace a person's number, which moves its place
                  by at most all the steps of the grid.
    Sensitivity:  one report a person.
    Error:        unbiased; variance that of `Laplace`, about 2 noise² steps², whatever the number.
    Exactness:    rational scale, exact law, whole steps.
    Reference:    Dwork, McSherry, Nissim & Smith, TCC 2006, with every person a curator of one row.
    """

    scale: Scale
    noise: Fraction

    def __init__(self, scale: Scale, noise: Number) -> None:
        law = Laplace(noise)
        if law.scale > 1 << 20:
            raise InvalidParameter(
                "the noise is too large: more than 2^20 steps", hint="choose a coarser grid or a larger epsilon"
            )
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "noise", law.scale)

    @classmethod
    def costing(cls, loss: Loss, *, bounds: Bounds) -> LocalLaplace:
        """The least noise that costs no more than `loss`."""
        scale = Scale.of(bounds)
        return cls(scale, Laplace.costing(loss, scale.steps).scale)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return 8

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return 64

    def loss(self) -> Loss:
        """What one report costs."""
        return Laplace(self.noise).loss(self.scale.steps)

    def encode(self, values: Numbers, source: Source = SYSTEM) -> Bodies:
        """One report for each number, clamped into the bounds."""
        noisy = Laplace(self.noise).release(self.scale.places(values), source)
        return np.ascontiguousarray(noisy, dtype="<i8").view(np.uint8).reshape(-1, 8)

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """The sum of the reports and of their squares, exactly."""
        rows = np.ascontiguousarray(checked_rows(bodies, 8))
        numbers = rows.view("<i8").reshape(-1)
        times = checked_weights(weights, numbers.size)
        good = (numbers > -_FARTHEST) & (numbers < _FARTHEST)
        kept = [int(number) for number in numbers[good]]
        sums = [sum(int(w) * x for x, w in zip(kept, times[good], strict=True))]
        sums.append(sum(int(w) * x * x for x, w in zip(kept, times[good], strict=True)))
        return Tally(np.array(sums, dtype=object), int(times[good].sum()), int(times[~good].sum()))

    def estimate(self, tally: Tally) -> Estimate:
        """The unbiased mean."""
        n = tally.reports
        if n < 1:
            raise nothing_to_estimate()
        total, squares = (Fraction(int(part)) for part in tally.counts)
        spread = float((squares - total * total / n) / max(1, n - 1))
        step = float(self.scale.step)
        own = step * root(Laplace(self.noise).variance / n)
        return Estimate(
            np.array([self.scale.shown(float(total / n))]),
            np.array([own]),
            np.array([max(own, step * root(spread / n))]),
            n,
            dropped=tally.dropped,
        )
