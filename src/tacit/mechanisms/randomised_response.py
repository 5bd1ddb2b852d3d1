"""Yes or no, answered with a coin in hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Loss, Number, PureEvent, decimal_text, probability
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least, spendable
from tacit.mechanisms.response import answers, log_ratio, rarest_lie, response_error
from tacit.noise import SYSTEM, IntArray, Source, bernoulli


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """Report each yes (1) or no (0) truthfully, except with probability `flip`.

    Guarantee:    pure ε-DP with ε = ln((1 − flip) / flip) an answer, for neighbours that replace one person's answers;
                  who took part is not hidden. Needs 0 < flip < 1/2: no other bit can be kept secret or told.
    Sensitivity:  how many answers one person gives.
    Error:        the estimate of n people's count has variance n flip (1 − flip) / (1 − 2 flip)², whatever the truth,
                  and its quantiles are those of the binomial law, at the truth for which they are largest.
    Exactness:    rational flip, exact coin; ε rounded up in the 24th digit.
    Reference:    Warner, JASA 1965; Kasiviswanathan et al., FOCS 2008.
    """

    flip: Fraction

    def __init__(self, flip: Number) -> None:
        chance = probability(flip, "the chance of a flip")
        if 2 * chance >= 1:
            raise InvalidParameter(
                f"the chance of a flip must be below 1/2: at {decimal_text(chance)} answers say nothing of the truth"
            )
        object.__setattr__(self, "flip", chance)

    @classmethod
    def costing(cls, loss: Loss, sensitivity: int = 1) -> RandomisedResponse:
        """The least flipping that costs a person who gives `sensitivity` answers no more than `loss`."""
        each = spendable(loss) / at_least(sensitivity, 1, what="the sensitivity")
        return cls(rarest_lie(each, others=1))

    @classmethod
    def two_coin(cls, truth: Number = Fraction(1, 2)) -> RandomisedResponse:
        """The protocol of two coins: the truth if the first coin shows heads, else what a fair second coin says.

        With a fair first coin: 3/4 of those for whom it is true say yes, 1/4 of the others, and ε = ln 3.
        """
        return cls((1 - probability(truth, "the chance of telling the truth")) / 2)

    def loss(self, sensitivity: int = 1) -> Loss:
        """What a person who gives `sensitivity` answers pays."""
        return Loss(at_least(sensitivity, 1, what="the sensitivity") * log_ratio((1 - self.flip) / self.flip))

    def event(self, sensitivity: int = 1) -> PureEvent:
        """What an accountant needs to know of one person's answers."""
        return PureEvent(self.loss(sensitivity).epsilon)

    def release(self, values: int | Sequence[int] | IntArray, source: Source = SYSTEM) -> IntArray:
        """The reported answers."""
        truth = answers(values, categories=2)
        flipped: IntArray = truth ^ bernoulli(self.flip, truth.size, source=source).reshape(truth.shape)
        return flipped

    def estimate(self, yes: int, *, respondents: int) -> Fraction:
        """An unbiased estimate of how many respondents truly are a yes; it may fall outside [0, respondents]."""
        return (yes - respondents * self.flip) / (1 - 2 * self.flip)

    def variance(self, *, respondents: int) -> Fraction:
        """The variance of `estimate` for given people, whatever their true answers."""
        return respondents * self.flip * (1 - self.flip) / (1 - 2 * self.flip) ** 2

    def sampled_variance(self, yes: int, *, respondents: int) -> Fraction:
        """The estimated variance of the estimated *proportion*, the people being a random sample of a population.

        Unbiased: reported answers are then independent with one chance λ, and yes (n − yes) / (n (n − 1)) estimates
        λ (1 − λ). It holds the sampling error as well as the coins'.
        """
        n = at_least(respondents, 2, what="the number of respondents")
        return Fraction(yes * (n - yes), n * n * (n - 1)) / (1 - 2 * self.flip) ** 2

    def error(self, confidence: Number, *, respondents: int) -> float:
        """How far the estimate of the count strays at most, with this confidence, whatever the true answers."""
        return response_error(self.flip, self.flip, respondents=respondents, confidence=confidence, categories=2)
