"""Numeric expressions inside aggregates and keys, on their grid, with bounds derived by interval arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused, UnboundedColumn
from tacit.policy import ColumnPolicy, ColumnType, RangeDomain
from tacit.sql.expressions import arithmetic
from tacit.sql.expressions import grid as g
from tacit.sql.expressions.arithmetic import integer
from tacit.sql.expressions.operands import TIME_PARTS, cell, operand
from tacit.sql.expressions.scope import Scope, name_of, written_twice

Predicate = Callable[[exp.Expression, Scope], exp.Expression]


def number(node: exp.Expression, scope: Scope, *, predicate: Predicate) -> g.Grid:
    """The grid value of a numeric expression. Every column in it needs bounds; nothing in it can fail."""
    if isinstance(node, exp.Paren):
        return number(node.this, scope, predicate=predicate)
    if scope.is_constant(node):
        return _constant(node, scope)
    if isinstance(node, exp.Column):
        return bounded_column(node, scope)
    build = _BUILDERS.get(type(node))
    if isinstance(node, exp.AggFunc):
        raise QueryRefused(
            f"{name_of(node)} is refused here: a condition on rows comes before any number of them",
            hint="write HAVING; or, of one unit's own rows, a subquery that is grouped by the unit",
        )
    if build is None:
        raise QueryRefused(
            f"{name_of(node)} is refused here",
            hint="+, −, ×, CASE, ABS, FLOOR, ROUND and COALESCE are allowed",
        )
    return build(node, scope, predicate)


def _constant(node: exp.Expression, scope: Scope) -> g.Grid:
    value = scope.value(node)
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise QueryRefused("a number is needed inside an aggregate", hint="text and dates cannot be added up")
    return g.constant(Fraction(value))


def bounded_column(node: exp.Column, scope: Scope) -> g.Grid:
    """A column on its declared grid; a truth value counts as 0 or 1."""
    if scope.is_unit(node):
        raise QueryRefused(
            f"{node.name} is refused here: it tells one person from another",
            hint=f"COUNT(DISTINCT {node.name}) is allowed",
        )
    return grid_of(*scope.column(node), scope)


def grid_of(found: ColumnPolicy, kind: ColumnType, scope: Scope) -> g.Grid:
    """The grid that a column stands on."""
    if kind is ColumnType.BOOLEAN:
        read = cell(found, kind, scope)
        no = exp.Not(this=arithmetic.operand(read.sql))
        sql = exp.Case(ifs=[exp.If(this=read.sql, true=integer(1)), exp.If(this=no, true=integer(0))])
        return g.Grid(sql, Fraction(1), 0, 1, nullable=not read.never_null)
    if not kind.is_numeric:
        raise QueryRefused(
            f"the column {found.name} is {kind}: only numbers can be computed with",
            hint="compare it with a constant, GROUP BY it, or count it",
        )
    if found.bounds is None:
        raise UnboundedColumn(
            f"the column {found.name} has no bounds: one row could move the answer without limit",
            hint=_bounds_hint(found.name, scope),
        )
    public = isinstance(found.domain, RangeDomain)
    value = g.column(found.name, found.bounds, nullable=found.null is None, public=public)
    matched = None if found.null is None else scope.matched(found.name)
    if matched is None:
        return value
    return replace(value, sql=exp.Case(ifs=[exp.If(this=matched, true=value.sql)]), nullable=True)


def _bounds_hint(name: str, scope: Scope) -> str:
    table, column = scope.origin(name)
    if table is None:
        return f"{column} is computed in a subquery: declare bounds for the columns it is computed from"
    return f"add {column} = {{ lower = …, upper = …, step = … }} to [tables.{table}.columns]"


def _case(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    subject = node.args.get("this") and written_twice(node.args["this"])
    branches: list[tuple[exp.Expression, g.Grid | None]] = []
    for branch in node.args["ifs"]:
        when = exp.EQ(this=subject.copy(), expression=branch.this.copy()) if subject is not None else branch.this
        branches.append((predicate(when, scope), _or_null(branch.args["true"], scope, predicate)))
    default = node.args.get("default")
    return g.choose(branches, None if default is None else _or_null(default, scope, predicate))


def _or_null(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid | None:
    return None if isinstance(node, exp.Null) else number(node, scope, predicate=predicate)


def _coalesce(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    parts = [number(part, scope, predicate=predicate) for part in (node.this, *node.expressions)]
    return g.first_of(parts)


def _cast(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    inner = number(node.this, scope, predicate=predicate)
    target = ColumnType.from_sql(node.args["to"].sql(dialect="duckdb"))
    if target is ColumnType.NUMBER or (target is ColumnType.INTEGER and inner.step.denominator == 1):
        return inner
    raise QueryRefused("this cast is refused inside an aggregate: it could fail or round", hint="use FLOOR or ROUND")


def _floor(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    _plain(node)
    return g.floor(number(node.this, scope, predicate=predicate))


def _ceil(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    _plain(node)
    return g.negate(g.floor(g.negate(number(node.this, scope, predicate=predicate))))


def _round(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    places = node.args.get("decimals")
    unit = Fraction(1)
    if places is not None:
        exact = scope.value(places)
        if type(exact) is not int or abs(exact) > 12:
            raise QueryRefused("ROUND needs a whole number of places")
        unit = Fraction(1, 10**exact) if exact >= 0 else Fraction(10**-exact)
    inner = g.divide(number(node.this, scope, predicate=predicate), g.constant(unit))
    return g.multiply(g.nearest(inner), g.constant(unit))


def _whole_division(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    left, right = _pair(node, scope, predicate)
    if left.low < 0 or not right.is_constant or right.value <= 0:
        raise QueryRefused("// is refused where a side could be negative or zero", hint="write FLOOR(x / 10)")
    return g.floor(g.divide(left, right))


def _remainder(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    left, right = _pair(node, scope, predicate)
    if left.low < 0 or not right.is_constant or right.value <= 0:
        raise QueryRefused("% is refused where a side could be negative or zero")
    return g.remainder(left, right.value)


def _part(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    found = operand(node, scope)
    part = (str(node.this.name) if isinstance(node, exp.Extract) else node.key).upper().replace("DAYOFMONTH", "DAY")
    ends = TIME_PARTS.get(part)
    if found is None or ends is None:
        raise QueryRefused(f"{part} has no bounds inside an aggregate", hint="GROUP BY it instead")
    return g.Grid(found.sql, Fraction(1), *ends, nullable=True)


def _pair(node: exp.Expression, scope: Scope, predicate: Predicate) -> tuple[g.Grid, g.Grid]:
    return number(node.this, scope, predicate=predicate), number(node.expression, scope, predicate=predicate)


def _plain(node: exp.Expression) -> None:
    if any(value for key, value in node.args.items() if key != "this"):
        raise QueryRefused(f"{name_of(node)} takes one argument here")


_BUILDERS: dict[type[exp.Expression], Callable[[exp.Expression, Scope, Predicate], g.Grid]] = {
    exp.Add: lambda n, s, p: g.add(*_pair(n, s, p)),
    exp.Sub: lambda n, s, p: g.add(number(n.this, s, predicate=p), g.negate(number(n.expression, s, predicate=p))),
    exp.Mul: lambda n, s, p: g.multiply(*_pair(n, s, p)),
    exp.Div: lambda n, s, p: g.divide(*_pair(n, s, p)),
    exp.IntDiv: _whole_division,
    exp.Mod: _remainder,
    exp.Neg: lambda n, s, p: g.negate(number(n.this, s, predicate=p)),
    exp.Abs: lambda n, s, p: g.absolute(number(n.this, s, predicate=p)),
    exp.Floor: _floor,
    exp.Ceil: _ceil,
    exp.Round: _round,
    exp.Case: _case,
    exp.Coalesce: _coalesce,
    exp.Cast: _cast,
    exp.Extract: _part,
    exp.Month: _part,
    exp.Day: _part,
    exp.DayOfMonth: _part,
    exp.DayOfWeek: _part,
    exp.Quarter: _part,
    exp.Hour: _part,
    exp.Minute: _part,
}
