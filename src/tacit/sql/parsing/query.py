"""What the analyst wrote: a price, a SELECT, and nothing known yet about either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused

ROWS_OF_KEY = "rows of the key"  # what the count is called where keys are asked for without a number


@dataclass(frozen=True, slots=True)
class AtEpsilon:
    """Pay exactly this much."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class WithinError:
    """Pay the least that keeps every stated error within this bound (or this share of the answer)."""

    bound: Fraction
    relative: bool


@dataclass(frozen=True, slots=True)
class DefaultPrice:
    """Pay what the session or the policy says."""


Price = AtEpsilon | WithinError | DefaultPrice


@dataclass(frozen=True, slots=True)
class TypedBounds:
    """Contribution caps that a query sets for itself; None leaves the policy's."""

    max_groups: int | None = None
    max_rows: int | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One statement. `select` is the parsed body; it is read, never run."""

    select: exp.Select | exp.SetOperation
    price: Price = field(default_factory=DefaultPrice)
    delta: Fraction | None = None
    confidence: Fraction | None = None
    explain: bool = False
    fresh: bool = False
    bias: bool = False  # whether the error bars are to cover what contribution bounds and clamping do to the answer
    unit: str | None = None
    caps: TypedBounds = field(default_factory=TypedBounds)
    parameters: Mapping[str, object] = field(default_factory=dict)
    perturbed: bool = False  # whether it says USING RANDOMISED RESPONSE: then it is no question of aggregates

    @property
    def asks_for_keys(self) -> bool:
        """Whether what is asked is which keys there are: that some are listed would be no answer."""
        items = self.select.expressions if isinstance(self.select, exp.Select) else ()
        return any(item.alias == ROWS_OF_KEY for item in items)

    @property
    def question(self) -> exp.Select:
        """The body of one question. Raises QueryRefused where several are put together."""
        if isinstance(self.select, exp.Select):
            return self.select
        raise QueryRefused(f"{self.select.key.upper()} is refused: ask each part on its own")
