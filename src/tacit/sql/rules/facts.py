"""What the rules know: the unit, the caps, and the public grid of each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds
from tacit.policy import ColumnType, TablePolicy
from tacit.policy.reading.types import grid_units
from tacit.sql.expressions.cells import in_steps
from tacit.sql.expressions.measures import Counted
from tacit.sql.expressions.names.nodes import cast_as
from tacit.sql.expressions.numeric.arithmetic import Width
from tacit.sql.expressions.numeric.bins import Bins
from tacit.sql.expressions.numeric.numerics import Numeric, numeric

_FLOATS = ("double", "float", "real", "float4", "float8", "numeric")  # a NUMERIC, unlike a DECIMAL, may be NaN
_WIDEST_DECIMAL = 10**18  # what 64 bits hold
_FEWEST_BITS = 1 << 50  # steps that a double would hold as well
_FINEST = 10**9  # steps in one


class Spread(Enum):
    """How a unit that touches too many groups is held to its cap."""

    NONE = "none"  # it cannot: a unit is one row, or there is one group
    SAMPLE = "sample"  # keep max_groups of its groups
    WEIGH_L1 = "weigh by max_groups / groups"  # keep all, so that the weights add up to max_groups
    WEIGH_L2 = "weigh by √(max_groups / groups)"  # keep all, so that the squared weights do
    WEIGH_ROWS = "weigh by max_rows / rows"  # keep all, so that its rows, over all groups, add up to max_rows


@dataclass(frozen=True, slots=True)
class GridFacts:
    """How a column's cells become whole numbers."""

    bounds: Bounds
    kind: ColumnType
    is_float: bool
    nan: Fraction
    null: Fraction | None = None
    sql_type: str = ""  # the engine's own word for it

    @property
    def in_steps(self) -> bool:
        """Whether its cells are whole steps already: we computed them."""
        return in_steps(self.sql_type)

    @property
    def exact(self) -> Numeric | None:
        """The DECIMAL type of its cells, where each is a whole number of steps, or a step is one: no double needed."""
        kind = numeric(self.sql_type)
        if kind is None or not kind.is_decimal or kind.high >= _WIDEST_DECIMAL or self.bounds.magnitude >= _FEWEST_BITS:
            return None
        needed = [self.bounds.lower, self.bounds.upper, *([self.nan] if self.is_float else [])]
        needed += [] if self.null is None else [self.null]
        per_unit = 1 / self.bounds.step
        whole = (kind.step / self.bounds.step).denominator == 1 or per_unit == 1
        whole = whole and per_unit.denominator == 1 and per_unit <= _FINEST
        return kind if whole and all(map(kind.holds, needed)) else None


def grids_of(table: TablePolicy, sql_types: Mapping[str, str]) -> dict[str, GridFacts]:
    """The grid of every bounded column, by its name, folded."""
    grids = {}
    for column in table.columns:
        sql_type = sql_types.get(column.name.casefold(), "").lower()
        kind = column.type or ColumnType.from_sql(sql_type)
        if column.bounds is not None and kind is not None and column.nan_value is not None:
            grids[column.name.casefold()] = GridFacts(
                column.bounds,
                kind,
                sql_type.startswith(_FLOATS),
                column.nan_value,
                _number(column.null),
                sql_type,
            )
    return grids


def _number(value: object) -> Fraction | None:
    if isinstance(value, (int, Fraction, date)) and not isinstance(value, bool):
        return grid_units(value)
    return None


@dataclass(frozen=True, slots=True)
class UnitFacts:
    """How the column that identifies a unit is read."""

    column: str
    trims: bool = False
    lowers: bool = False
    null_is_one: bool = False
    is_text: bool = True


@dataclass(frozen=True, slots=True)
class MeasureFacts:
    """One whole number to add up: `name` is its column, `value` the column it is made from (None: the row itself)."""

    name: str
    counted: Counted
    value: str | None = None
    total: tuple[int, int] | None = None  # bounds of a unit's own total in one group, where the policy gives them
    wide: bool = False  # whether its sum over all units may need more than 64 bits
    bins: tuple[Bins, Width] | None = (
        None  # of a quantile whose grid is too fine: what is counted, and the value's type
    )

    @property
    def is_count(self) -> bool:
        """Whether a unit that is in a group adds something to it, whatever its rows hold."""
        return self.counted in {Counted.ROWS, Counted.UNITS} and self.value is None

    @property
    def is_presence(self) -> bool:
        """Whether each unit counts one in each of its groups, whatever its rows hold."""
        return self.counted is Counted.UNITS and self.value is None


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a rule may know. It comes from the policy and the query, never from the data."""

    grids: Mapping[str, GridFacts]
    keys: tuple[str, ...] = ()
    measures: tuple[MeasureFacts, ...] = ()
    unit: UnitFacts | None = None  # None: each row is a unit
    max_rows: int = 1
    max_groups: int = 1
    max_values: int = 1
    spread: Spread = Spread.NONE
    sample_rows: bool = False
    most_groups: int | None = None  # weighing drops a unit in more groups than this
    weight: int = 1  # what a full contribution counts when units are weighed
    salt: str = ""
    across_groups: bool = False  # max_rows rows are sampled of all groups together, not of each
    partners: int | None = None  # of a person, where rows have two owners
    hash_only: bool = False  # groups are ranked by their hash alone, and ties are counted rather than settled
    hashed_as_text: frozenset[str] = frozenset()  # keys of a type whose own hashes are alike for some values

    @property
    def weighs(self) -> bool:
        """Whether heavy units are scaled down rather than cut."""
        return self.spread in {Spread.WEIGH_L1, Spread.WEIGH_L2, Spread.WEIGH_ROWS}


def name(column: str) -> exp.Column:
    """One of our own columns."""
    return exp.Column(this=exp.to_identifier(column))


def called(value: exp.Expression, alias: str) -> exp.Alias:
    """A value under a name of ours: itself, not a copy."""
    return exp.Alias(this=value, alias=exp.to_identifier(alias))


def selected(columns: Iterable[exp.Expression], source: exp.Expression) -> exp.Select:
    """A query for these columns of a source: made of what it is given, nothing of which is copied."""
    return exp.Select(expressions=list(columns), from_=exp.From(this=source))


def nested(tree: exp.Select, alias: str) -> exp.Subquery:
    """A query to select from."""
    return exp.Subquery(this=tree, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def keyed_hash(facts: Facts, *columns: str) -> exp.Expression:
    """A public pseudo-random order of a unit's own rows or groups: it depends on that unit alone.

    Hashed twice: DuckDB combines the hashes of several columns too simply for every order to be equally likely. It
    hashes 128 bits by their halves, so that 0 and -1 are alike, and 2^64 and 1: such a number is hashed as its text.
    """
    parts: list[exp.Expression] = [exp.Literal.string(facts.salt)]
    parts += [cast_as(name(c), "VARCHAR") if c in facts.hashed_as_text else name(c) for c in columns]
    return exp.Anonymous(this="HASH", expressions=[exp.Anonymous(this="HASH", expressions=parts)])
