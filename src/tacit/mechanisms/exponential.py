"""A choice whose odds grow exponentially with its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Adjacency, BoundedRangeEvent, Loss, Number, positive
from tacit.mechanisms.accuracy.geometric import selection_reach, share
from tacit.mechanisms.limits import at_least, movement, one_direction, score_row, spendable
from tacit.mechanisms.protocol import L1, NoiseLaw
from tacit.noise import SYSTEM, IntArray, Source
from tacit.noise.choice import categorical_array


@dataclass(frozen=True, slots=True)
class Exponential:
    """Choose index i with probability proportional to exp(rate · score[i]).

    Guarantee:    pure ε-DP with ε = 2 · rate · sensitivity: the weight chosen and the sum of all weights each change by
                  at most exp(rate · sensitivity). Where a neighbour moves all scores one way (`monotone`, add/remove
                  only), they change in the same direction and cannot both work against us: ε = rate · sensitivity.
                  Of bounded range ε too: all log-odds share the change of the sum, and differ by no more than ε.
    Sensitivity:  the most that one unit moves any single score.
    Error:        with m candidates, P(best − chosen ≥ g) ≤ x / (1 + x) with x = (m − 1) exp(−rate · g), reached when
                  one candidate leads and all others lie g behind; below the usual m exp(−rate · g).
    Exactness:    rational rate, whole scores, exact law at any spread of scores.
    Reference:    McSherry & Talwar, FOCS 2007; Dwork & Roth 2014, section 3.4.
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
    def costing(cls, loss: Loss, sensitivity: Number, *, adjacency: Adjacency, monotone: bool = False) -> Exponential:
        """The sharpest choice that costs no more than `loss`."""
        rate = spendable(loss) / (movement(sensitivity) * (1 if monotone else 2))
        return cls(rate, adjacency=adjacency, monotone=monotone)

    def loss(self, sensitivity: Number) -> Loss:
        """What one choice costs."""
        return Loss(self.rate * movement(sensitivity) * (1 if self.monotone else 2))

    def event(self, sensitivity: Number) -> BoundedRangeEvent:
        """What an accountant needs to know of one choice."""
        return BoundedRangeEvent(self.loss(sensitivity).epsilon)

    @property
    def law(self) -> NoiseLaw:
        """Which choice it is."""
        return NoiseLaw("Exponential", "exponential mechanism at rate", self.rate, L1, is_added=False)

    def error(self, confidence: Number, *, candidates: int) -> int:
        """The least t that, with this confidence, the chosen score lies at most t below the best."""
        failing = share(confidence)
        others = at_least(candidates, 1, what="the number of candidates") - 1
        return selection_reach(self.rate, others * (1 - failing) / failing)

    def release(self, scores: Sequence[int] | IntArray, source: Source = SYSTEM) -> int:
        """The index of the chosen candidate."""
        return int(self.simulate(scores, 1, source=source)[0])

    def simulate(self, scores: Sequence[int] | IntArray, times: int, *, source: Source = SYSTEM) -> IntArray:
        """Independent repetitions, for audits and simulations: each of them costs the loss again."""
        return categorical_array(score_row(scores), self.rate, size=times, source=source)
