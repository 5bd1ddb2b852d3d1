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
from tacit.mechanisms import AboveThreshold, GradualRelease
from tacit.noise import Source

LOSS_STEPS = 64  # steps of one in a loss
ROUNDED = 2  # steps by which a minimum that is found numerically may be off, on either side
FIRST, RATIO = Fraction(1, 20), Fraction(11, 10)  # the prices that are tried
_SURE = Fraction(19, 20)


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
        weights = problem.solved(sums, ridge + float(telling.scales[index]) / GRID**2)
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


def cheapest_comparison(alpha: Fraction, rows: int, *, sensitivity: int, questions: int) -> AboveThreshold:
    """The cheapest whose own error is at most half of what is asked for, nineteen times in twenty."""
    room = math.floor(alpha * rows * LOSS_STEPS / 2)
    epsilon = Fraction(1, 100)
    while error_of(comparison_at(epsilon, sensitivity, room=room), questions) > room and epsilon < 1_000:
        epsilon = (epsilon * Fraction(21, 20)).limit_denominator(10**6)
    return comparison_at(epsilon, sensitivity, room=room)


def error_of(comparing: AboveThreshold, questions: int) -> int:
    """How far off its answers are, nineteen times in twenty."""
    return comparing.error(_SURE, questions=questions)


def tried_prices(dearest: Fraction) -> list[Fraction]:
    """The prices of tellings, from the cheapest on."""
    prices = [FIRST]
    while prices[-1] * RATIO <= dearest:
        prices.append((prices[-1] * RATIO).limit_denominator(10**6))
    return prices
