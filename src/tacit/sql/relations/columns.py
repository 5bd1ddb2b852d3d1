"""One column of a subquery: computed from a row, or from one unit's rows, with what is publicly known of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import Bounds
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, ListDomain, Owner, RangeDomain, fold
from tacit.policy.domain import MAX_DOMAIN
from tacit.sql.expressions import arithmetic
from tacit.sql.expressions.arithmetic import MOST_ROWS, Whole, Width, integer
from tacit.sql.expressions.cells import steps_type
from tacit.sql.expressions.grid import Grid
from tacit.sql.expressions.keys import key
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.operands import cell, kind_of, literal, operand
from tacit.sql.expressions.predicates import predicate
from tacit.sql.expressions.scope import Scope, name_of
from tacit.sql.relations.relation import Relation
from tacit.sql.relations.windows import window

AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_AVERAGE = 1_000  # an average is rounded down to this part of its column's step
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
class Made:
    """One column of a subquery."""

    sql: exp.Expression
    policy: ColumnPolicy
    sql_type: str


@dataclass(frozen=True, slots=True)
class Columns:
    """What columns are made from."""

    scope: Scope
    relation: Relation

    def computed(self, name: str, node: exp.Expression) -> Made:
        """A column, a constant, or what is computed from one row, or from its unit's rows."""
        if isinstance(node, exp.Window):
            return in_steps(name, window(node, self.scope, self.relation))
        if self.scope.is_constant(node):
            return self._constant(name, node)
        if isinstance(node, exp.Column):
            return self._column(name, node)
        if operand(node, self.scope) is None and not isinstance(
            node, (exp.Case, exp.Predicate, exp.Connector, exp.Not)
        ):
            return in_steps(name, number(node, self.scope, predicate=predicate))
        made = key(node, self.scope)
        if made.step is not None or made.kind is None:
            return in_steps(name, number(node, self.scope, predicate=predicate))
        values = made.values if isinstance(made.values, tuple) else ()
        domain = ListDomain(tuple(value for value in values if value is not None)) if values else None
        return Made(made.sql, ColumnPolicy(name, type=made.kind, domain=domain), _SQL_TYPES[made.kind])

    def _column(self, name: str, node: exp.Column) -> Made:
        found, kind = self.scope.column(node)
        return self._read(name, found, kind)

    def _read(self, name: str, found: ColumnPolicy, kind: ColumnType) -> Made:
        """A column as it is; what is empty is filled here, and no longer empty outside."""
        read = cell(found, kind, self.scope)
        return Made(read.sql, replace(found, name=name, type=kind, null=None), read.sql_type)

    def _constant(self, name: str, node: exp.Expression) -> Made:
        """The same in every row, and so public: a text is its own domain."""
        value = self.scope.value(node)
        if isinstance(value, int) and not isinstance(value, bool):
            return in_steps(name, Grid(integer(value), Fraction(1), value, value))
        if isinstance(value, Fraction):
            return in_steps(name, number(node, self.scope, predicate=predicate))
        kind = kind_of(value)
        if kind is None:
            raise QueryRefused(f"{name} is NULL in every row, and so of no type", hint="leave it out")
        domain = ListDomain((value,)) if isinstance(value, str) else None
        sql = exp.cast(literal(value), _SQL_TYPES[kind])
        return Made(sql, ColumnPolicy(name, type=kind, domain=domain), _SQL_TYPES[kind])

    def aggregated(self, name: str, node: exp.Expression) -> Made:
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
        values = number(node.this, self.scope, predicate=predicate)
        if isinstance(node, exp.Avg):
            return _averaged(name, values)
        cap = self.relation.table.max_rows
        if cap is None:
            raise self._unbounded(node)
        ends = cap * min(values.low, 0), cap * max(values.high, 0)
        return in_steps(name, Grid(exp.Sum(this=values.sql), values.step, *ends, nullable=True))

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

    def _counted(self, name: str, node: exp.Count) -> Made:
        cap = self.relation.table.max_rows
        inner = node.this
        if node.expressions:
            raise QueryRefused("COUNT takes one argument", hint="write COUNT(*) or COUNT(x)")
        if isinstance(inner, exp.Distinct):
            if len(inner.expressions) != 1:
                raise QueryRefused("COUNT(DISTINCT …) takes one column")
            counted: exp.Expression = exp.Distinct(expressions=[self._value(inner.expressions[0])])
        elif isinstance(inner, exp.Star) or self.scope.is_constant(inner):
            counted = exp.Star()
        else:
            counted = self._value(inner)
        sql = exp.Count(this=counted)
        if cap is None:
            return Made(sql, ColumnPolicy(name, type=ColumnType.INTEGER), "bigint")
        return in_steps(name, Grid(sql, Fraction(1), 0, cap))

    def _value(self, node: exp.Expression) -> exp.Expression:
        found = self.scope.key(node)
        if found is not None:
            return self.key_sql(found[0])
        value = operand(node, self.scope)
        return value.sql if value is not None else number(node, self.scope, predicate=predicate).sql

    def _extreme(self, name: str, node: exp.Expression) -> Made:
        if node.expressions or isinstance(node.this, exp.Distinct):
            raise QueryRefused(f"{name_of(node)} takes one argument")
        if isinstance(node.this, exp.Column):
            found, kind = self.scope.column(node.this)
            if not kind.is_numeric or found.bounds is None:
                if kind is ColumnType.NUMBER and not self.relation.table.public:
                    return in_steps(name, number(node.this, self.scope, predicate=predicate))
                made = self._read(name, found, kind)
                return replace(made, sql=type(node)(this=made.sql))
        values = number(node.this, self.scope, predicate=predicate)
        return in_steps(name, replace(values, sql=type(node)(this=values.sql), nullable=True))

    def key_sql(self, internal: str) -> exp.Expression:
        """A key; where it names the owner, in the owner's one spelling."""
        found = self.relation.held(internal)
        names_owner = any(
            known == internal and self.relation.owner is not None and owner == folded(self.relation.owner)
            for source in self.scope.sources
            for known, owner in source.keys.values()
        )
        return self.relation.spelled(found) if names_owner else found


