"""Tell, compare, and stop at the first that is good enough: noise reduction, with a comparison that pays once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.core import Adjacency, Loss
from tacit.learn.accuracy.problems import Problem
from tacit.learn.sums.moments import GRID
from tacit.mechanisms import AboveThreshold, GradualRelease, Laplace
from tacit.noise import Source

LOSS_STEPS = 64  # steps of one in a loss
ROUNDED = 2  # steps by which a minimum that is found numerically may be off, on either side
FIRST, RATIO = Fraction(1, 20), Fraction(11, 10)  # the prices that are tried
_MISTAKEN, _MISCOUNTED = 0.04, 0.01  # together: a yes is right nineteen times in twenty
_WRONG = Fraction(4, 5)  # of what is asked for: by so much a comparison may be wrong


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Weights, and what they cost.

    `spent` is what the tellings that were looked at and the comparisons cost; `reserved` the most that it could have
    been. `is_good`: whether they were found to be as good as asked.
    """

    weights: NDArray[np.float64]
    spent: Loss
    reserved: Loss
    comparing: Loss
    tellings: int
    is_good: bool


def told_until_good(
    problem: Problem,
    comparing: AboveThreshold,
    prices: Sequence[Fraction],
    *,
    ridge: float,
    source: Source,
    times: int = 1,
) -> Reached:
    """The weights of the first telling that the comparison finds good enough, or of the last."""
    telling = GradualRelease.costing([Loss(price) for price in prices], problem.moved)
    run = comparing.start(source)
    for index, sums in enumerate(telling.release(problem.sums, source)):
        noise = float(telling.scales[index]) / GRID**2
        weights = problem.solved(sums, ridge + noise, noise)
        if run.ask(-round(LOSS_STEPS * (problem.loss(weights) - problem.least))):
            break
    paid = comparing.loss(excess_moves(problem.most_loss, times=times))
    return Reached(
        weights,
        paid + telling.loss(problem.moved, tellings=index + 1),
        paid + telling.loss(problem.moved),
        paid,
        index + 1,
        is_good=not run.hits_left,
    )


def excess_moves(most_loss: float, *, times: int = 1) -> int:
    """How far one unit moves what is compared: a row adds to a loss and to the least between nothing and the most."""
    return times * math.ceil(LOSS_STEPS * most_loss) + 2 * ROUNDED


def comparison_at(epsilon: Fraction, sensitivity: int, *, room: int) -> AboveThreshold:
    """One that says yes to an excess below the room, in steps."""
    return AboveThreshold.costing(Loss(epsilon), sensitivity, threshold=-room, hits=1, adjacency=Adjacency.ADD_REMOVE)


def cheapest_comparison(
    alpha: Fraction, rows: int, *, sensitivity: int, questions: int, most: Fraction
) -> AboveThreshold:
    """The cheapest that is wrong by no more than four fifths of what is asked for, as often as `mistaken` says.

    The last fifth is left to the model: what is told is cheap beside comparing. It costs no more than `most`; where
    that does not do, there is no room in which a yes would be right.
    """
    asked = math.floor(alpha * rows * LOSS_STEPS)
    at_one = mistaken(comparison_at(Fraction(1), sensitivity, room=0), questions)  # it falls as epsilon rises
    needed = Fraction(math.ceil(1_000 * at_one / max(_WRONG * asked, Fraction(1))), 1_000)
    epsilon = min(max(needed, Fraction(1, 100)), most)
    off = mistaken(comparison_at(epsilon, sensitivity, room=0), questions)
    return comparison_at(epsilon, sensitivity, room=asked - off)


def rows_at_least(rows: int, *, epsilon: Fraction, times: int, source: Source) -> int:
    """A number of rows that is not too large, ninety-nine times in a hundred: a noisy count, less what noise may do."""
    counting = Laplace.costing(Loss(epsilon), times)
    above = math.ceil(float(counting.scale) * math.log(1 / (2 * _MISCOUNTED)))
    return max(1, int(counting.release([rows], source)[0]) - above)


def mistaken(comparing: AboveThreshold, questions: int) -> int:
    """How far beyond the room an excess may lie that is called good, but four times in a hundred.

    A yes is wrong by more than t where a question's noise is above the threshold's by more than t. For Laplace noises
    of scales a and b that has the probability (b² e^(−t/b) − a² e^(−t/a)) / (2 b² − 2 a²), for each question; noise in
    whole numbers is within one of Laplace noise. A no that should have been a yes costs more, and nothing else.
    """
    a, b = float(comparing.threshold_scale), float(comparing.query_scale) * (1 + 1e-9)
    chance = _MISTAKEN / questions

    def tail(t: float) -> float:
        return (b * b * math.exp(-t / b) - a * a * math.exp(-t / a)) / (2 * (b * b - a * a))

    low, high = 0.0, 64 * (a + b)
    while high - low > 1:
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > chance else (low, middle)
    return math.ceil(high) + 2


def tried_prices(dearest: Fraction) -> list[Fraction]:
    """The prices of tellings, from the cheapest on."""
    prices = [FIRST]
    while prices[-1] * RATIO <= dearest:
        prices.append((prices[-1] * RATIO).limit_denominator(10**6))
    return prices
