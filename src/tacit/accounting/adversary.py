"""The Bayesian adversary: how far answers can move a belief about one person, and what that person can still deny."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from tacit.accounting.composition import repetitions
from tacit.core import Loss, Number, positive, probability, rational
from tacit.core.enclosure import Enclosure
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Belief:
    """Between which bounds a posterior probability must lie."""

    low: Fraction
    high: Fraction

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float | Fraction) and self.low <= value <= self.high


def odds_factor(epsilon: Number, answers: int = 1) -> Fraction:
    """The most by which the odds of any fact about one unit can change: e^(T epsilon), rounded up."""
    return Enclosure.of(_not_negative(epsilon) * repetitions(answers)).exp().above()


def posterior(prior: Number, epsilon: Number, *, answers: int = 1) -> Belief:
    """Where a belief held with probability `prior` must lie after that many epsilon-DP answers, rounded outwards.

    Odds times e^(+-T epsilon): x e^(T epsilon) / (x e^(T epsilon) + 1 - x), and the same with the sign turned.
    """
    before = probability(prior, "the prior")
    shrink = Enclosure.of(-_not_negative(epsilon) * repetitions(answers)).exp()
    odds = before / (1 - before)
    high = Enclosure.of(1) / (shrink / odds + 1)
    low = shrink * odds / (shrink * odds + 1)
    return Belief(max(Fraction(0), low.below()), min(Fraction(1), high.above()))


def best_guess(loss: Loss) -> Fraction:
    """How often the best guess between two equally likely neighbours is right: (e^epsilon + delta) / (1 + e^epsilon).

    Attained by randomised response. Rounded up, so it is a bound on every attacker.
    """
    shrink = Enclosure.of(-loss.epsilon).exp()
    return min(Fraction(1), ((shrink * loss.delta + 1) / (shrink + 1)).above())


def randomised_response_posterior(prior: Number, flip: Number) -> Fraction:
    """The probability that the truth is yes after a yes that was flipped with probability `flip`, exactly."""
    before, p = probability(prior, "the prior"), probability(flip, "the flip probability")
    return (1 - p) * before / ((1 - p) * before + p * (1 - before))


def answers_to_believe(prior: Number, belief: Number, *, epsilon: Number) -> int:
    """The fewest epsilon-DP answers after which a belief could have risen from `prior` to `belief`.

    Before that many the person can deny: no adversary, whatever the answers were, may be so sure.
    """
    before, after = probability(prior, "the prior"), probability(belief, "the belief")
    if after <= before:
        return 0
    ratio = after * (1 - before) / (before * (1 - after))
    return max(1, math.ceil((Enclosure.of(ratio).log() / positive(epsilon, "epsilon")).below()))


def answers_to_average(epsilon: Number, *, confidence: Number) -> int:
    """About how many fresh Laplace answers to one counting query, averaged, tell n from n - 1 with this confidence.

    The mean of m answers is within 1/2 of the truth when z sqrt(2 / m) / epsilon <= 1/2: m = 8 (z / epsilon)², by the
    central limit theorem. An estimate of an attack, not a guarantee; the budget it needs is m epsilon.
    """
    level = float(probability(confidence, "the confidence"))
    z = NormalDist().inv_cdf((1 + level) / 2)
    return round(8 * z**2 / float(positive(epsilon, "epsilon")) ** 2)


def _not_negative(epsilon: Number) -> Fraction:
    exact = rational(epsilon, "epsilon")
    if exact < 0:
        raise InvalidParameter(f"epsilon must not be negative: got {decimal_text(exact)}")
    return exact
