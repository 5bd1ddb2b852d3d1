"""Scores for a quantile: how far each grid cell is from holding the wanted rank."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tacit.mechanisms.protocol import NoisyChoice
from tacit.noise import IntArray
from tacit.sql import Quantile


def quantile_scores(counts: IntArray, measure: Quantile, choice: NoisyChoice, *, rows: int) -> IntArray:
    """The score of every cell, 0 for the best and less for others; one row moves any score by at most its weight.

    With share a/b, cell c holds the quantile when (b − a) · below(c) ≤ a · (not below c) and a · above(c) ≤ (b − a) ·
    (not above c). Its score is minus the larger violation. One more row changes each side by at most max(a, b − a).
    An extreme asks for a fixed number of rows from its end, far enough in that noise rarely leads outside the data.
    """
    at_or_below = np.cumsum(counts)
    below = at_or_below - counts
    total = int(at_or_below[-1]) if counts.size else 0
    if measure.share is None:
        depth = extreme_depth(choice, cells=counts.size, rows=rows)
        if measure.from_top:
            below, at_or_below = total - at_or_below, total - below
        return _minus_worse(below - depth, depth - at_or_below)
    a, b = measure.share.numerator, measure.share.denominator
    left = (b - a) * below - a * (total - below)
    right = a * (total - at_or_below) - (b - a) * at_or_below
    return _minus_worse(left, right)


def _minus_worse(one: IntArray, other: IntArray) -> IntArray:
    score: IntArray = -np.maximum(np.maximum(one, other), 0)
    return score


def extreme_depth(choice: NoisyChoice, *, cells: int, rows: int) -> int:
    """How many rows from the end an extreme looks: half of what the choice may err by, from public numbers alone."""
    reach = math.log(max(2, cells)) / float(choice.law.size)
    return max(rows, math.ceil(reach))


def rank_error(measure: Quantile, choice: NoisyChoice, *, cells: int, confidence: Fraction) -> float:
    """How many rows the chosen value may be away from the wanted rank, at this confidence."""
    worst = choice.error(confidence, candidates=cells)
    weight = measure.share.denominator if measure.share is not None else 1
    return float(worst) / weight
