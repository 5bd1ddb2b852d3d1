"""What an answer costs in grains, and the limit on it: whole copies of one small randomised response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.rational import Number, decimal_text, positive, rational
from tacit.core.running_sum import added
from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Grains:
    """No more than `count` randomised responses of epsilon = `grain` would tell, but for events of mass delta."""

    grain: Fraction
    count: int
    delta: Fraction = Fraction(0)

    def __init__(self, grain: Number, count: int, delta: Number = 0) -> None:
        object.__setattr__(self, "grain", positive(grain, "the grain"))
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "delta", rational(delta, "delta"))
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InvalidParameter(f"grains are counted in whole numbers, none below zero: got {count!r}")
        if not 0 <= self.delta <= 1:
            raise InvalidParameter(f"delta must lie between 0 and 1: got {decimal_text(self.delta)}")

    def __add__(self, other: Grains) -> Grains:
        self._same(other)
        return Grains(self.grain, self.count + other.count, min(Fraction(1), added(self.delta, other.delta)))

    def within(self, other: Grains) -> bool:
        """Whether this costs no more than `other` in both parts."""
        self._same(other)
        return self.count <= other.count and self.delta <= other.delta

    def minus(self, spent: Grains) -> Grains:
        """What is left, never below zero."""
        self._same(spent)
        return Grains(self.grain, max(0, self.count - spent.count), max(Fraction(0), self.delta - spent.delta))

    def _same(self, other: Grains) -> None:
        if self.grain != other.grain:
            raise InvalidParameter("grains of different sizes cannot be added or compared")

    def __str__(self) -> str:
        text = f"{self.count:,} grain{'' if self.count == 1 else 's'} of ε = {decimal_text(self.grain)}"
        return text if self.delta == 0 else f"{text}, δ = {decimal_text(self.delta)}"
