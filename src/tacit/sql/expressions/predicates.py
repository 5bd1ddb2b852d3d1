"""Conditions: WHERE, FILTER and CASE WHEN. Rebuilt from an allow-list; nothing in them can fail on any row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, time
from fractions import Fraction
from typing import TypeGuard

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions import choices, logic
from tacit.sql.expressions.dates.date_functions import Durations, is_duration
from tacit.sql.expressions.dates.instant_reading import instant, is_computed_instant
from tacit.sql.expressions.dates.instants import Instant, seconds_of
from tacit.sql.expressions.names.nodes import cast_as, paren, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, Value, bare, chain, name_of, written_twice
from tacit.sql.expressions.names.sugar import plain
from tacit.sql.expressions.names.written import not_too_long
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.numeric import arithmetic, numerics
from tacit.sql.expressions.numeric.grid import Grid
from tacit.sql.expressions.operands import FUNCTIONS, Operand, comparable, constant, kind_of, literal, operand
from tacit.sql.expressions.text.matching import matches, unescaped
from tacit.sql.expressions.text.read_as import tried
from tacit.sql.expressions.text.replacing import REPLACING
from tacit.sql.expressions.text.texts import COMPUTED, PLACED

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_READ_AS_MOMENT = {
    (ColumnType.TEXT, ColumnType.DATE),
    (ColumnType.TEXT, ColumnType.TIMESTAMP),
    (ColumnType.DATE, ColumnType.TIMESTAMP),
}
_MOMENTS = {ColumnType.DATE, ColumnType.TIMESTAMP}
_NUMERIC = {ColumnType.INTEGER, ColumnType.NUMBER}
_WIDEST = 1 << 126  # what 128 bits hold, with room to spare
_MAX_LIST = 5_000
_NOW = {"NOW", "CURRENT_TIMESTAMP", "CURRENTTIMESTAMP", "GETDATE", "SYSDATE", "LOCALTIMESTAMP", "GETUTCDATE"}
_MIRRORED: dict[type[exp.Expression], type[exp.Expression]] = dict(
    zip(_COMPARISONS, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), strict=True)
)


@not_too_long
def predicate(node: exp.Expression, scope: Scope) -> exp.Expression:
    """The same condition, built anew from parts that are allowed."""
    node = plain(node)
    _refuse_unread(node)
    if isinstance(node, _COMPARISONS):
        return _comparison(node, scope)
    build = _BUILDERS.get(type(node))
    if build is not None:
        return build(node, scope)
    if isinstance(node, exp.Case):
        return choices.condition(node, scope, predicate)
    value = operand(node, scope)
    if value is not None and value.kind is ColumnType.BOOLEAN:
        return bare(value.sql)
    raise QueryRefused(
        f"{name_of(node)} is refused in a condition",
        hint="compare a column with a constant, as in age >= 18; of text, LIKE 'A%' as well",
    )


def _refuse_unread(node: exp.Expression) -> None:
    """Refuse a part of a condition that would be left out unseen, such as SYMMETRIC."""
    known = _PARTS.get(type(node), {"this", "expression"} if isinstance(node, _COMPARISONS) else None)
    extra = [] if known is None else [name for name, value in node.args.items() if value and name not in known]
    if extra:
        raise QueryRefused(f"{name_of(node)} is refused in this form", hint="write it without what stands beside it")


def is_condition(node: exp.Expression) -> bool:
    """Whether a node is true or false of a row by its very form."""
    return (
        isinstance(node, (exp.Predicate, exp.Not, exp.And, exp.Or)) or type(node) in _BUILDERS or type(node) in PLACED
    )


def _joined(node: exp.Expression, scope: Scope) -> exp.Expression:
    return logic.joined(type(node), [paren(predicate(part, scope)) for part in chain(node)])


def _comparison(node: exp.Expression, scope: Scope) -> exp.Expression:
    parts = logic.row_comparison(node) or logic.quantified(node)
    if parts is not None:
        return predicate(parts, scope)
    return logic.of_keys(node, scope) or _of_values(node, scope)


def _of_values(node: exp.Expression, scope: Scope) -> exp.Expression:
    if is_duration(node.this) or is_duration(node.expression):
        return _duration_comparison(node, scope)
    left, right = _side(node.this, scope), _side(node.expression, scope)
    kind = type(node)
    for side, other in ((left, node.expression), (right, node.this)):
        if side is not None and side.kind in _MOMENTS and (right if side is left else left) is None:
            raise _beside_a_moment(other, str(side.kind))
    if left is None or right is None:
        return _grid_comparison(kind, node, scope)
    if {left.kind, right.kind} == _MOMENTS and not (left.constant or right.constant):
        return _moment_comparison(kind, node, scope)
    exact = _exact_comparison(left, right, node=node, scope=scope)
    exact = exact or logic.of_whole_days(node, (left, right), scope)
    if exact is not None:
        return exact
    left, right = _same_kind(left, right, node, scope)
    return kind(this=left.sql, expression=right.sql)


def _side(node: exp.Expression, scope: Scope) -> Operand | None:
    """A side of a comparison: a column as it is, and a date that is computed held between its bounds first."""
    if is_computed_instant(node, scope):
        moment = moment_of(node, scope)
        return Operand(moment.sql, moment.kind)
    return comparable(node, scope)


def moment_of(node: exp.Expression, scope: Scope) -> Instant:
    """The date or timestamp behind an expression that is one, whatever it is computed from."""
    return instant(node, scope, number=lambda part: number(part, scope, predicate=predicate), predicate=predicate)


def _moment_comparison(kind: type[exp.Expression], node: exp.Expression, scope: Scope) -> exp.Expression:
    """A date beside a timestamp: its midnight, counted in seconds."""
    sides = [
        arithmetic.operand(seconds_of(moment_of(side, scope).bounded()).sql) for side in (node.this, node.expression)
    ]
    return kind(this=sides[0], expression=sides[1])


def _duration_comparison(node: exp.Expression, scope: Scope) -> exp.Expression:
    """How far two moments are apart, beside an INTERVAL."""
    read = Durations(scope, lambda part: number(part, scope, predicate=predicate), predicate)
    return _held_against(type(node), *read.sides(node.this, node.expression))


def _exact_comparison(left: Operand, right: Operand, *, node: exp.Expression, scope: Scope) -> exp.Expression | None:
    """Whole numbers and decimals with no rounding: beside a constant, or beside another such column."""
    sides = (left, right, node.expression, type(node)), (right, left, node.this, _MIRRORED[type(node)])
    for column, other, written, operator in sides:
        value = scope.value(written) if other.constant else None
        if column.kind in _NUMERIC and column.exact is not None and column.numeric is not None and _is_number(value):
            return numerics.compared(operator, copied(column.exact), Fraction(value), kind=column.numeric)
    if left.exact is None or right.exact is None or left.numeric is None or right.numeric is None:
        return None
    pair = numerics.aligned(copied(left.exact), left.numeric, other=copied(right.exact), second=right.numeric)
    return None if pair is None else type(node)(this=pair[0], expression=pair[1])


def _is_number(value: Value) -> TypeGuard[int | Fraction]:
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)


def _grid_comparison(kind: type[exp.Expression], node: exp.Expression, scope: Scope) -> exp.Expression:
    """Compare computed numbers on a common grid: whole numbers on both sides."""
    logic.refuse_text(node, scope, lambda part: number(part, scope, predicate=predicate))
    left, right = (number(side, scope, predicate=predicate) for side in (node.this, node.expression))
    return _held_against(kind, left, right)


def _held_against(kind: type[exp.Expression], left: Grid, right: Grid) -> exp.Expression:
    ratio = left.step / right.step
    return kind(this=_scaled(left, ratio.numerator), expression=_scaled(right, ratio.denominator))


def _scaled(grid: Grid, factor: int) -> exp.Expression:
    if factor == 1 or grid.magnitude == 0:
        return arithmetic.operand(grid.sql)
    if grid.magnitude * factor >= _WIDEST:  # it would overflow, and so fail, on the rows that are large enough
        raise QueryRefused("the sides of a comparison are too far apart in size to be compared exactly")
    if grid.is_constant:
        return arithmetic.operand(arithmetic.integer(grid.low * factor))
    return arithmetic.operand(arithmetic.multiply(grid.whole, arithmetic.constant(factor)).sql)


def _same_kind(left: Operand, right: Operand, node: exp.Expression, scope: Scope) -> tuple[Operand, Operand]:
    """Both sides with one type, a text constant read as a date where the other side is one."""
    if left.constant and not right.constant:
        right, left = _same_kind(right, left, _mirrored(node), scope)
        return left, right
    if right.constant and left.kind is ColumnType.BOOLEAN and right.kind is not ColumnType.BOOLEAN:
        right = _as_truth(right, scope.value(node.expression))
    elif right.constant and (right.kind, left.kind) in _READ_AS_MOMENT:
        right = _as_moment(right, left.kind, node, scope)
    elif right.constant and (right.kind, left.kind) == (ColumnType.TIMESTAMP, ColumnType.DATE):
        right = _as_day(right, node, scope)
    elif right.constant and left.sql_type:
        right = replace(right, sql=constant(scope.value(node.expression), left.sql_type))
    kinds = {left.kind, right.kind} - {None}
    if len(kinds) <= 1 or kinds <= _NUMERIC:
        return left, right
    raise QueryRefused(
        f"{left.kind} is compared with {right.kind}: tacit does not convert cells",
        hint=_instead(kinds),
    )


def _instead(kinds: set[ColumnType | None]) -> str:
    if kinds & _MOMENTS:
        return "write DATE '2026-01-31'"
    if ColumnType.BOOLEAN in kinds:
        return "write the column alone, or compare it with TRUE or FALSE"
    return "quote text ('CS'), do not quote numbers"


def _as_truth(right: Operand, value: Value) -> Operand:
    """A constant beside a truth value: 1 and 'true' are true, 0 and 'false' are not."""
    spelled = value.strip().lower() if isinstance(value, str) else value
    held = {1: True, 0: False, "true": True, "false": False}.get(spelled)
    return right if held is None else Operand(literal(held), ColumnType.BOOLEAN, constant=True)


def _beside_a_moment(node: exp.Expression, kind: str) -> QueryRefused:
    """A date beside what is no date."""
    if any(name_of(part) in _NOW for part in node.walk() if isinstance(part, exp.Func)):
        return QueryRefused(
            "the current time is refused: a question would mean something else each second",
            hint="write CURRENT_DATE, which is the day on which the question is asked",
        )
    if type(bare(node)) is exp.Cast:
        return QueryRefused(
            f"{name_of(node)} of text is refused: it would fail on a row that is no date",
            hint=f"write {tried(bare(node), kind.upper())}, which is NULL there",
        )
    return QueryRefused(
        f"{name_of(node)} is refused beside a {kind}",
        hint="write a date: DATE '2026-01-31', or day + INTERVAL '90' DAY",
    )


def _mirrored(node: exp.Expression) -> exp.Expression:
    return exp.EQ(this=copied(node.expression), expression=copied(node.this))


def _as_moment(right: Operand, kind: ColumnType | None, node: exp.Expression, scope: Scope) -> Operand:
    name = "DATE" if kind is ColumnType.DATE else "TIMESTAMP"
    text = scope.value(node.expression)  # of a date too: its ISO form is midnight
    value = scope.value(cast_as(exp.Literal.string(str(text)), name))
    return Operand(literal(value), kind, constant=True)


def _as_day(right: Operand, node: exp.Expression, scope: Scope) -> Operand:
    """Midnight as its day; any other time would be held against a day by each engine in its own way."""
    value = scope.value(node.expression)
    if not isinstance(value, datetime) or value.time() != time():
        raise QueryRefused("a date is compared with a time of day", hint="compare it with a DATE")
    return Operand(literal(value.date()), ColumnType.DATE, constant=True)


def _between(node: exp.Expression, scope: Scope) -> exp.Expression:
    written_twice(node.this)
    if node.args.get("symmetric"):
        return predicate(logic.symmetric(node), scope)
    low = exp.GTE(this=copied(node.this), expression=node.args["low"])
    high = exp.LTE(this=copied(node.this), expression=node.args["high"])
    return exp.And(this=paren(predicate(low, scope)), expression=paren(predicate(high, scope)))


def _in(node: exp.Expression, scope: Scope) -> exp.Expression:
    if node.args.get("query"):
        return _member(node, scope)
    rows = logic.row_membership(node)
    if rows is not None:
        return predicate(rows, scope)
    if node.args.get("unnest") or node.args.get("field"):
        raise QueryRefused("IN over a list column is refused", hint="list the values: IN ('a', 'b')")
    left = _side(node.this, scope)
    if left is None and node.expressions and len(node.expressions) <= _MAX_LIST:
        return _grid_membership(node, scope)
    if left is None or left.constant or not node.expressions or len(node.expressions) > _MAX_LIST:
        raise QueryRefused(f"IN needs a column and a list of at most {_MAX_LIST:,} constants")
    listed = [scope.value(item) for item in node.expressions]
    numbers = left.kind in _NUMERIC and all(value is None or _is_number(value) for value in listed)
    if numbers and left.exact is not None and left.numeric is not None:
        exact = [Fraction(value) if _is_number(value) else None for value in listed]
        return numerics.among(copied(left.exact), exact, kind=left.numeric)
    values: list[exp.Expression] = []
    for item, value in zip(node.expressions, listed, strict=True):
        pair = exp.EQ(this=node.this, expression=item)
        right = Operand(constant(value), kind_of(value), constant=True)
        values.append(_same_kind(left, right, pair, scope)[1].sql)
    return exp.In(this=left.sql, expressions=values)


def _grid_membership(node: exp.Expression, scope: Scope) -> exp.Expression:
    """A computed number among constants: on its grid, where some of them may have no place."""
    left = number(node.this, scope, predicate=predicate)
    units: list[exp.Expression] = []
    for item in node.expressions:
        value = scope.value(item)
        if value is not None and not _is_number(value):
            raise QueryRefused("a number is looked for among text or dates", hint="list numbers: IN (1, 2)")
        steps = None if value is None else Fraction(value) / left.step
        if steps is None:
            units.append(exp.null())
        elif steps.denominator == 1 and left.low <= steps <= left.high:
            units.append(arithmetic.operand(arithmetic.integer(int(steps))))
    outside = left.low - 1 if left.low > -_WIDEST else left.high + 1  # no row has it, so that NULL stays NULL
    return exp.In(this=arithmetic.operand(left.sql), expressions=units or [arithmetic.integer(outside)])


def _member(node: exp.Expression, scope: Scope) -> exp.Expression:
    if scope.member is None:
        raise QueryRefused("a subquery is refused here", hint="write it after WHERE")
    return scope.member(node)


def _is(node: exp.Expression, scope: Scope) -> exp.Expression:
    if isinstance(node.expression, exp.Boolean):
        return exp.Is(this=paren(predicate(node.this, scope)), expression=exp.Boolean(this=bool(node.expression.this)))
    if not isinstance(node.expression, exp.Null):
        raise QueryRefused("IS needs NULL, TRUE or FALSE")
    key = scope.key(bare(node.this))
    if key is not None:  # whether a row has one tells nothing of whose it is: LEFT JOIN … WHERE key IS NULL
        return exp.Is(this=quoted_column(key[0]), expression=exp.null())
    if is_condition(bare(node.this)):
        return exp.Is(this=paren(predicate(node.this, scope)), expression=exp.null())
    left = operand(node.this, scope)
    if left is None and is_computed_instant(node.this, scope):  # a window's, which is no function of the row alone
        left = Operand(moment_of(node.this, scope).sql, None)
    elif left is None:
        left = Operand(number(node.this, scope, predicate=predicate).sql, ColumnType.INTEGER)
    return exp.Is(this=left.sql, expression=exp.null())


def _like(node: exp.Expression, scope: Scope) -> exp.Expression:
    several = logic.patterns(node)
    if several is not None:
        return predicate(several, scope)
    left = comparable(node.this, scope)
    pattern = scope.value(node.expression)
    if left is None or left.kind is not ColumnType.TEXT or not isinstance(pattern, str) or len(pattern) > 1_000:
        raise QueryRefused("LIKE needs a text column and a constant pattern", hint="write name LIKE 'A%'")
    if pattern.endswith("\\"):
        raise QueryRefused("a LIKE pattern that ends in a backslash is refused")
    matches = type(node)(this=left.sql, expression=literal(pattern))
    return exp.Not(this=paren(matches)) if node.args.get("negate") else matches


def _escaped(node: exp.Expression, scope: Scope) -> exp.Expression:
    """LIKE … ESCAPE '!': by where the constant text in it stands, for engines read escapes in different ways."""
    inner, sign = node.this, scope.value(node.expression)
    if not isinstance(inner, exp.Like) or logic.listed(inner.expression) or not isinstance(sign, str) or len(sign) != 1:
        raise QueryRefused("ESCAPE needs a LIKE before it and one character after it")
    left, pattern = comparable(inner.this, scope), scope.value(inner.expression)
    if left is None or left.kind is not ColumnType.TEXT or not isinstance(pattern, str) or len(pattern) > 1_000:
        raise QueryRefused("LIKE needs a text column and a constant pattern", hint="write name LIKE 'A%'")
    matches = unescaped(left.sql, pattern, sign)
    return exp.Not(this=paren(matches)) if inner.args.get("negate") else matches


_PARTS: dict[type[exp.Expression], set[str]] = {
    exp.And: {"this", "expression"},
    exp.Or: {"this", "expression"},
    exp.Not: {"this"},
    exp.Paren: {"this"},
    exp.Between: {"this", "low", "high", "symmetric"},
    exp.Escape: {"this", "expression"},
    exp.RegexpLike: {"this", "expression", "flag"},
    exp.RegexpILike: {"this", "expression"},
    exp.RegexpFullMatch: {"this", "expression", "options"},
    exp.SimilarTo: {"this", "expression"},
    exp.NullSafeEQ: {"this", "expression"},
    exp.NullSafeNEQ: {"this", "expression"},
    exp.In: {"this", "expressions", "query", "unnest", "field"},
    exp.Exists: {"this", "expression"},
    exp.Is: {"this", "expression"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
}
_BUILDERS: dict[type[exp.Expression], Callable[[exp.Expression, Scope], exp.Expression]] = {
    exp.And: _joined,
    exp.Or: _joined,
    exp.Not: lambda node, scope: exp.Not(this=paren(predicate(node.this, scope))),
    exp.Paren: lambda node, scope: predicate(node.this, scope),
    exp.Between: _between,
    exp.In: _in,
    exp.Exists: _member,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escaped,
    exp.RegexpLike: matches,
    exp.RegexpILike: matches,
    exp.RegexpFullMatch: matches,
    exp.SimilarTo: matches,
    exp.Overlaps: lambda node, scope: predicate(logic.overlapping(node), scope),
    exp.NullSafeEQ: lambda node, scope: logic.same(node, scope, predicate),
    exp.NullSafeNEQ: lambda node, scope: logic.same(node, scope, predicate),
}
FUNCTIONS.update({**REPLACING, exp.Case: lambda node, scope: choices.operand_of(node, scope, predicate)})
COMPUTED.append(lambda node, scope: choices.whole_number(node, scope, predicate))
