"""The best of a random number of runs: what it costs to try many settings and to tell only the best.

With K drawn from the logarithmic law, P(K = k) = (1 − γ)^k / (k ln(1/γ)), and every run of order-a divergence D(a), the
best of K independent runs has, for every a > 1 and b ≥ 1,

    D'(a) ≤ D(a) + (1 − 1/b) D(b) + ln(1/γ) / b + ln E[K] / (a − 1),   E[K] = (1/γ − 1) / ln(1/γ).

Papernot & Steinke, "Hyperparameter tuning with Rényi differential privacy", ICLR 2022, Theorem 2 at η = 0. Trying all
settings in turn and telling the best of them would cost as much as telling all.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.accounting.renyi import ORDERS, RenyiCurve
from tacit.core import positive
from tacit.core.enclosure import Enclosure
from tacit.errors import InvalidParameter


def stopping_chance(runs: float) -> Fraction:
    """The γ at which a logarithmic number of runs is `runs` on average, or a little less."""
    if not 1 < runs <= 10_000:
        raise InvalidParameter("the expected number of runs lies above 1, and is at most 10000")
    low, high = 1e-9, 1 - 1e-9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / middle - 1) / math.log(1 / middle) > runs else (low, middle)
    return Fraction(high).limit_denominator(10**6) + Fraction(1, 10**6)


def best_of_curve(rho: Fraction, chance: Fraction) -> RenyiCurve:
    """The Rényi curve of the best of a logarithmic number of runs that are rho-zCDP each; every value rounded up."""
    spent = positive(rho, "rho")
    if not 0 < chance < 1:
        raise InvalidParameter("the chance of stopping lies between 0 and 1")
    log_chance = Enclosure.of(1 / chance).log()
    long, short = log_chance.above(), log_chance.below()
    best = Fraction(math.sqrt(float(long / spent))).limit_denominator(10**6)  # or near it: any b from 1 on will do
    other = max(Fraction(1), best)
    more = (other - 1) * spent + long / other
    mean = Enclosure.of((1 / chance - 1) / short).log().above()
    return RenyiCurve(ORDERS, tuple(order * spent + more + mean / (order - 1) for order in ORDERS))
