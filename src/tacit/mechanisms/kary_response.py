"""One of several answers, given with a coin in hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import Loss, Number, PureEvent, decimal_text, probability, rational
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least, spendable
from tacit.mechanisms.response import answers, log_ratio, rarest_lie, response_error
from tacit.noise import SYSTEM, IntArray, Source, bernoulli, uniform_integer


@dataclass(frozen=True, slots=True)
class KaryResponse:
    """Report one of `categories` values truthfully, except with probability `lie`: then any other, evenly.

    Guarantee:    pure ε-DP with ε = ln((1 − lie)(categories − 1) / lie) an answer, for neighbours that replace one
                  person's answers; who took part is not hidden. Needs 0 < lie < 1 − 1/categories.
    Sensitivity:  how many answers one person gives.
    Error:        with r = lie / (categories − 1), the estimate of a count c among n has variance
                  (c lie (1 − lie) + (n − c) r (1 − r)) / (1 − lie − r)²; quantiles of the binomial laws, of all
                  categories at once, at the truth for which they are largest.
    Exactness:    rational lie, exact coins; ε rounded up in the 24th digit.
    Reference:    Warner, JASA 1965; Kairouz, Oh & Viswanath, NeurIPS 2014 (extremal among local mechanisms).
    """

    categories: int
    lie: Fraction

    def __init__(self, categories: int, lie: Number) -> None:
        object.__setattr__(self, "categories", at_least(categories, 2, what="the number of categories"))
        chance = probability(lie, "the chance of a lie")
        if chance * self.categories >= self.categories - 1:
            raise InvalidParameter(
                f"the chance of a lie is too large: at {decimal_text(chance)} the truth is no likelier than any other",
                hint="choose it below 1 − 1/categories",
            )
        object.__setattr__(self, "lie", chance)

    @classmethod
    def costing(cls, loss: Loss, sensitivity: int = 1, *, categories: int) -> KaryResponse:
        """The least lying that costs a person who gives `sensitivity` answers no more than `loss`."""
        each = spendable(loss) / at_least(sensitivity, 1, what="the sensitivity")
        others = at_least(categories, 2, what="the number of categories") - 1
        return cls(categories, rarest_lie(each, others=others))

    @property
    def stray(self) -> Fraction:
        """The chance of any one particular lie."""
        return self.lie / (self.categories - 1)

    def loss(self, sensitivity: int = 1) -> Loss:
        """What a person who gives `sensitivity` answers pays."""
        return Loss(at_least(sensitivity, 1, what="the sensitivity") * log_ratio((1 - self.lie) / self.stray))

    def event(self, sensitivity: int = 1) -> PureEvent:
        """What an accountant needs to know of one person's answers."""
        return PureEvent(self.loss(sensitivity).epsilon)

    def release(self, values: int | Sequence[int] | IntArray, source: Source = SYSTEM) -> IntArray:
        """The reported answers. A lie moves on by 1 to categories − 1 places, round and round."""
        truth = answers(values, categories=self.categories)
        lies = bernoulli(self.lie, truth.size, source=source)
        moves = 1 + uniform_integer(self.categories - 1, truth.size, source=source)
        reported: IntArray = (truth + (lies * moves).reshape(truth.shape)) % self.categories
        return reported

    def estimate(self, reported: IntArray) -> list[Fraction]:
        """Unbiased estimates of how many people truly gave each answer; single ones may fall below zero."""
        counts = np.bincount(answers(reported, categories=self.categories).ravel(), minlength=self.categories)
        n = int(counts.sum())
        return [(int(count) - n * self.stray) / (1 - self.lie - self.stray) for count in counts]

    def variance(self, count: Number, *, respondents: int) -> Fraction:
        """The variance of the estimate of a category that `count` of the respondents truly belong to."""
        true = rational(count, "the count")
        told, strayed = self.lie * (1 - self.lie), self.stray * (1 - self.stray)
        return (true * told + (respondents - true) * strayed) / (1 - self.lie - self.stray) ** 2

    def error(self, confidence: Number, *, respondents: int) -> float:
        """How far, with this confidence, none of the estimated counts strays beyond, whatever the true answers."""
        return response_error(
            self.lie, self.stray, respondents=respondents, confidence=confidence, categories=self.categories
        )
