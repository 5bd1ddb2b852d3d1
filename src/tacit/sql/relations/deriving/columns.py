"""One column of a subquery: computed from a row, or from one unit's rows, with what is publicly known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, ListDomain, Owner, RangeDomain, fold
from tacit.policy.tables.domain import MAX_DOMAIN
from tacit.sql.expressions.cells import extreme, lengths_type, steps_type
from tacit.sql.expressions.dates.date_functions import length_column, seconds_apart
from tacit.sql.expressions.dates.date_keys import bins_of
from tacit.sql.expressions.dates.instant_reading import is_instant
from tacit.sql.expressions.dates.instants import Instant
from tacit.sql.expressions.keys import key
from tacit.sql.expressions.names.nodes import cast_as
from tacit.sql.expressions.names.scope import Scope, Value, bare, name_of
from tacit.sql.expressions.names.sugar import plain
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.numeric.arithmetic import integer
from tacit.sql.expressions.numeric.grid import Grid
from tacit.sql.expressions.operands import TIME_PARTS, cell, kind_of, literal, operand
from tacit.sql.expressions.predicates import is_condition, moment_of, predicate
from tacit.sql.expressions.text.texts import cut
from tacit.sql.expressions.text.tuples import as_row, together
from tacit.sql.relations.deriving.windows import NeighbourCell, averaged, sum_ends, window
from tacit.sql.relations.relation import Relation
from tacit.sql.relations.rewriting.forms import AGGREGATES as AGGREGATES  # noqa: PLC0414 - for who reads columns
from tacit.sql.relations.rewriting.forms import counted_row, counted_together, counted_where
from tacit.sql.relations.rewriting.spreads import MIDDLES, SPREADS, middle, spread

_MOST_BINS = 10_000  # values of a date that are listed as its domain
_WIDEST = 1 << 62  # steps of a unit's own sum
_SQL_TYPES = {
    ColumnType.TEXT: "varchar",
    ColumnType.INTEGER: "bigint",
    ColumnType.NUMBER: "double",
    ColumnType.BOOLEAN: "boolean",
    ColumnType.DATE: "date",
    ColumnType.TIMESTAMP: "timestamp",
}


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """One column of a subquery."""

    sql: exp.Expression
    policy: ColumnPolicy
    sql_type: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Makes the columns of a subquery from those that it reads."""

    scope: Scope
    relation: Relation

    def computed(self, name: str, node: exp.Expression) -> DerivedColumn:
        """A column, a constant, or what is computed from one row, or from its unit's rows."""
        if self.scope.window is None and not isinstance(node, exp.Window) and node.find(exp.Window):
            return replace(self, scope=replace(self.scope, window=self._window)).computed(name, node)
        if self.scope.is_constant(node):
            return self._constant(name, node)
        if isinstance(node, exp.Column):
            return self._column(name, node)
        length = seconds_apart(node, self.scope, number=self._computed, predicate=predicate)
        if length is not None:
            return replace(in_steps(name, length), sql_type=lengths_type(length.step))
        moment = self._moment(node) if is_instant(node, self.scope) else None
        if moment is not None and moment.unbounded is None:
            return moment_column(name, moment)
        return self._number(name, node)

    def _computed(self, node: exp.Expression) -> Grid:
        return number(node, self.scope, predicate=predicate)

    def _number(self, name: str, node: exp.Expression) -> DerivedColumn:
        """What is computed: a number on its grid, a text, a truth value, a date without bounds."""
        if isinstance(node, exp.Window):
            window = self._window(node)
            if isinstance(window, NeighbourCell):
                policy = replace(window.column, name=name, type=window.kind, null=None)
                return DerivedColumn(window.sql, policy, window.sql_type)
            return moment_column(name, window) if isinstance(window, Instant) else in_steps(name, window)
        read = operand(node, self.scope)
        computed = read is None and not isinstance(plain(node), exp.Case) and not is_condition(node)
        if computed or self._is_filled(node):
            return in_steps(name, number(node, self.scope, predicate=predicate))
        group_key = key(node, self.scope)
        if group_key.step is not None or group_key.kind is None:
            return in_steps(name, number(node, self.scope, predicate=predicate))
        values = group_key.values if isinstance(group_key.values, tuple) else ()
        is_number = isinstance(plain(node), exp.Case) or (values and _is_part(node))
        if group_key.kind.is_numeric and is_number:  # CASE WHEN … THEN 1 ELSE 0, YEAR(day): a number outside
            return _coded(name, number(node, self.scope, predicate=predicate), values)
        domain = ListDomain(tuple(value for value in values if value is not None)) if values else None
        sql = group_key.sql if read is None else cut(replace(read, sql=group_key.sql)).sql
        return DerivedColumn(sql, ColumnPolicy(name, type=group_key.kind, domain=domain), _SQL_TYPES[group_key.kind])

    def _is_filled(self, node: exp.Expression) -> bool:
        """Whether it is COALESCE(x, 0) of numbers that all have bounds, which are then its own."""
        if not isinstance(bare(node), exp.Coalesce) or is_instant(node, self.scope):
            return False
        columns = [column for column in node.find_all(exp.Column) if self.scope.key(column) is None]
        known = [self.scope.column(column) for column in columns]
        return all(kind.is_numeric and declared.bounds is not None for declared, kind in known) and not any(
            isinstance(part, (exp.Window, exp.Subquery)) for part in node.walk()
        )

    def _window(self, node: exp.Window) -> Grid | Instant | NeighbourCell:
        return window(node, self.scope, self.relation)

    def _moment(self, node: exp.Expression) -> Instant:
        if isinstance(node, exp.Window):
            window = self._window(node)
            assert isinstance(window, Instant)  # noqa: S101 - it was seen to be one
            return window
        return moment_of(node, self.scope)

    def _column(self, name: str, node: exp.Column) -> DerivedColumn:
        declared, kind = self.scope.column(node)
        return self._read(name, declared, kind)

    def _read(self, name: str, declared: ColumnPolicy, kind: ColumnType) -> DerivedColumn:
        """A column as it is; what is empty is filled here, and no longer empty outside."""
        read = cell(declared, kind, self.scope)
        return DerivedColumn(read.sql, replace(declared, name=name, type=kind, null=None), read.sql_type)

    def _constant(self, name: str, node: exp.Expression) -> DerivedColumn:
        """The same in every row, and so public: a text is its own domain."""
        value = self.scope.value(node)
        if isinstance(value, int) and not isinstance(value, bool):
            return in_steps(name, Grid(integer(value), Fraction(1), value, value))
        if isinstance(value, Fraction):
            return in_steps(name, number(node, self.scope, predicate=predicate))
        kind = kind_of(value)
        if kind is None:
            raise QueryRefused(f"{name} is NULL in every row, and so of no type", hint="leave it out")
        domain = ListDomain((value,)) if isinstance(value, (str, date)) else None
        sql = cast_as(literal(value), _SQL_TYPES[kind])
        return DerivedColumn(sql, ColumnPolicy(name, type=kind, domain=domain), _SQL_TYPES[kind])

    def aggregated(self, name: str, node: exp.Expression) -> DerivedColumn:
        """A column of a grouped subquery: one value for each of a unit's groups."""
        if isinstance(node, exp.Window):
            raise QueryRefused("a window beside GROUP BY is refused", hint="nest one subquery in another")
        if not isinstance(node, AGGREGATES):
            if node.find(*AGGREGATES):
                raise QueryRefused(
                    "arithmetic over aggregates is refused inside a subquery", hint="name each one, and compute outside"
                )
            return self.computed(name, node)
        if isinstance(node, exp.Count):
            return self._counted(name, node)
        if isinstance(node, (exp.Min, exp.Max)):
            return self._extreme(name, node)
        if isinstance(node.this, exp.Distinct):
            raise QueryRefused(f"DISTINCT is refused in {name_of(node)}", hint="COUNT(DISTINCT x) is allowed")
        length = length_column(node.this, self.scope)
        values = self._of_values(node, length or number(node.this, self.scope, predicate=predicate))
        column = in_steps(name, values)
        return column if length is None else replace(column, sql_type=lengths_type(values.step))

    def _of_values(self, node: exp.Expression, values: Grid) -> Grid:
        """One number for all the values of a unit."""
        if isinstance(node, SPREADS):
            return spread(node, values)
        if isinstance(node, MIDDLES):
            return middle(node, values, self._share(node))
        if isinstance(node, exp.Avg):
            return averaged(values, lambda total: total)
        cap = self.relation.table.max_rows
        if cap is None:
            raise self._unbounded(node)
        return Grid(exp.Sum(this=values.sql), values.step, *sum_ends(values, cap), nullable=True)

    def _share(self, node: exp.Expression) -> Fraction:
        """Which quantile is asked for: of a median, the one in the middle."""
        if isinstance(node, exp.Median):
            return Fraction(1, 2)
        given = node.args.get("expression")
        value = self.scope.value(given) if isinstance(given, exp.Expression) else None
        if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
            raise QueryRefused(f"{name_of(node)} needs a share between 0 and 1", hint="write QUANTILE_CONT(x, 0.9)")
        return Fraction(value)

    def _unbounded(self, node: exp.Expression) -> QueryRefused:
        table = self.relation.table
        if table.public:
            return QueryRefused(
                f"{name_of(node)} over public tables is refused in a subquery: it has no bounds",
                hint="read it directly, for it is public, and write the number as a constant",
            )
        return QueryRefused(
            f"{name_of(node)} of one unit has no bound: max_rows is not declared",
            hint=f"add max_rows = … to {' and '.join(f'[tables.{each}]' for each in self.scope.private_tables)}",
        )

    def _counted(self, name: str, node: exp.Count) -> DerivedColumn:
        cap = self.relation.table.max_rows
        inner = node.this
        if node.expressions:
            raise QueryRefused("COUNT takes one argument", hint="write COUNT(*) or COUNT(x)")
        if isinstance(inner, exp.Distinct):
            what, condition = counted_where(inner)
            row, parts = counted_row(inner) is not None, counted_together(inner)
            several = row or len(parts) > 1
            values = [self._value(each) for each in parts] if several else [self._value(what)]
            value = as_row(values) if row else together(values) if several else values[0]
            if condition is not None:
                value = exp.Case(ifs=[exp.If(this=predicate(condition, self.scope), true=value)])
            counted: exp.Expression = exp.Distinct(expressions=[value])
        elif isinstance(inner, exp.Star) or self.scope.is_constant(inner):
            counted = exp.Star()
        else:
            counted = self._value(inner)
        sql = exp.Count(this=counted)
        if cap is None:
            return DerivedColumn(sql, ColumnPolicy(name, type=ColumnType.INTEGER), "bigint")
        least = int(isinstance(counted, exp.Star) and not self.relation.table.public)  # no group of a unit is empty
        return in_steps(name, Grid(sql, Fraction(1), least, cap))

    def _value(self, node: exp.Expression) -> exp.Expression:
        owner = self.scope.key(node)
        if owner is not None:
            return self.key_sql(owner[0])
        value = operand(node, self.scope)
        return value.sql if value is not None else number(node, self.scope, predicate=predicate).sql

    def _extreme(self, name: str, node: exp.Expression) -> DerivedColumn:
        if node.expressions or isinstance(node.this, exp.Distinct):
            raise QueryRefused(f"{name_of(node)} takes one argument")
        if isinstance(node.this, exp.Column):
            declared, kind = self.scope.column(node.this)
            if not kind.is_numeric or declared.bounds is None:
                if kind is ColumnType.NUMBER and not self.relation.table.public:
                    return in_steps(name, number(node.this, self.scope, predicate=predicate))
                source = self._read(name, declared, kind)
                sql, sql_type = extreme(type(node), source.sql, source.sql_type)
                return replace(source, sql=sql, sql_type=sql_type)
        text = None if is_instant(node.this, self.scope) else operand(node.this, self.scope)
        if text is not None and text.kind is ColumnType.TEXT:
            column = self.computed(name, node.this)
            return replace(column, sql=type(node)(this=column.sql))
        if is_instant(node.this, self.scope):
            moment = self._moment(node.this)
            return moment_column(name, replace(moment, typed=type(node)(this=moment.sql), counted=None, nullable=True))
        length = length_column(node.this, self.scope)
        values = length or number(node.this, self.scope, predicate=predicate)
        column = in_steps(name, replace(values, sql=type(node)(this=values.sql), nullable=True))
        return column if length is None else replace(column, sql_type=lengths_type(values.step))

    def key_sql(self, internal: str) -> exp.Expression:
        """A key; where it names the owner, in the owner's one spelling."""
        key = self.relation.held(internal)
        names_owner = any(
            known == internal and self.relation.owner is not None and owner == folded(self.relation.owner)
            for source in self.scope.sources
            for known, owner in source.keys.values()
        )
        return self.relation.spelled(key) if names_owner else key


