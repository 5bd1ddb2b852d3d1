"""A choice at least as good as the exponential mechanism's, for the same price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from tacit.core import Adjacency, Loss, Number, PureEvent, positive
from tacit.core.enclosure import DIGITS, down, exp_above, exp_below, up
from tacit.mechanisms.accuracy.geometric import selection_reach, share
from tacit.mechanisms.limits import at_least, movement, one_direction, score_row, spendable
from tacit.mechanisms.protocol import L1, NoiseLaw
from tacit.noise import SYSTEM, IntArray, Source, keep_each
from tacit.noise.choice import one_of_each_row


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """Keep each candidate with probability exp(−rate · (best − score)), then choose one of those kept, evenly.

    Visiting candidates in random order and stopping at the first one kept, as the paper has it, is the same: of those
    kept, each is as likely as any other to come first. The best is always kept.

    Guarantee:    pure ε-DP with ε = 2 · rate · sensitivity, or rate · sensitivity where a neighbour moves all scores
                  one way (`monotone`, add/remove only). For add to each score exponential noise of this rate and
                  report the largest: the noise is memoryless, so candidates pass the best score with the chances above,
                  and by how much is alike for all that do. That is this mechanism. Given the others' noise, i wins
                  when its own passes some t; a neighbour moves t by at most twice the sensitivity (once, if monotone),
                  and P(noise ≥ t + c) ≥ exp(−rate · c) P(noise ≥ t).
    Sensitivity:  the most that one unit moves any single score.
    Error:        P(best − chosen ≥ g) ≤ 1 − (1 − (1 − p)^m) / (m p) with p = exp(−rate · g), m candidates, reached when
                  one leads and all others lie g behind; never above the exponential mechanism's.
    Exactness:    rational rate, whole scores, exact coins.
    Reference:    McKenna & Sheldon, NeurIPS 2020; Ding, Kifer et al. 2021 (as noisy max with exponential noise).
    """

    rate: Fraction
    adjacency: Adjacency
    monotone: bool = False

    def __init__(self, rate: Number, *, adjacency: Adjacency, monotone: bool = False) -> None:
        one_direction(adjacency, monotone=monotone)
        object.__setattr__(self, "rate", positive(rate, "the rate"))
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "monotone", monotone)

    @classmethod
    def costing(
        cls, loss: Loss, sensitivity: Number, *, adjacency: Adjacency, monotone: bool = False
    ) -> PermuteAndFlip:
        """The sharpest choice that costs no more than `loss`."""
        rate = spendable(loss) / (movement(sensitivity) * (1 if monotone else 2))
        return cls(rate, adjacency=adjacency, monotone=monotone)

    def loss(self, sensitivity: Number) -> Loss:
        """What one choice costs."""
        return Loss(self.rate * movement(sensitivity) * (1 if self.monotone else 2))

    def event(self, sensitivity: Number) -> PureEvent:
        """What an accountant needs to know of one choice."""
        return PureEvent(self.loss(sensitivity).epsilon)

    @property
    def law(self) -> NoiseLaw:
        """Which choice it is."""
        return NoiseLaw("PermuteAndFlip", "permute-and-flip at rate", self.rate, L1, is_added=False)

    def error(self, confidence: Number, *, candidates: int) -> int:
        """The least t that, with this confidence, the chosen score lies at most t below the best."""
        failing = share(confidence)
        m = at_least(candidates, 1, what="the number of candidates")
        low, high = -1, selection_reach(self.rate, (m - 1) * (1 - failing) / failing)  # the exponential mechanism's
        while high - low > 1:
            middle = (low + high) // 2
            if Fraction(_missing(self.rate * (middle + 1), m)) <= failing:
                high = middle
            else:
                low = middle
        return high

    def release(self, scores: Sequence[int] | IntArray, source: Source = SYSTEM) -> int:
        """The index of the chosen candidate."""
        return int(self.simulate(scores, 1, source=source)[0])

    def simulate(self, scores: Sequence[int] | IntArray, times: int, *, source: Source = SYSTEM) -> IntArray:
        """Independent repetitions, for audits and simulations: each of them costs the loss again."""
        row = score_row(scores)
        kept = keep_each(np.tile(row, times), self.rate, source=source)  # the best is the same in every repetition
        return one_of_each_row(kept.reshape(times, row.size), source=source)


def _missing(exponent: Fraction, candidates: int) -> Decimal:
    """1 − (1 − (1 − p)^m) / (m p) for p = exp(−exponent), rounded up."""
    low, high = exp_below(-exponent), exp_above(-exponent)
    floor, roof = down(DIGITS), up(DIGITS)
    none_kept = roof.power(roof.subtract(1, low), candidates)
    missing = floor.divide(floor.subtract(1, roof.next_plus(none_kept)), roof.multiply(candidates, high))
    return roof.subtract(1, max(Decimal(0), missing))
