"""Group keys: what each row is grouped by, and whether the set of keys is public."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, ListDomain, RangeDomain, TableDomain, fold
from tacit.policy.reading.types import EPOCH
from tacit.sql.expressions.cells import in_steps, is_length
from tacit.sql.expressions.dates.date_bins import BinOf, bin_of
from tacit.sql.expressions.dates.date_functions import no_number, part_of
from tacit.sql.expressions.dates.date_keys import bins_of, moments
from tacit.sql.expressions.dates.date_texts import formatted, is_text, text_of_date
from tacit.sql.expressions.dates.instant_reading import is_instant
from tacit.sql.expressions.dates.instants import Instant, of_column, truncated
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Scope, Value, bare, written_twice
from tacit.sql.expressions.names.sugar import plain
from tacit.sql.expressions.numbers import grid_of, number
from tacit.sql.expressions.numeric import arithmetic, numerics
from tacit.sql.expressions.numeric.grid import Grid
from tacit.sql.expressions.operands import (
    DATE_PARTS,
    TIME_PARTS,
    Operand,
    cell,
    comparable,
    constant,
    kind_of,
    literal,
    operand,
)
from tacit.sql.expressions.predicates import is_condition, moment_of, predicate
from tacit.sql.expressions.public_rows import of_public_rows
from tacit.sql.expressions.text.publicly import public_values

MAX_KEYS = 1_000_000
_MOST_LISTED = 10_000  # steps of a column that is counted value by value
_CUT = (exp.TimestampTrunc, exp.DateTrunc)


@dataclass(frozen=True, slots=True)
class Key:
    """One GROUP BY expression. `values` lists its public values; None means that the keys themselves are private.

    `step` turns the engine's whole numbers back into values; `keep` holds for the rows whose key is in the domain.
    """

    sql: exp.Expression
    kind: ColumnType | None
    values: tuple[Value, ...] | TableDomain | None
    step: Fraction | None = None
    keep: exp.Expression | None = None
    impossible: frozenset[Value] = field(default=frozenset(), repr=False, compare=False)  # values that WHERE rules out
    excluded: Callable[[object], bool] | None = field(default=None, repr=False, compare=False)  # those, by a condition
    row_of: str | None = field(default=None, repr=False, compare=False)  # whose rows have its values: a public table's
    told: bool = field(default=False, repr=False, compare=False)  # whether WHERE lists its values, and leaves no others
    bin_of: BinOf | None = field(default=None, repr=False, compare=False)  # of which column's moments it is a bin
    signature: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sign keys with the same groups, called alike, alike: FLOOR(age / 10) and ten times that have one SQL."""
        text = text_of(self.sql)
        signature = text if self.step is None else f"{text} in steps of {self.step}"
        object.__setattr__(self, "signature", signature)

    @property
    def is_public(self) -> bool:
        """Whether every possible key is known beforehand."""
        return self.values is not None

    def decode(self, value: object) -> object:
        """What the engine returned, as the value a person sees."""
        if self.step is None or value is None:
            return value
        return _times(int(str(value)), self.step)


def key(node: exp.Expression, scope: Scope) -> Key:
    """The key behind a GROUP BY expression."""
    node = bare(node)
    if scope.is_constant(node):
        raise QueryRefused("GROUP BY a constant is refused: it makes one group", hint="leave GROUP BY out")
    if scope.is_unit(node):
        raise QueryRefused(
            f"GROUP BY {node.name} is refused: a group for each person",
            hint="group by something many people share; a subquery may be grouped by it",
        )
    link = scope.link(node)
    if link is not None:
        raise QueryRefused(
            f"GROUP BY {node.name} is refused: it is the link to {link}, so that each group would be one person's",
            hint="group by something many people share; a subquery may be grouped by it",
        )
    if isinstance(node, exp.Column):
        return replace(_column_key(node, scope), bin_of=bin_of(node, scope))
    made = _made_key(formatted(plain(node), scope), scope)
    rows = of_public_rows(made.sql, scope) if made.values is None and made.step is None else None
    if rows is not None:
        made = replace(made, values=rows.domain, keep=rows.keep, row_of=rows.alias)
    return replace(made, bin_of=bin_of(node, scope))


