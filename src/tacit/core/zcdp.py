"""What an answer costs in concentrated privacy, and the limit on it: exact pairs (rho, delta)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.rational import Number, decimal_text, rational
from tacit.core.running_sum import added
from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Zcdp:
    """delta-approximate rho-zCDP (Bun & Steinke, TCC 2016, Definition 8.1): rho-zCDP but for events of mass delta."""

    rho: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, rho: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "rho", rational(rho, "rho"))
        object.__setattr__(self, "delta", rational(delta, "delta"))
        if self.rho.numerator < 0:
            raise InvalidParameter(f"rho must not be negative: got {decimal_text(self.rho)}")
        if not 0 <= self.delta.numerator <= self.delta.denominator:
            raise InvalidParameter(f"delta must lie between 0 and 1: got {decimal_text(self.delta)}")

    def __add__(self, other: Zcdp) -> Zcdp:
        return Zcdp(added(self.rho, other.rho), min(Fraction(1), added(self.delta, other.delta)))

    def __mul__(self, times: int) -> Zcdp:
        return Zcdp(self.rho * times, min(Fraction(1), self.delta * times))

    def within(self, other: Zcdp) -> bool:
        """Whether this costs no more than `other` in both parts."""
        return self.rho <= other.rho and self.delta <= other.delta

    def __str__(self) -> str:
        text = f"ρ = {decimal_text(self.rho)}"
        return text if self.delta == 0 else f"{text}, δ = {decimal_text(self.delta)}"
