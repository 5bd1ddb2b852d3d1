"""What is measured: each is one private number per group, before anyone has chosen its noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType, TableDomain
from tacit.sql.expressions.names.printing import text_of
from tacit.sql.expressions.names.scope import Value
from tacit.sql.expressions.numeric.bins import Bins
from tacit.sql.expressions.numeric.grid import Grid

_LARGEST_STEP = Fraction(10**200)  # of what is answered: its sums, and the noise on them, are doubles still


class Counted(Enum):
    """What an additive measurement adds up."""

    ROWS = "rows"  # one for each row (that passes the filter and is not NULL)
    VALUES = "values"  # the grid value of each row
    UNITS = "units"  # one for each unit
    DISTINCT = "distinct"  # one for each distinct value, of which a unit may bring a few


@dataclass(frozen=True, slots=True)
class Additive:
    """A sum of whole numbers, `step` each, where one row adds between low and high."""

    label: str
    counted: Counted
    value: exp.Expression | None = None  # None: the row itself
    step: Fraction = Fraction(1)
    low: int = 0
    high: int = 1
    column: str | None = None  # where it is the plain sum of one column
    signature: str = field(init=False, repr=False, compare=False)  # the same for the same measurement, however asked

    def __post_init__(self) -> None:
        value = "" if self.value is None else text_of(self.value)
        _can_be_told(self.step)
        _sign(self, f"{self.counted.value}|{value}|{self.step}|{self.low}|{self.high}")

    @property
    def magnitude(self) -> int:
        """How far one row can move the sum, in steps."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True, slots=True)
class Quantile:
    """The grid value at a rank: a share of the rows, or (an extreme) a number of rows from one end."""

    label: str
    value: exp.Expression
    grid: Grid
    share: Fraction | None  # None: an extreme
    from_top: bool = False
    bins: Bins | None = None  # where the grid is too fine: what is chosen from
    signature: str = field(init=False, repr=False, compare=False)  # the same for the same measurement, however asked

    def __post_init__(self) -> None:
        _can_be_told(self.grid.step)
        grid = f"{self.grid.step}|{self.grid.low}|{self.grid.high}"
        bins = "" if self.bins is None else f"|{self.bins}"
        _sign(self, f"quantile|{text_of(self.value)}|{grid}|{self.share}|{self.from_top}{bins}")

    @property
    def cells(self) -> int:
        """How many values are chosen from."""
        return self.grid.high - self.grid.low + 1 if self.bins is None else self.bins.cells

    @property
    def weight(self) -> int:
        """How far one row moves a score: see tacit.curator.measuring.ranks."""
        if self.share is None:
            return 1
        return max(self.share.numerator, self.share.denominator - self.share.numerator)


@dataclass(frozen=True, slots=True)
class Mode:
    """The most frequent values of a public domain."""

    label: str
    value: exp.Expression
    values: tuple[Value, ...] | TableDomain
    kind: ColumnType
    step: Fraction | None
    count: int = 1
    signature: str = field(init=False, repr=False, compare=False)  # the same for the same measurement, however asked

    def __post_init__(self) -> None:
        _can_be_told(self.step)
        domain = _domain(self.values, self.step)
        _sign(self, f"mode|{text_of(self.value)}|{domain}|{self.kind}|{self.count}")


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many rows have each value of a public domain."""

    label: str
    value: exp.Expression
    values: tuple[Value, ...] | TableDomain
    step: Fraction | None
    signature: str = field(init=False, repr=False, compare=False)  # the same for the same measurement, however asked

    def __post_init__(self) -> None:
        _can_be_told(self.step)
        _sign(self, f"histogram|{text_of(self.value)}|{_domain(self.values, self.step)}")


def _can_be_told(step: Fraction | None) -> None:
    """Refuse what no answer could show: it would fail when it is divided for display, after the charge."""
    if step is not None and not 1 / _LARGEST_STEP <= step <= _LARGEST_STEP:
        raise QueryRefused(
            "a number is too large or too small to be told: it, or its square, counts in steps beyond 1e200",
            hint="leave out the large or small constants, and multiply the answer",
        )


def _sign(measure: object, signature: str) -> None:
    """Written once: every plan, at every price and for every set, is compared by it."""
    object.__setattr__(measure, "signature", signature)


def _domain(values: tuple[Value, ...] | TableDomain, step: Fraction | None) -> str:
    """What is chosen from. The SQL counts in steps, and is the same for age and for ten times the age."""
    if isinstance(values, TableDomain):
        return f"{values}|{step}"
    return f"{len(values)} from {values[0]!r} to {values[-1]!r}|{step}" if values else f"nothing|{step}"


Measure = Additive | Quantile | Mode | Histogram