def _is_part(node: exp.Expression) -> bool:
    """Whether it is a part of a date: YEAR(day), EXTRACT(MONTH FROM day)."""
    node = bare(node)
    return isinstance(node, exp.Extract) or type(node).__name__.upper() in TIME_PARTS


def moment_column(name: str, moment: Instant) -> DerivedColumn:
    """A column of dates or timestamps, with the bounds that it has; those of a constant are two days or seconds."""
    policy_type = "date" if moment.kind is ColumnType.DATE else "timestamp"
    if moment.unbounded is not None:
        return DerivedColumn(moment.sql, ColumnPolicy(name, type=moment.kind), policy_type)
    step = timedelta(days=1) if moment.kind is ColumnType.DATE else timedelta(seconds=1)
    low, high = moment.ends
    if low == high:
        low, high = (low - step, high) if low.year > 1 else (low, high + step)
    bins = bins_of(moment, most=_MOST_BINS)
    policy = ColumnPolicy(name, type=moment.kind, lower=low, upper=high, domain=None if bins is None else list(bins))
    return DerivedColumn(moment.sql, policy, policy_type)


def in_steps(name: str, grid: Grid) -> DerivedColumn:
    """A column of whole steps, with the bounds that its grid has."""
    if max(abs(grid.low), abs(grid.high)) >= _WIDEST:
        raise QueryRefused(
            "a subquery's number could overflow: bounds and caps allow too much",
            hint="tighten the bounds or coarsen the step",
        )
    kind = ColumnType.INTEGER if grid.step.denominator == 1 else ColumnType.NUMBER
    if grid.low == grid.high:
        return DerivedColumn(grid.sql, _one_value(name, grid, kind), steps_type(grid.step))
    bounds = Bounds(grid.low * grid.step, grid.high * grid.step, step=grid.step)
    domain = RangeDomain() if bounds.cells <= MAX_DOMAIN else None
    policy = ColumnPolicy(
        name, type=kind, lower=bounds.lower, upper=bounds.upper, step=bounds.step, domain="range" if domain else None
    )
    return DerivedColumn(grid.sql, policy, steps_type(grid.step))


