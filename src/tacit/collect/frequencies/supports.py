"""Estimates by counting which values each report speaks for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from tacit.collect.estimates import Estimate, Floats, nothing_to_estimate
from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from tacit.collect.reports import Tally


@dataclass(frozen=True, slots=True)
class Support:
    """The chances that a report speaks for its sender's own value, and for any one other value.

    Wang, Blocki, Li & Jha, USENIX Security 2017: where both are the same for all values, (S − n·other) / (own − other)
    estimates without bias how many people have a value, S being how many reports speak for it.
    """

    own: Fraction
    other: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.other < self.own <= 1:
            raise InvalidParameter("the reports say nothing of the truth: they speak for any value alike")

    def variance(self, share: Fraction | float, reports: int) -> float:
        """The variance of an estimated share, for people of whom `share` truly have the value."""
        own, other = float(self.own), float(self.other)
        coins = share * own * (1 - own) + (1 - share) * other * (1 - other)
        return float(coins / (reports * float(self.own - self.other) ** 2))

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased shares from how many reports speak for each value."""
        n = tally.reports
        if n < 1:
            raise nothing_to_estimate()
        gap = float(self.own - self.other)  # exact before it is rounded: at a small ε they are nearly equal
        spoken = tally.counts.astype(np.float64) / n
        values = (spoken - float(self.other)) / gap
        return Estimate(values, self._errors(values, n) / gap, self._sampled(spoken, n) / gap, n, dropped=tally.dropped)

    def _errors(self, values: Floats, n: int) -> Floats:
        """The errors for these very people: the coins' part, at the estimated shares held inside [0, 1]."""
        own, other = float(self.own), float(self.other)
        share = np.clip(values, 0, 1)
        coins = share * own * (1 - own) + (1 - share) * other * (1 - other)
        errors: Floats = np.sqrt(coins / n)
        return errors

    def _sampled(self, spoken: Floats, n: int) -> Floats:
        """The errors for a population: reports are then independent with one chance, which `spoken` estimates."""
        chance = np.clip(spoken, float(self.other), float(self.own))
        errors: Floats = np.sqrt(chance * (1 - chance) / max(1, n - 1))
        return errors