def listed_key(node: exp.Expression, scope: Scope) -> Key:
    """The key behind an expression that is counted value by value: of a column with bounds, each step between them."""
    found, column = key(node, scope), bare(node)
    if found.values is not None or not isinstance(column, exp.Column):
        return found
    declared, kind = scope.column(column)
    if not kind.is_numeric or declared.bounds is None or declared.bounds.cells > _MOST_LISTED:
        return found
    return _grid_key(grid_of(declared, kind, scope))


def _made_key(node: exp.Expression, scope: Scope) -> Key:
    """The key of GROUP BY that an expression is, with all its values where they are public."""
    if isinstance(node, exp.Case):
        labelled = case_key(node, scope)
        if labelled is not None:
            return labelled
    if is_condition(node):
        return Key(predicate(node, scope), ColumnType.BOOLEAN, (False, True))
    return _computed_key(node, scope)


def _computed_key(node: exp.Expression, scope: Scope) -> Key:
    dated = _date_key(node, scope)
    if dated is not None:
        return dated
    value = operand(node, scope)
    if value is not None:
        return _text_key(node, value, scope)
    return _grid_key(number(node, scope, predicate=predicate))


def _date_key(node: exp.Expression, scope: Scope) -> Key | None:
    """A date that is computed, or a column cut to a unit: its bins are public, for it is held between its bounds.

    A column whose domain is its range is cut as it is, so that what lies outside is left out.
    """
    if is_text(node):
        text, texts = text_of_date(node, scope, lambda part: moment_of(part, scope))
        return Key(text, ColumnType.TEXT, texts())
    taken = part_of(node)
    inner = taken[1] if taken is not None else node.this if isinstance(node, _CUT) else None
    column = None if inner is None else bare(inner)
    if isinstance(column, exp.Column):
        declared, kind = scope.column(column)
        if declared.bounds is None or not kind.is_temporal or isinstance(declared.domain, RangeDomain):
            return None
        if taken is not None and taken[0] == "YEAR":
            return _grid_key(number(node, scope, predicate=predicate))
    if not is_instant(node, scope):
        return None
    moment = moment_of(node, scope)
    bins = bins_of(moment, most=MAX_KEYS)
    exact = bins is None or moment.kind is ColumnType.DATE or moment.bins != 1
    return Key(moment.sql if exact else replace(moment, typed=None, counted=moment.grid).sql, moment.kind, bins)


def _column_key(node: exp.Column, scope: Scope) -> Key:
    declared, kind = scope.column(node)
    column = cell(declared, kind, scope).sql
    if is_length(scope.sql_types.get(declared.name.casefold(), "")):
        raise no_number(declared.name)
    if isinstance(declared.domain, ListDomain):
        _check_size(len(declared.domain.values), declared.name)
        return Key(column, kind, declared.domain.values, keep=_listed(node, declared.domain.values, scope=scope))
    if isinstance(declared.domain, TableDomain):
        row_of = scope.alias_of(declared.name) if _is_its_own(declared, scope) else None
        return Key(column, kind, declared.domain, keep=_in_table(column, declared, scope), row_of=row_of)
    if isinstance(declared.domain, RangeDomain):
        return _range_key(node, declared, kind, scope=scope)
    if kind is ColumnType.BOOLEAN:
        return Key(column, kind, (False, True))
    if in_steps(scope.sql_types.get(declared.name.casefold(), "")) and declared.bounds is not None:
        return Key(column, kind, None, step=declared.bounds.step)
    return Key(column, kind, None)


def _in_table(column: exp.Expression, declared: ColumnPolicy, scope: Scope) -> exp.Expression:
    """The condition that a key is among a public table's values."""
    listed = declared.domain
    assert isinstance(listed, TableDomain)  # noqa: S101 - its caller has looked
    if isinstance(column, exp.Column) and _is_its_own(declared, scope):  # which the join has seen to
        return exp.Not(this=exp.Is(this=copied(column), expression=exp.null()))
    public = exp.select(quoted_column(listed.column)).from_(
        exp.to_table(exp.to_identifier(listed.table, quoted=True).sql())
    )
    return exp.In(this=copied(column), query=exp.Subquery(this=public))


