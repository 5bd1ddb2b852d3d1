"""What is measured: each is one private number per group, before anyone has chosen its noise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from sqlglot import exp

from tacit.policy import ColumnType, TableDomain
from tacit.sql.grid import Grid
from tacit.sql.scope import Value


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

    @property
    def magnitude(self) -> int:
        """How far one row can move the sum, in steps."""
        return max(abs(self.low), abs(self.high))

    @property
    def signature(self) -> str:
        """The same for the same measurement, however it was asked."""
        value = "" if self.value is None else self.value.sql(dialect="duckdb")
        return f"{self.counted.value}|{value}|{self.step}|{self.low}|{self.high}"


@dataclass(frozen=True, slots=True)
class Quantile:
    """The grid value at a rank: a share of the rows, or (an extreme) a number of rows from one end."""

    label: str
    value: exp.Expression
    grid: Grid
    share: Fraction | None  # None: an extreme
    from_top: bool = False

    @property
    def weight(self) -> int:
        """How far one row moves a score: see tacit.curator.ranks."""
        if self.share is None:
            return 1
        return max(self.share.numerator, self.share.denominator - self.share.numerator)

    @property
    def signature(self) -> str:
        """The same for the same measurement, however it was asked."""
        grid = f"{self.grid.step}|{self.grid.low}|{self.grid.high}"
        return f"quantile|{self.value.sql(dialect='duckdb')}|{grid}|{self.share}|{self.from_top}"


@dataclass(frozen=True, slots=True)
class Mode:
    """The most frequent values of a public domain."""

    label: str
    value: exp.Expression
    values: tuple[Value, ...] | TableDomain
    kind: ColumnType
    step: Fraction | None
    count: int = 1

    @property
    def signature(self) -> str:
        """The same for the same measurement, however it was asked."""
        return f"mode|{self.value.sql(dialect='duckdb')}|{_domain(self.values, self.step)}|{self.kind}|{self.count}"


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many rows have each value of a public domain."""

    label: str
    value: exp.Expression
    values: tuple[Value, ...] | TableDomain
    step: Fraction | None

    @property
    def signature(self) -> str:
        """The same for the same measurement, however it was asked."""
        return f"histogram|{self.value.sql(dialect='duckdb')}|{_domain(self.values, self.step)}"


def _domain(values: tuple[Value, ...] | TableDomain, step: Fraction | None) -> str:
    """What is chosen from. The SQL counts in steps, and is the same for age and for ten times the age."""
    if isinstance(values, TableDomain):
        return f"{values}|{step}"
    return f"{len(values)} from {values[0]!r} to {values[-1]!r}|{step}" if values else f"nothing|{step}"


Measure = Additive | Quantile | Mode | Histogram
