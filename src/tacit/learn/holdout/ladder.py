"""A leaderboard whose best score cannot be climbed by guessing: the Ladder."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.core import Number, rational
from tacit.errors import InvalidParameter
from tacit.learn.holdout.rows import values_of

Floats = NDArray[np.float64]


class Ladder:
    """Scores submissions by their mean loss on held-back rows, and tells only of improvements that are real.

    A submission whose loss is not better than the best so far by at least a step gets the best score again: what an
    attacker learns from k submissions is the few that were better, not k scores. Without a `step` it is one standard
    error of the difference between the submission and the best one, so that no number has to be chosen.

    Guarantee:    after k adaptive submissions the best score told is within order (ln(k n) / n)^(1/3) of the true loss
                  of that submission, at the best step; a board that shows every score is led astray by √(k / n). It is
                  not differential privacy: scores have no noise.
    Reference:    Blum & Hardt, "The Ladder: a reliable leaderboard for machine learning competitions", ICML 2015.
    """

    def __init__(self, rows: int, *, step: Number | None = None) -> None:
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise InvalidParameter("a leaderboard has at least one held-back row")
        self.rows = rows
        self.step = None if step is None else rational(step, "the step")
        if self.step is not None and self.step <= 0:
            raise InvalidParameter("the step must be greater than zero")
        self._best: float = math.inf
        self._losses: Floats | None = None
        self.submissions = 0

    @property
    def best(self) -> float:
        """The best loss that was told; infinite before the first submission."""
        return self._best

    def submit(self, losses: ArrayLike) -> float:
        """The score of a submission, given its loss for each held-back row (0 or 1 for right and wrong)."""
        values = values_of(np.asarray(losses)[:, None], rows=self.rows)[:, 0].astype(np.float64)
        self.submissions += 1
        mean = float(values.mean())
        if self._losses is None or mean < self._best - self._needed(values):
            self._best, self._losses = self._rounded(mean), values
        return self._best

    def _needed(self, values: Floats) -> float:
        """By how much a submission must be better than the best one."""
        if self.step is not None:
            return float(self.step)
        apart = values - (self._losses if self._losses is not None else 0.0)
        return float(apart.std(ddof=1)) / math.sqrt(self.rows) if self.rows > 1 else 0.0

    def _rounded(self, mean: float) -> float:
        step = Fraction(1, self.rows) if self.step is None else self.step
        return float(round(Fraction(mean) / step) * step)
