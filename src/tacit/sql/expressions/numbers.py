"""Numeric expressions inside aggregates and keys, on their grid, with bounds derived by interval arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused, UnboundedColumn
from tacit.policy import ColumnPolicy, ColumnType, RangeDomain
from tacit.sql.expressions.cells import is_length
from tacit.sql.expressions.dates.date_functions import from_dates, no_number
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Scope, bare, name_of, written_twice
from tacit.sql.expressions.names.sugar import plain
from tacit.sql.expressions.names.written import not_too_long
from tacit.sql.expressions.numeric import arithmetic, functions
from tacit.sql.expressions.numeric import grid as g
from tacit.sql.expressions.numeric.arithmetic import Width, integer
from tacit.sql.expressions.operands import cell, operand
from tacit.sql.expressions.text.read_as import number_in, small_type, tried
from tacit.sql.expressions.text.texts import PLACED, longest

Predicate = Callable[[exp.Expression, Scope], exp.Expression]
MAX_BUCKETS = 1_000_000  # of WIDTH_BUCKET
_LONGEST_TEXT = (1 << 31) - 1  # characters that any engine holds in a cell


@not_too_long
def number(node: exp.Expression, scope: Scope, *, predicate: Predicate) -> g.Grid:
    """The grid value of a numeric expression. Every column in it needs bounds; nothing in it can fail."""
    if isinstance(node, exp.Paren):
        return number(node.this, scope, predicate=predicate)
    if scope.is_constant(node):
        return _constant(node, scope)
    if isinstance(node, exp.Column):
        return bounded_column(node, scope)
    if isinstance(node, exp.Window):
        return _window(node, scope)
    dated = from_dates(node, scope, number=lambda n: number(n, scope, predicate=predicate), predicate=predicate)
    if dated is not None:
        return dated
    node = node if type(node) in _BUILDERS else plain(node)
    build = _BUILDERS.get(type(node)) or (_truth if _is_truth(node) else None)
    if isinstance(node, exp.AggFunc):
        raise QueryRefused(
            f"{name_of(node)} is refused here: a condition on rows comes before any number of them",
            hint="write HAVING; or, of one unit's own rows, a subquery that is grouped by the unit",
        )
    if build is None:
        raise _refused(node)
    return build(node, scope, predicate)


def _window(node: exp.Window, scope: Scope) -> g.Grid:
    """A window function inside arithmetic, where a subquery computes its columns."""
    window = None if scope.window is None else scope.window(node)
    if not isinstance(window, g.Grid):
        raise QueryRefused(f"{name_of(node.this)} OVER is refused here", hint="name it in a subquery after FROM")
    return window


def _refused(node: exp.Expression) -> QueryRefused:
    if isinstance(node, (exp.Length, exp.StrPosition)):
        return QueryRefused(
            f"{name_of(node)} has no bounds inside an aggregate: a text may be of any length",
            hint=f"say how long it may be: LEAST({text_of(node, comments=False)[:60]}, 100)",
        )
    if isinstance(node, exp.Initcap):
        return QueryRefused(
            f"{name_of(node)} is refused: engines differ on where a word begins",
            hint="compare LOWER(name); a first letter alone: UPPER(LEFT(name, 1)) || LOWER(SUBSTR(name, 2))",
        )
    return QueryRefused(
        f"{name_of(node)} is refused here",
        hint="+, −, ×, /, CASE, IF, NULLIF, GREATEST, LEAST, ABS, FLOOR, ROUND and COALESCE are allowed",
    )


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


def grid_of(declared: ColumnPolicy, kind: ColumnType, scope: Scope) -> g.Grid:
    """The grid that a column stands on."""
    if kind is ColumnType.BOOLEAN:
        read = cell(declared, kind, scope)
        no = exp.Not(this=arithmetic.operand(read.sql))
        sql = exp.Case(ifs=[exp.If(this=read.sql, true=integer(1)), exp.If(this=no, true=integer(0))])
        return g.Grid(sql, Fraction(1), 0, 1, nullable=not read.never_null)
    if not kind.is_numeric:
        raise QueryRefused(
            f"the column {declared.name} is {kind}: only numbers can be computed with",
            hint="compare it with a constant, GROUP BY it, or count it"
            + ("; EXTRACT(HOUR FROM …) and its like are numbers" if kind.is_temporal else ""),
        )
    if declared.bounds is None:
        raise UnboundedColumn(
            f"the column {declared.name} has no bounds: one row could move the answer without limit",
            hint=_bounds_hint(declared.name, scope),
        )
    if is_length(scope.sql_types.get(declared.name.casefold(), "")):
        raise no_number(declared.name)
    public = isinstance(declared.domain, RangeDomain)
    value = g.column(declared.name, declared.bounds, nullable=declared.null is None, public=public)
    matched = None if declared.null is None else scope.matched(declared.name)
    if matched is None:
        return value
    return replace(value, sql=exp.Case(ifs=[exp.If(this=matched, true=value.sql)]), nullable=True)


def _bounds_hint(name: str, scope: Scope) -> str:
    table, column = scope.origin(name)
    if table is None:
        return f"{column} is computed in a subquery: declare bounds for the columns it is computed from"
    return f"add {column} = {{ lower = …, upper = …, step = … }} to [tables.{table}.columns]"


def _is_truth(node: exp.Expression) -> bool:
    return isinstance(node, (exp.Predicate, exp.Connector, exp.Not, exp.Escape)) or type(node) in PLACED


def _truth(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    """A condition as a number: one where it holds, zero where it does not, NULL where neither is known."""
    sql = arithmetic.truth(predicate(node, scope))
    return g.Grid(sql, Fraction(1), 0, 1, nullable=True)


def _case(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    subject = node.args.get("this") and written_twice(node.args["this"])
    branches: list[tuple[exp.Expression, g.Grid | None]] = []
    for branch in node.args["ifs"]:
        when = exp.EQ(this=copied(subject), expression=copied(branch.this)) if subject is not None else branch.this
        branches.append((predicate(when, scope), _or_null(branch.args["true"], scope, predicate)))
    default = node.args.get("default")
    return g.choose(branches, None if default is None else _or_null(default, scope, predicate))


def _or_null(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid | None:
    return None if isinstance(node, exp.Null) else number(node, scope, predicate=predicate)


def _coalesce(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    parts = [number(part, scope, predicate=predicate) for part in (node.this, *node.expressions)]
    return g.first_of(parts)


def _cast(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    text = None if scope.is_constant(node.this) else operand(node.this, scope)
    if text is not None and text.kind is ColumnType.TEXT:
        raise QueryRefused(
            f"{name_of(node)} of text is refused: it would fail on a row that is no number",
            hint=f"write {tried(node, small_type(node))}, which is NULL there",
        )
    inner = number(node.this, scope, predicate=predicate)
    target = ColumnType.from_sql(node.args["to"].sql(dialect="duckdb"))
    if target is ColumnType.NUMBER or (target is ColumnType.INTEGER and inner.step.denominator == 1):
        return inner
    if target is ColumnType.INTEGER:  # of numbers that have places a half goes away from zero, of others to the even
        return g.nearest(inner) if _has_places(node.this, scope) else g.nearest_even(inner)
    raise QueryRefused(
        f"a cast to {node.args['to'].sql(dialect='duckdb')} is refused inside an aggregate: a number is needed there",
        hint="leave the cast out; CAST(x AS INTEGER) rounds, FLOOR(x) cuts off",
    )


def _try_cast(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    """TRY_CAST of a text: the number that it writes, or NULL. A number is cast as by CAST, which cannot fail here."""
    text = operand(node.this, scope)
    if text is None or text.constant or text.kind is not ColumnType.TEXT:
        return _cast(node, scope, predicate)
    read = number_in(text.sql, node.args["to"])
    if read is None:
        raise QueryRefused(
            f"{name_of(node)} to {node.args['to'].sql(dialect='duckdb')} is refused here",
            hint="a text is read as INTEGER, DECIMAL(8, 2), DOUBLE, DATE or TIMESTAMP",
        )
    return read


def _has_places(node: exp.Expression, scope: Scope) -> bool:
    """Whether engines compute it in DECIMAL: every column of it is one, and nothing is divided."""
    columns = list(node.find_all(exp.Column))
    kinds = [scope.sql_types.get(scope.known_as(column).casefold(), "").upper() for column in columns]
    return all(kind.startswith(("DECIMAL", "NUMERIC")) for kind in kinds) and node.find(exp.Div) is None


def _floor(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    _plain(node)
    return g.floor(number(node.this, scope, predicate=predicate))


def _ceil(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    _plain(node)
    return g.negate(g.floor(g.negate(number(node.this, scope, predicate=predicate))))


def _round(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    unit = _multiple(node, scope)
    inner = g.divide(number(node.this, scope, predicate=predicate), g.constant(unit))
    return g.multiply(g.nearest(inner), g.constant(unit))


def _multiple(node: exp.Expression, scope: Scope) -> Fraction:
    """What ROUND or TRUNC to so many places makes multiples of."""
    decimals = node.args.get("decimals")
    exact = 0 if decimals is None else scope.value(decimals)
    if type(exact) is not int or abs(exact) > 12:
        raise QueryRefused(f"{name_of(node)} needs a whole number of places")
    return Fraction(10) ** -exact


def _whole_division(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    """Cut off towards zero, as engines do with whole numbers."""
    return g.truncate(g.divide(*_pair(node, scope, predicate)))


def _remainder(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    left, right = _pair(node, scope, predicate)
    if not right.is_constant or right.low == 0:
        raise QueryRefused("% needs a constant other than 0 on its right", hint="write x % 10")
    return g.remainder(left, abs(right.value))


def _difference(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    """Left − right; x − x % 10 has the steps of tens that it is meant to have."""
    taken = bare(node.expression)
    left = number(node.this, scope, predicate=predicate)
    if isinstance(taken, exp.Mod) and bare(taken.this) == bare(node.this):
        by = number(taken.expression, scope, predicate=predicate)
        if by.is_constant and by.low:
            return g.multiply(g.truncate(g.divide(left, by)), by)
    return g.add(left, g.negate(number(node.expression, scope, predicate=predicate)))


def _nullif(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    left = number(node.this, scope, predicate=predicate)
    if scope.is_constant(node.expression) and scope.value(node.expression) == 0:
        return g.or_null(left)
    same = exp.EQ(this=copied(written_twice(node.this)), expression=copied(node.expression))
    return g.choose([(predicate(same, scope), None)], left)


_COUNTED = (exp.Length, exp.StrPosition)


def _characters(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    """LENGTH(x) and POSITION('a' IN x) of a text whose length is known to end somewhere."""
    most = longest(node.this, scope)
    if most is None:
        raise _refused(node)
    return _held_characters(node, scope, most)


def _held_characters(node: exp.Expression, scope: Scope, most: int) -> g.Grid:
    """A number of characters, or a place among them, counted up to so many; NULL of NULL."""
    counted = operand(node, scope)
    assert counted is not None  # noqa: S101 - `texts` has a word for both
    return g.held(g.Grid(counted.sql, Fraction(1), 0, _LONGEST_TEXT, nullable=True, width=Width.BIGINT), 0, most)


def _least_characters(node: exp.Expression, scope: Scope) -> int | None:
    """The constant up to which LEAST counts the characters beside it; None where there is none."""
    parts = [node.this, *node.expressions]
    if not isinstance(node, exp.Least) or not any(isinstance(bare(part), _COUNTED) for part in parts):
        return None
    values = [scope.value(part) for part in parts if scope.is_constant(part)]
    ends = [value for value in values if isinstance(value, (int, Fraction)) and 0 <= value <= _LONGEST_TEXT]
    return math.ceil(min(ends)) if ends else None


def _extreme(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    most = _least_characters(node, scope)
    if most is not None:
        return _least(node, scope, predicate, most)
    parts = [_or_null(part, scope, predicate) for part in (node.this, *node.expressions)]
    numbers = [part for part in parts if part is not None]
    if not numbers:
        raise QueryRefused(f"{name_of(node)} needs a number", hint=f"write {name_of(node)}(x, 0)")
    return g.extreme(numbers, least=isinstance(node, exp.Least))


def _least(node: exp.Expression, scope: Scope, predicate: Predicate, most: int) -> g.Grid:
    """LEAST(LENGTH(x), 100): what could be of any length is counted up to there. A NULL is left aside, as in LEAST."""
    numbers = []
    for part in map(bare, (node.this, *node.expressions)):
        if isinstance(part, _COUNTED):
            numbers.append(_held_characters(part, scope, most))
        elif not isinstance(part, exp.Null):
            numbers.append(number(part, scope, predicate=predicate))
    return g.extreme(numbers, least=True)


def _bucket(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    """WIDTH_BUCKET(x, low, high, n): from 1 to n within, 0 below and n + 1 from high on; high first counts down."""
    ends = [node.args.get(name) for name in ("min_value", "max_value", "num_buckets")]
    values = [scope.value(end) if end is not None and scope.is_constant(end) else None for end in ends]
    numbers = [Fraction(value) for value in values if isinstance(value, (int, Fraction)) and value is not True]
    if len(numbers) < 3 or numbers[0] == numbers[1] or not 1 <= numbers[2] <= MAX_BUCKETS or numbers[2] % 1:
        raise QueryRefused(
            f"WIDTH_BUCKET needs two different numbers and a whole number of buckets from 1 to {MAX_BUCKETS:,}",
            hint="write WIDTH_BUCKET(x, 0, 100, 10)",
        )
    low, high, count = numbers
    from_low = g.add(number(node.this, scope, predicate=predicate), g.constant(-low))
    bucket = g.floor(g.multiply(from_low, g.constant(count / (high - low))))
    return g.add(g.held(g.rescale(bucket, Fraction(1)), -1, int(count)), g.constant(Fraction(1)))


def _truncated(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    unit = _multiple(node, scope)
    inner = g.divide(number(node.this, scope, predicate=predicate), g.constant(unit))
    return g.multiply(g.truncate(inner), g.constant(unit))


def _logarithm(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    """LN(x), LOG(x) to the base of ten, LOG(base, x)."""
    if isinstance(node, exp.Ln):
        return functions.logarithm(number(node.this, scope, predicate=predicate), None)
    if node.expression is None:
        return functions.logarithm(number(node.this, scope, predicate=predicate), Fraction(10))
    base, value = _pair(node, scope, predicate)
    if not base.is_constant:
        raise QueryRefused("LOG needs a constant base", hint="write LOG(2, x)")
    return functions.logarithm(value, base.value)


def _sign(node: exp.Expression, scope: Scope, predicate: Predicate) -> g.Grid:
    return replace(g.held(number(node.this, scope, predicate=predicate), -1, 1), step=Fraction(1))


def _pair(node: exp.Expression, scope: Scope, predicate: Predicate) -> tuple[g.Grid, g.Grid]:
    return number(node.this, scope, predicate=predicate), number(node.expression, scope, predicate=predicate)


def _plain(node: exp.Expression) -> None:
    if any(value for key, value in node.args.items() if key != "this"):
        raise QueryRefused(f"{name_of(node)} takes one argument here")


_BUILDERS: dict[type[exp.Expression], Callable[[exp.Expression, Scope, Predicate], g.Grid]] = {
    exp.Add: lambda n, s, p: g.add(*_pair(n, s, p)),
    exp.Sub: _difference,
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
    exp.Nullif: _nullif,
    exp.Length: _characters,
    exp.StrPosition: _characters,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.WidthBucket: _bucket,
    exp.Trunc: _truncated,
    exp.Sign: _sign,
    exp.Ln: _logarithm,
    exp.Log: _logarithm,
    exp.Exp: lambda n, s, p: functions.exponential(number(n.this, s, predicate=p)),
    exp.Sqrt: lambda n, s, p: functions.root(number(n.this, s, predicate=p)),
    exp.Cbrt: lambda n, s, p: functions.cube_root(number(n.this, s, predicate=p)),
    exp.Pow: lambda n, s, p: functions.power(*_pair(n, s, p)),
    exp.Cast: _cast,
    exp.TryCast: _try_cast,
}
