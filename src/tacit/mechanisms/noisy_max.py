"""The index of the largest noisy score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Adjacency, Loss, Number, PureEvent
from tacit.mechanisms.accuracy.geometric import difference_reach, share
from tacit.mechanisms.accuracy.noisy_max import losing
from tacit.mechanisms.limits import (
    MAX_COMPARED_SCALE,
    at_least,
    comparable,
    movement,
    one_direction,
    score_row,
    spendable,
)
from tacit.noise import SYSTEM, IntArray, Source, saturating_add, two_sided_geometric
from tacit.noise.choice import one_of_each_row
from tacit.noise.scales import fitting_scale


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """Add two-sided geometric noise to each score and report the index of the largest, ties broken evenly.

    The index only: the noisy value of the winner would cost more.

    Guarantee:    pure ε-DP with ε = 2 · sensitivity / scale, or sensitivity / scale where a neighbour moves all scores
                  one way (`monotone`, add/remove only; counts under replace are not). Fix a random order that settles
                  ties, and the noise of all candidates but i. Then i wins exactly when its noise is at least some whole
                  t, and a neighbour moves t by at most twice the sensitivity (once, if monotone). With
                  q = exp(−1/scale), S(t) = P(noise ≥ t) is q^t / (1 + q) for t ≥ 0 and 1 − q^(1−t) / (1 + q) for t ≤ 0,
                  so S(t + 1) − q S(t) is 0 or (1 − q)(1 − q^(−t)), never negative: a step of t costs at most 1/scale.
    Sensitivity:  the most that one unit moves any single score.
    Error:        P(best − chosen > t) with m candidates is largest where one leads and all others lie t + 1 behind;
                  it is summed there (`noisy_max_error`), and at most (m − 1) P(noise − noise′ > t).
    Exactness:    rational scale, whole scores, exact law; scores are first clamped to ±2^61, so that no sum saturates.
    Reference:    Dwork & Roth 2014, section 3.3 (there for counts under add/remove); Ding, Kifer et al. 2021.
    """

    scale: Fraction
    adjacency: Adjacency
    monotone: bool = False

    def __init__(self, scale: Number, *, adjacency: Adjacency, monotone: bool = False) -> None:
        one_direction(adjacency, monotone=monotone)
        object.__setattr__(self, "scale", fitting_scale(scale, most=MAX_COMPARED_SCALE))
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "monotone", monotone)

    @classmethod
    def costing(cls, loss: Loss, sensitivity: Number, *, adjacency: Adjacency, monotone: bool = False) -> NoisyMax:
        """The least noise that costs no more than `loss`."""
        scale = movement(sensitivity) * (1 if monotone else 2) / spendable(loss)
        return cls(scale, adjacency=adjacency, monotone=monotone)

    def loss(self, sensitivity: Number) -> Loss:
        """What one choice costs."""
        return Loss(movement(sensitivity) * (1 if self.monotone else 2) / self.scale)

    def event(self, sensitivity: Number) -> PureEvent:
        """What an accountant needs to know of one choice."""
        return PureEvent(self.loss(sensitivity).epsilon)

    def error(self, confidence: Number, *, candidates: int) -> int:
        """The least t that, with this confidence, the chosen score lies at most t below the best.

        For scales of hundreds of steps and more it may be larger by a thousandth of the scale.
        """
        failing = share(confidence)
        others = at_least(candidates, 1, what="the number of candidates") - 1
        low, high = -1, difference_reach(self.scale, failing / others) if others else 0
        while high - low > 1:
            middle = (low + high) // 2
            if losing(self.scale, middle + 1, others=others) <= failing:
                high = middle
            else:
                low = middle
        return high

    def release(self, scores: Sequence[int] | IntArray, source: Source = SYSTEM) -> int:
        """The index of the chosen candidate."""
        return int(self.simulate(scores, 1, source=source)[0])

    def simulate(self, scores: Sequence[int] | IntArray, times: int, *, source: Source = SYSTEM) -> IntArray:
        """Independent repetitions, for audits and simulations: each of them costs the loss again."""
        row = comparable(score_row(scores))
        noise = two_sided_geometric(self.scale, size=times * row.size, source=source)
        noisy = saturating_add(row, noise.reshape(times, row.size))  # one repetition a row
        return one_of_each_row(noisy == noisy.max(axis=1, keepdims=True), source=source)