def _is_its_own(declared: ColumnPolicy, scope: Scope) -> bool:
    """Whether a column is the very column of the public table that lists its values."""
    table, name = scope.origin(declared.name)
    listed = declared.domain
    own = isinstance(listed, TableDomain) and (fold(table or ""), fold(name)) == (
        fold(listed.table),
        fold(listed.column),
    )
    return own and any(source.public and source.table == table for source in scope.sources)


def _text_key(node: exp.Expression, operand: Operand, scope: Scope) -> Key:
    """A date part, or a text: one that is made of public texts is public too, its values computed here."""
    if operand.kind is not ColumnType.TEXT:
        return Key(operand.sql, operand.kind, _part_values(node, scope))
    values = public_values(node, scope)
    if not values:
        return Key(operand.sql, operand.kind, None)
    keep = exp.In(this=arithmetic.operand(operand.sql), expressions=[literal(value) for value in values])
    return Key(operand.sql, operand.kind, values, keep=keep)


def _listed(node: exp.Column, values: Sequence[Value], *, scope: Scope) -> exp.Expression:
    """The condition that a cell is one of these."""
    read = _read(node, scope)
    if read.exact is None or read.numeric is None or not read.numeric.is_decimal:
        return exp.In(this=read.sql, expressions=[constant(value, read.sql_type) for value in values])
    numbers = [Fraction(value) for value in values if isinstance(value, (int, Fraction))]
    return numerics.among(copied(read.exact), numbers, kind=read.numeric)


def _read(node: exp.Column, scope: Scope) -> Operand:
    read = comparable(node, scope)
    assert read is not None  # noqa: S101 - a column is always an operand
    return read


def _range_key(node: exp.Column, declared: ColumnPolicy, kind: ColumnType, *, scope: Scope) -> Key:
    assert declared.bounds is not None  # noqa: S101 - the policy refuses a range without bounds
    keep = _within(node, declared.bounds, kind, scope=scope)
    _check_size(declared.bounds.cells, declared.name)
    if kind.is_numeric:
        cells = grid_of(declared, kind, scope)
        key = _grid_key(cells)
        return Key(key.sql, key.kind, key.values, step=key.step, keep=keep)
    if declared.bounds.step != 1:
        raise QueryRefused(
            f"GROUP BY {declared.name} needs a step of one", hint="GROUP BY DATE_TRUNC('month', …) makes wider bins"
        )
    values = tuple(moments(kind, int(declared.bounds.lower), int(declared.bounds.upper), apart=1))
    return Key(cell(declared, kind, scope).sql, kind, values, keep=keep)


def _within(node: exp.Column, bounds: Bounds, kind: ColumnType, *, scope: Scope) -> exp.Expression:
    """The condition that a cell lies between its bounds."""
    read = _read(node, scope)
    if read.exact is None or read.numeric is None or not read.numeric.is_decimal:
        ends = [constant(_raw(end, kind), read.sql_type) for end in (bounds.lower, bounds.upper)]
        return exp.Between(this=read.sql, low=ends[0], high=ends[1])
    low = numerics.compared(exp.GTE, copied(read.exact), bounds.lower, kind=read.numeric)
    return exp.And(this=low, expression=numerics.compared(exp.LTE, copied(read.exact), bounds.upper, kind=read.numeric))


def _raw(units: Fraction, kind: ColumnType) -> Value:
    if kind is ColumnType.DATE:
        return EPOCH + timedelta(days=int(units))
    if kind is ColumnType.TIMESTAMP:
        return datetime(EPOCH.year, EPOCH.month, EPOCH.day) + timedelta(seconds=int(units))  # noqa: DTZ001 - zoneless
    return int(units) if units.denominator == 1 else units


def case_key(node: exp.Case, scope: Scope) -> Key | None:
    """A CASE of labels: its labels are its domain."""
    results = [branch.args["true"] for branch in node.args["ifs"]]
    default = node.args.get("default")
    labels = [*results, *([default] if default is not None else [])]
    if not all(scope.is_constant(label) for label in labels):
        return None
    values = [scope.value(label) for label in labels]
    subject = node.args.get("this") and written_twice(node.args["this"])
    ifs = []
    for branch, value in zip(node.args["ifs"], values, strict=False):
        when = exp.EQ(this=copied(subject), expression=copied(branch.this)) if subject is not None else branch.this
        ifs.append(exp.If(this=predicate(when, scope), true=literal(value)))
    sql = exp.Case(ifs=ifs, default=literal(values[-1]) if default is not None else None)
    kinds = {kind_of(value) for value in values} - {None}
    if len(kinds) > 1:
        raise QueryRefused("the branches of a CASE have different types")
    public = tuple(dict.fromkeys(value for value in values if value is not None))
    return Key(sql, next(iter(kinds), None), public)