def _coded(name: str, grid: Grid, values: Sequence[Value]) -> DerivedColumn:
    """A column of a few numbers that the question itself writes down: with bounds, and its own public domain."""
    column = in_steps(name, grid)
    listed = tuple(value for value in values if isinstance(value, int) and not isinstance(value, bool))
    if len(listed) < sum(value is not None for value in values) or column.policy.type is not ColumnType.INTEGER:
        return column
    possible = tuple(
        value for value in listed if grid.low <= value / grid.step <= grid.high
    )  # a list may hold what the bounds leave out
    return replace(column, policy=replace(column.policy, domain=ListDomain(possible))) if possible else column


def _one_value(name: str, grid: Grid, kind: ColumnType) -> ColumnPolicy:
    """A number that is the same in every row. Bounds are two numbers: the other one is a step nearer to zero."""
    ends = (grid.low - 1, grid.low) if grid.low > 0 else (grid.low, grid.low + 1)
    domain = ListDomain((int(grid.value),)) if kind is ColumnType.INTEGER and grid.is_constant else None
    lower, upper = (end * grid.step for end in ends)
    return ColumnPolicy(name, type=kind, lower=lower, upper=upper, step=grid.step, domain=domain)


def folded(owner: Owner) -> Owner:
    """The owner with both names folded, as keys have them."""
    return Owner(fold(owner.table), fold(owner.column))
