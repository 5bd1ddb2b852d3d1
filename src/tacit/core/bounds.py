"""The public range of a column, and the grid its values are rounded to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.adjacency import Adjacency
from tacit.core.rational import Number, decimal_text, rational
from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Bounds:
    """A closed interval of whole multiples of `step`. Values are clamped into it and rounded onto the grid."""

    lower: Fraction
    upper: Fraction
    step: Fraction

    def __init__(self, lower: Number, upper: Number, *, step: Number = 1) -> None:
        object.__setattr__(self, "lower", rational(lower, "the lower bound"))
        object.__setattr__(self, "upper", rational(upper, "the upper bound"))
        object.__setattr__(self, "step", rational(step, "the step"))
        if self.step <= 0:
            raise InvalidParameter(f"the step must be greater than zero: got {decimal_text(self.step)}")
        if self.lower >= self.upper:
            raise InvalidParameter(f"the bounds are empty or inverted: {self._ends()}", hint="write lower < upper")
        if (self.lower / self.step).denominator != 1 or (self.upper / self.step).denominator != 1:
            raise InvalidParameter(
                f"the bounds {self._ends()} are not on the grid: {decimal_text(self.step)} does not divide them",
                hint="choose bounds that are whole multiples of the step",
            )

    @property
    def cells(self) -> int:
        """How many grid values the interval holds."""
        return int((self.upper - self.lower) / self.step) + 1

    @property
    def lower_units(self) -> int:
        """The lower bound, counted in steps."""
        return _quotient(self.lower, self.step)

    @property
    def upper_units(self) -> int:
        """The upper bound, counted in steps."""
        return _quotient(self.upper, self.step)

    @property
    def magnitude(self) -> int:
        """max(|lower|, |upper|) in steps: how far one row can move a sum under add/remove."""
        return max(abs(self.lower_units), abs(self.upper_units))

    def row_sensitivity(self, adjacency: Adjacency) -> int:
        """How far one row can move a sum, in steps: its magnitude when added, its width when replaced."""
        if adjacency is Adjacency.ADD_REMOVE:
            return self.magnitude
        return self.upper_units - self.lower_units

    def _ends(self) -> str:
        return f"[{decimal_text(self.lower)}, {decimal_text(self.upper)}]"

    def __str__(self) -> str:
        return f"{self._ends()} by {decimal_text(self.step)}"


def _quotient(end: Fraction, step: Fraction) -> int:
    """How many steps an end of the grid is from zero: a whole number, as was seen when the bounds were made."""
    return (end.numerator * step.denominator) // (end.denominator * step.numerator)
