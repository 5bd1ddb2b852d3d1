"""What an answer costs, and the limit on it: exact pairs (epsilon, delta)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.rational import Number, decimal_text, rational
from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True, order=False)
class Loss:
    """A cost: the output is (epsilon, delta)-differentially private. Adding losses composes them."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "epsilon", rational(epsilon, "epsilon"))
        object.__setattr__(self, "delta", rational(delta, "delta"))
        if self.epsilon.numerator < 0:
            raise InvalidParameter(f"epsilon must not be negative: got {decimal_text(self.epsilon)}")
        if not 0 <= self.delta.numerator <= self.delta.denominator:
            raise InvalidParameter(f"delta must lie between 0 and 1: got {decimal_text(self.delta)}")

    @property
    def is_pure(self) -> bool:
        """Whether delta is zero."""
        return self.delta == 0

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.epsilon + other.epsilon, min(Fraction(1), self.delta + other.delta))

    def __mul__(self, times: int | Fraction) -> Loss:
        return Loss(self.epsilon * times, min(Fraction(1), self.delta * times))

    __rmul__ = __mul__

    def within(self, other: Loss | Budget) -> bool:
        """Whether this costs no more than `other` in both parts."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __str__(self) -> str:
        text = f"ε = {decimal_text(self.epsilon)}"
        return text if self.is_pure else f"{text}, δ = {decimal_text(self.delta)}"


NOTHING = Loss(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on loss."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        limit = Loss(epsilon, delta)
        if limit.delta == 1:
            raise InvalidParameter("a delta of 1 promises nothing: it must be below 1")
        object.__setattr__(self, "epsilon", limit.epsilon)
        object.__setattr__(self, "delta", limit.delta)

    def covers(self, loss: Loss) -> bool:
        """Whether `loss` fits, exactly: ten tenths fit into one."""
        return loss.within(self)

    def minus(self, spent: Loss) -> Budget:
        """What is left, never below zero."""
        return Budget(max(Fraction(0), self.epsilon - spent.epsilon), max(Fraction(0), self.delta - spent.delta))

    def __str__(self) -> str:
        return str(Loss(self.epsilon, self.delta))