def _averaged(name: str, values: Grid) -> Made:
    ends = MOST_ROWS * min(values.low, 0), MOST_ROWS * max(values.high, 0)
    total = arithmetic.widened(Whole(exp.Sum(this=values.sql.copy()), *ends), Width.INT128)
    counted = exp.Anonymous(this="GREATEST", expressions=[exp.Count(this=values.sql.copy()), integer(1)])
    count = Whole(counted, 1, MOST_ROWS, Width.BIGINT)  # of none the sum is NULL, by whatever it is divided
    mean = arithmetic.scale(total, _AVERAGE, over=count)
    ends = (values.low - 1) * _AVERAGE, (values.high + 1) * _AVERAGE
    return in_steps(name, Grid(mean.sql, values.step / _AVERAGE, *ends, nullable=True, width=mean.width))


def in_steps(name: str, grid: Grid) -> Made:
    """A column of whole steps, with the bounds that its grid has."""
    if max(abs(grid.low), abs(grid.high)) >= _WIDEST:
        raise QueryRefused(
            "a subquery's number could overflow: bounds and caps allow too much",
            hint="tighten the bounds or coarsen the step",
        )
    kind = ColumnType.INTEGER if grid.step.denominator == 1 else ColumnType.NUMBER
    if grid.low == grid.high:
        return Made(grid.sql, _one_value(name, grid, kind), steps_type(grid.step))
    bounds = Bounds(grid.low * grid.step, grid.high * grid.step, step=grid.step)
    domain = RangeDomain() if grid.public and bounds.cells <= MAX_DOMAIN else None
    policy = ColumnPolicy(
        name, type=kind, lower=bounds.lower, upper=bounds.upper, step=bounds.step, domain="range" if domain else None
    )
    return Made(grid.sql, policy, steps_type(grid.step))


def _one_value(name: str, grid: Grid, kind: ColumnType) -> ColumnPolicy:
    """A number that is the same in every row. Bounds are two numbers: the other one is a step nearer to zero."""
    ends = (grid.low - 1, grid.low) if grid.low > 0 else (grid.low, grid.low + 1)
    domain = ListDomain((int(grid.value),)) if kind is ColumnType.INTEGER and grid.is_constant else None
    lower, upper = (end * grid.step for end in ends)
    return ColumnPolicy(name, type=kind, lower=lower, upper=upper, step=grid.step, domain=domain)


def folded(owner: Owner) -> Owner:
    """As keys name it."""
    return Owner(fold(owner.table), fold(owner.column))
