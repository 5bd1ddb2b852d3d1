"""The distribution of a number, from reports by a sliding window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate, Floats, nothing_to_estimate
from tacit.collect.integers import bits_for, bytes_for, to_rows
from tacit.collect.numbers.piecewise import cell_tally
from tacit.collect.numbers.scale import Numbers, Scale
from tacit.collect.numbers.windows import Window, lie_for
from tacit.collect.ratios import ratio_costing
from tacit.collect.reports import Bodies, Tally, checked_rows
from tacit.core import Bounds, Loss, Number
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, IntArray, Source

MOST_PLACES = 4096
_ROUNDS = 10_000


@dataclass(frozen=True, slots=True)
class SquareWave:
    """Report a cell near the number's place with probability 1 − `lie`, else any other; the window is sized for shapes.

    Guarantee:    pure ε-DP with ε = ln((1 − lie) / lie · steps / size) for neighbours that replace a person's number.
    Sensitivity:  one report a person.
    Error:        `estimate` is unbiased, place by place, with standard errors; `reconstruct` is smoother and biased.
    Exactness:    rational lie, exact coins, whole cells; ε rounded up in the 24th digit.
    Reference:    Li, Wang, Lopuhaä-Zwakenberg, Škorić & Li, SIGMOD 2020.
    """

    scale: Scale
    size: int
    lie: Fraction

    def __init__(self, scale: Scale, size: int, lie: Number) -> None:
        window = Window(scale.steps, size, lie)
        if scale.steps >= MOST_PLACES:
            raise InvalidParameter(
                f"the grid is too fine for a distribution: at most {MOST_PLACES} places", hint="choose a larger step"
            )
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "size", window.size)
        object.__setattr__(self, "lie", window.lie)

    @classmethod
    def costing(cls, loss: Loss, *, bounds: Bounds) -> SquareWave:
        """The window that tells most of a uniform number, and the least lying that costs no more than `loss`."""
        ratio, scale = ratio_costing(loss), Scale.of(bounds)
        size = max(1, round(_wave(float(min(loss.epsilon, Fraction(1000)))) * (scale.steps + 1)))
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
        return cell_tally(checked_rows(bodies, self.width), weights, width=self.width, cells=self.window.cells)

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased shares of each place, by least squares: noisy, and honest about it."""
        n = _reports(tally)
        backwards = np.linalg.pinv(self.window.chances())
        seen = tally.counts.astype(np.float64) / n
        values = backwards @ seen
        spread = (backwards**2) @ seen - values**2  # a report is one cell: multinomial
        sampled = np.sqrt(np.maximum(spread, 0) / max(1, n - 1))
        return Estimate(values, sampled, sampled, n, dropped=tally.dropped)

    def reconstruct(self, tally: Tally, *, smooth: bool = True) -> Estimate:
        """The likeliest distribution, by expectation and maximisation; with `smooth` neighbours are blended (EMS).

        Biased, and much nearer the truth as a whole where the truth is smooth.
        """
        n = _reports(tally)
        chances = self.window.chances()
        seen = tally.counts.astype(np.float64) / n
        shares = np.full(self.scale.steps + 1, 1 / (self.scale.steps + 1))
        least = 1e-3 * math.exp(float(self.window.epsilon)) / n if not smooth else 1e-3 / n
        likelihood = -math.inf
        for _ in range(_ROUNDS):
            expected = chances @ shares
            shares = shares * (chances.T @ (seen / expected))
            shares = _blend(shares) if smooth else shares
            shares /= shares.sum()
            before, likelihood = likelihood, float(seen @ np.log(chances @ shares))
            if abs(likelihood - before) < least:
                break
        unknown = np.full(shares.size, np.nan)
        return Estimate(shares, unknown, unknown, n, dropped=tally.dropped, biased=True)


def _reports(tally: Tally) -> int:
    if tally.reports < 1:
        raise nothing_to_estimate()
    return tally.reports


def _blend(shares: Floats) -> Floats:
    """Each place with its neighbours, by weights 1, 2, 1; the ends have only one."""
    padded = np.concatenate((shares[:1], shares, shares[-1:]))
    blended: Floats = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    return blended


def _wave(epsilon: float) -> float:
    """The width of the window as a part of the range: (ε e^ε − e^ε + 1) / (e^ε (e^ε − 1 − ε)); 1 as ε goes to 0."""
    if epsilon < 1e-3:
        return 1.0
    if epsilon > 500:
        return 0.0
    rise = math.exp(epsilon)
    return (epsilon * rise - rise + 1) / (rise * (rise - 1 - epsilon))
