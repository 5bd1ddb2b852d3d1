"""Conditions that are made of other conditions: row values, ANY and ALL, IS DISTINCT FROM, BETWEEN SYMMETRIC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, time

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions.names.nodes import cast_as, paren, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, bare, name_of, written_twice
from tacit.sql.expressions.operands import Operand

Predicate = Callable[[exp.Expression, Scope], exp.Expression]
_OF_DAYS: dict[type[exp.Expression], bool] = {exp.GT: True, exp.GTE: True, exp.LT: False, exp.LTE: False}
_MAX_PARTS = 2_000  # of what one row value or list of patterns becomes
_STRICT: dict[type[exp.Expression], type[exp.Expression]] = {exp.LTE: exp.LT, exp.GTE: exp.GT}


def joined(kind: type[exp.Expression], parts: Sequence[exp.Expression]) -> exp.Expression:
    """All of the parts, or any, as a balanced tree: a long chain would be a deep one."""
    held = list(parts)
    while len(held) > 1:
        pairs = [kind(this=a, expression=b) for a, b in zip(held[::2], held[1::2], strict=False)]
        held = [*(paren(p) for p in pairs), *held[len(pairs) * 2 :]]
    return held[0]


def filtering(condition: exp.Expression) -> exp.Expression:
    """The condition as WHERE asks it, where NULL is as good as false: by a bare EXISTS engines join.

    CASE WHEN a THEN EXISTS (…) END, which is what IN over people's rows becomes, is a AND EXISTS (…) there; under NOT
    it is a AND NOT EXISTS (…). No row is looked at more than once, where a CASE is computed row by row.
    """
    if isinstance(condition, exp.Paren):
        return exp.paren(filtering(condition.this), copy=False)
    if isinstance(condition, exp.And):
        return exp.And(this=filtering(condition.this), expression=filtering(condition.expression))
    denied = isinstance(condition, exp.Not)
    guarded = _guarded(bare(condition.this) if denied else condition)
    if guarded is None:
        return condition
    holds, exists = guarded
    return exp.paren(exp.And(this=exp.paren(holds), expression=exp.Not(this=exists) if denied else exists))


def _guarded(node: exp.Expression) -> tuple[exp.Expression, exp.Expression] | None:
    """Of CASE WHEN a THEN EXISTS (…) END the two conditions; None for anything else."""
    if not isinstance(node, exp.Case) or node.this is not None or node.args.get("default") is not None:
        return None
    first, *others = node.args["ifs"]
    return (first.this, first.args["true"]) if not others and isinstance(first.args["true"], exp.Exists) else None


def of_whole_days(node: exp.Expression, sides: tuple[Operand, Operand], scope: Scope) -> exp.Expression | None:
    """A day before or after a moment of another: a day has no time but midnight. None for any other comparison."""
    left, right = sides
    for day, other, written in ((left, right, node.expression), (right, left, node.this)):
        moment = scope.value(written) if other.constant and day.kind is ColumnType.DATE else None
        if isinstance(moment, datetime) and moment.time() != time() and type(node) in _OF_DAYS:
            after = _OF_DAYS[type(node)] is (day is left)
            date = cast_as(exp.Literal.string(moment.date().isoformat()), "DATE")
            return (exp.GT if after else exp.LTE)(this=day.sql, expression=date)
    return None


def refuse_text(node: exp.Expression, scope: Scope, number: Callable[[exp.Expression], object]) -> None:
    """Refuse a text beside a number that is computed; or what is beside it, where that is none."""
    for side, other in ((node.this, node.expression), (node.expression, node.this)):
        if scope.is_constant(side) and isinstance(scope.value(side), str):
            number(other)
            raise QueryRefused(
                "number is compared with text: tacit does not convert cells",
                hint="do not quote numbers; days between two dates are a number: b - a > 3",
            )


def overlapping(node: exp.Expression) -> exp.Expression:
    """(a, b) OVERLAPS (c, d) in comparisons: either end may stand first, one that is NULL is as the other is.

    The later end is outside, but for a moment alone.
    """
    sides = [bare(side) for side in (node.this, node.expression)]
    pairs = [side.expressions if isinstance(side, exp.Tuple) else [] for side in sides]
    if any(len(pair) != 2 for pair in pairs):
        raise QueryRefused("OVERLAPS needs two pairs", hint="write (a, b) OVERLAPS (c, d)")
    (start, end), (first, last) = (_ends(*pair) for pair in pairs)
    ways = [
        exp.EQ(this=start.copy(), expression=first.copy()),
        exp.And(this=_before(first, start), expression=_before(start, last)),
        exp.And(this=_before(start, first), expression=_before(first, end)),
    ]
    return joined(exp.Or, [exp.paren(way) for way in ways])


def _ends(one: exp.Expression, other: exp.Expression) -> tuple[exp.Expression, exp.Expression]:
    """The earlier and the later end; an INTERVAL is how long it takes from the other."""
    if isinstance(bare(other), exp.Interval):
        other = exp.paren(exp.Add(this=exp.paren(one.copy()), expression=other.copy()))
    both = {"this": written_twice(one), "expressions": [written_twice(other)]}
    return exp.Least(**both).copy(), exp.Greatest(**both).copy()


def _before(one: exp.Expression, other: exp.Expression) -> exp.Expression:
    return exp.LT(this=one.copy(), expression=other.copy())


# ── row values ───────────────────────────────────────────────────────────────────────────────────────────────────────


def row_comparison(node: exp.Expression) -> exp.Expression | None:
    """(a, b) = (1, 2) and its like, part by part; None where neither side is a row value."""
    left, right = bare(node.this), bare(node.expression)
    if not isinstance(left, exp.Tuple) and not isinstance(right, exp.Tuple):
        return None
    pairs = _pairs(left, right)
    if isinstance(node, exp.EQ):
        return joined(exp.And, [exp.EQ(this=a, expression=b) for a, b in pairs])
    if isinstance(node, exp.NEQ):
        return exp.Not(this=paren(joined(exp.And, [exp.EQ(this=a, expression=b) for a, b in pairs])))
    return _ordered(type(node), pairs)


def _ordered(kind: type[exp.Expression], pairs: Sequence[tuple[exp.Expression, exp.Expression]]) -> exp.Expression:
    """By the first place at which they differ."""
    ways: list[exp.Expression] = []
    for index, (a, b) in enumerate(pairs):
        last = index == len(pairs) - 1
        same = [exp.EQ(this=copied(written_twice(x)), expression=copied(written_twice(y))) for x, y in pairs[:index]]
        decided = (kind if last else _STRICT.get(kind, kind))(this=copied(a), expression=copied(b))
        ways.append(paren(joined(exp.And, [*same, decided])))
    return joined(exp.Or, ways)


def row_membership(node: exp.Expression) -> exp.Expression | None:
    """(a, b) IN ((1, 2), (3, 4)), row by row; None where no row value is looked for."""
    left = bare(node.this)
    if not isinstance(left, exp.Tuple) or node.args.get("query"):
        return None
    rows = node.expressions
    if not rows or len(rows) * len(left.expressions) > _MAX_PARTS:
        raise QueryRefused(f"IN of row values lists too much: at most {_MAX_PARTS:,} values", hint="list fewer rows")
    ways = []
    for row in rows:
        pairs = _pairs(left, bare(row))
        ways.append(joined(exp.And, [exp.EQ(this=copied(written_twice(a)), expression=b) for a, b in pairs]))
    return joined(exp.Or, [paren(way) for way in ways])


def _pairs(left: exp.Expression, right: exp.Expression) -> list[tuple[exp.Expression, exp.Expression]]:
    sides = [side.expressions if isinstance(side, exp.Tuple) else [] for side in (left, right)]
    if not sides[0] or len(sides[0]) != len(sides[1]):
        raise QueryRefused(
            "row values have different lengths: each part is compared with the one at its place",
            hint="write (a, b) = (1, 2) or (a, b) IN ((1, 2), (3, 4))",
        )
    return list(zip(*sides, strict=True))


# ── ANY, ALL ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def listed(node: exp.Expression) -> tuple[bool, list[exp.Expression]] | None:
    """Whether any or all is asked for, and the list after ANY or ALL; None where there is neither."""
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in {"ANY", "ALL", "SOME"}:
        inner = node.expressions[0] if len(node.expressions) == 1 else exp.Tuple(expressions=node.expressions)
        is_any = str(node.this).upper() != "ALL"
    elif isinstance(node, (exp.Any, exp.All)):
        inner, is_any = node.this, isinstance(node, exp.Any)
    else:
        return None
    inner = bare(inner)
    if isinstance(inner, (exp.Query, exp.Subquery)):
        raise QueryRefused(
            "ANY and ALL are refused over a subquery", hint="write IN (SELECT …), or compare with (SELECT MAX(…) …)"
        )
    items = inner.expressions if isinstance(inner, (exp.Tuple, exp.Array)) else [inner]
    if not items or len(items) > _MAX_PARTS:
        raise QueryRefused(f"ANY and ALL need a list of at most {_MAX_PARTS:,} constants")
    return is_any, list(items)


def quantified(node: exp.Expression) -> exp.Expression | None:
    """X = ANY (ARRAY[…]) as IN, x <> ALL (…) as NOT IN, any other comparison one by one; None where there is none."""
    listing = listed(node.expression) if isinstance(node.expression, exp.Expression) else None
    if listing is None:
        return None
    is_any, items = listing
    if isinstance(node, exp.EQ) and is_any:
        return exp.In(this=node.this, expressions=items)
    if isinstance(node, exp.NEQ) and not is_any:
        return exp.Not(this=exp.In(this=node.this, expressions=items))
    parts = [type(node)(this=copied(written_twice(node.this)), expression=item) for item in items]
    return joined(exp.Or if is_any else exp.And, [paren(part) for part in parts])


def patterns(node: exp.Expression) -> exp.Expression | None:
    """X LIKE ANY ('a%', 'b%') one by one; None where there is one pattern."""
    listing = listed(node.expression)
    if listing is None:
        return None
    is_any, items = listing
    if node.args.get("negate"):
        raise QueryRefused(
            f"NOT {name_of(node)} with a list is refused: engines differ on what it means",
            hint="write NOT (name LIKE ANY ('A%', 'B%'))",
        )
    parts = [type(node)(this=copied(written_twice(node.this)), expression=item) for item in items]
    return joined(exp.Or if is_any else exp.And, [paren(part) for part in parts])


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def same(node: exp.Expression, scope: Scope, predicate: Predicate) -> exp.Expression:
    """IS NOT DISTINCT FROM, and without NOT: NULL is like NULL, and like nothing else."""
    left, right = bare(node.this), bare(node.expression)
    if isinstance(left, exp.Null) or isinstance(right, exp.Null):
        other = right if isinstance(left, exp.Null) else left
        both: exp.Expression = predicate(exp.Is(this=copied(other), expression=exp.null()), scope)
    else:
        equal = predicate(exp.EQ(this=copied(written_twice(left)), expression=copied(written_twice(right))), scope)
        both = exp.Is(this=paren(equal), expression=exp.true())
        if not scope.is_constant(left) and not scope.is_constant(right):
            empty = [predicate(exp.Is(this=copied(side), expression=exp.null()), scope) for side in (left, right)]
            both = exp.Or(this=both, expression=paren(exp.And(this=empty[0], expression=empty[1])))
    return exp.Not(this=paren(both)) if isinstance(node, exp.NullSafeNEQ) else both


def symmetric(node: exp.Expression) -> exp.Expression:
    """BETWEEN SYMMETRIC: whichever end is the lower."""
    low, high = node.args["low"], node.args["high"]
    ways = [exp.Between(this=copied(node.this), low=copied(a), high=copied(b)) for a, b in ((low, high), (high, low))]
    return exp.Or(this=paren(ways[0]), expression=paren(ways[1]))


def of_keys(node: exp.Expression, scope: Scope) -> exp.Expression | None:
    """Two keys of one thing, in rows that one unit owns: a.id <> b.id. None where there are no two."""
    one, other = (scope.key(bare(side)) for side in (node.this, node.expression))
    if one is None or other is None or one[1] != other[1]:
        return None
    sides = [quoted_column(name) for name, _ in (one, other)]
    return type(node)(this=sides[0], expression=sides[1])
