"""A stranger's measurement of epsilon: what a mechanism gives away is counted, not proved.

Outcomes are drawn on two neighbouring databases, and one event, fixed beforehand, is counted on both. Clopper and
Pearson's bounds on its two probabilities certify ln((p − delta) / p′) from below. That the certificate exceeds the
truth has probability at most `FALSE_ALARM`, half of it for each side.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-6
BLOCK = 1 << 18

Draw = Callable[[int, int], NDArray[np.int64]]  # (side, how many) → outcomes
Event = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


def certified(likely: int, rare: int, *, draws: int, delta: float = 0.0) -> float:
    """A lower bound on epsilon from how often the event happened on either side."""
    if likely == 0:
        return 0.0
    level = FALSE_ALARM / 2
    at_least = float(stats.beta.ppf(level, likely, draws - likely + 1)) - delta
    at_most = float(stats.beta.ppf(1 - level, rare + 1, draws - rare)) if rare < draws else 1.0
    return max(0.0, math.log(at_least / at_most)) if at_least > 0 else 0.0


def audit(draw: Draw, event: Event, *, draws: int, delta: float = 0.0) -> float:
    """The epsilon that `draws` outcomes a side certify."""
    counts = [0, 0]
    for side in (0, 1):
        for start in range(0, draws, BLOCK):
            counts[side] += int(np.count_nonzero(event(draw(side, min(BLOCK, draws - start)))))
    return certified(counts[0], counts[1], draws=draws, delta=delta)