def _part_values(node: exp.Expression, scope: Scope) -> tuple[Value, ...] | None:
    """The public values of a date part or a truncated date; None where they depend on the data."""
    if isinstance(node, (exp.TimestampTrunc, exp.DateTrunc)):
        return _truncated_values(node, scope)
    part = (str(node.this.name) if isinstance(node, exp.Extract) else node.key).upper().replace("DAYOFMONTH", "DAY")
    if part == "YEAR":
        column = _range_column(node.expression if isinstance(node, exp.Extract) else node.this, scope)
        return None if column is None else tuple(range(column.ends[0].year, column.ends[1].year + 1))
    natural = {**DATE_PARTS, **TIME_PARTS}.get(part)
    return None if natural is None else tuple(range(natural[0], natural[1] + 1))


def _range_column(node: exp.Expression, scope: Scope) -> Instant | None:
    """A date column whose domain is its range."""
    while isinstance(node, (exp.TsOrDsToDate, exp.Paren)):
        node = node.this
    if not isinstance(node, exp.Column):
        return None
    declared, kind = scope.column(node)
    ranged = isinstance(declared.domain, RangeDomain) and declared.bounds is not None and kind.is_temporal
    return of_column(declared, kind, scope) if ranged else None


def _truncated_values(node: exp.Expression, scope: Scope) -> tuple[Value, ...] | None:
    unit = str(node.args["unit"].name).upper()
    column = _range_column(node.this, scope)
    if column is None:
        return None
    bins = bins_of(truncated(column, unit), most=MAX_KEYS)
    if bins is None:
        _check_size(MAX_KEYS + 1, unit)
    return bins


def _grid_key(cells: Grid) -> Key:
    """What is computed from bounded columns lies on a public grid, whose every value is a group.

    Only where those are too many do the groups come from the data: unless the policy has said that they shall not.
    """
    count = cells.high - cells.low + 1
    if count > MAX_KEYS and not cells.public:
        return Key(cells.sql, ColumnType.NUMBER, None, step=cells.step)
    _check_size(count, "the expression")
    values = tuple(_times(units, cells.step) for units in range(cells.low, cells.high + 1))
    return Key(cells.sql, ColumnType.NUMBER, values, step=cells.step)


def _times(units: int, step: Fraction) -> int | Fraction:
    """So many steps: whole where they are, without a fraction for each of a million."""
    above, below = units * step.numerator, step.denominator
    whole, rest = divmod(above, below)
    return Fraction(above, below) if rest else whole


def may_be_wide(key: Key, sql_types: Mapping[str, str]) -> bool:
    """Whether the engine may hold it in more than 64 bits. `sql_types` are those of the columns, by folded name."""
    if key.kind is None or not key.kind.is_numeric:
        return False
    kinds = [sql_types.get(column.name.casefold(), "") for column in key.sql.find_all(exp.Column)]
    return any(_is_wide(kind) for kind in kinds) or any(
        node.this is exp.DType.INT128 for node in key.sql.find_all(exp.DataType)
    )


def _is_wide(sql_type: str) -> bool:
    """Decimals of more than 18 digits, and sums that we computed, are of 128 bits in DuckDB."""
    known = numerics.numeric(sql_type)
    return known is not None and (not known.sql_type or known.high >= (10**18 if known.is_decimal else 1 << 64))


def check_groups(keys: Sequence[Key]) -> None:
    """Refuse keys that make too many groups together."""
    _check_size(known_groups(keys), "these keys")


def known_groups(keys: Sequence[Key]) -> int:
    """How many groups the keys make whose values are listed; the others count as one."""
    return math.prod(len(key.values) for key in keys if isinstance(key.values, tuple))


def _check_size(count: int, name: str) -> None:
    if count > MAX_KEYS:
        raise QueryRefused(
            f"GROUP BY {name} makes too many groups: {count:,} keys", hint=f"at most {MAX_KEYS:,}; use wider bins"
        )
