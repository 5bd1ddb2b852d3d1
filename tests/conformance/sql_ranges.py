"""What every node of a generated query can be, by interval arithmetic: whether one of them can overflow its type.

Written from the engines' own rules of types, on the text that they are given, and knowing nothing of how it was made.
A number is looked at with the ends of its column's type, with what the conditions around it leave of that, and with
a trillion rows. Whatever is not understood is reported as well: a node that nobody looked at is not proved.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import sqlglot
from sqlglot import exp

from conformance import sql_moments as moments
from conformance.sql_types import DECIMAL, DOUBLE, FIXED, INTEGER, MOMENT, OTHER, Rules, Type, literal_type, named_type

ROWS = 1 << 40
Ends = tuple[Fraction, Fraction]
Shape = int  # the number of an expression: the same for two that read the same
_SLACK = Fraction(1, 1 << 50)  # what a double may be off by, for each operation
_FAR = Fraction(10) ** 400
_TINY = Fraction(1, 10**320)  # what is above zero is at least so far from it
_DEEPEST = 20_000  # frames: what is nested is written out in each other
_SHAPE = "shape"  # under which a node's own shape is kept with it


class Unproved(AssertionError):
    """A node that can leave its type, or that is not understood."""


@dataclass(frozen=True)
class Value:
    """A number of a type between two ends, or NULL.

    `per_row`: what each row of a group adds to it, where it is a sum; `counts`: it is how many rows the group has.
    """

    type: Type
    low: Fraction = -_FAR
    high: Fraction = _FAR
    per_row: Ends | None = None
    counts: bool = False
    literal: bool = False
    apart: Fraction | None = None  # NULLIF(x, 0): NULL, or at least so far from zero
    sure: bool = False  # a constant, or a count: never NULL
    grain: Fraction = Fraction(0)  # of what it is a multiple, where its type does not say so

    never: bool = False  # what is known of it cannot be: no row has it

    @property
    def written(self) -> int:
        """Whether it is a constant that is written out: 1, or −1 where it is below zero."""
        return (-1 if self.low < 0 else 1) if self.literal else 0


@dataclass
class Scope:
    """The columns that a query reads, what is known of expressions there, and the query around it."""

    tables: dict[str, dict[str, Value]] = field(default_factory=dict)
    known: dict[Shape, Ends] = field(default_factory=dict)  # by the shape of the expression
    outer: Scope | None = None
    ctes: dict[str, dict[str, Value]] = field(default_factory=dict)
    at_most: int = ROWS  # rows of a group
    knowledge: frozenset[tuple[Shape, Ends]] = frozenset()  # `known`, as part of a key
    dead: bool = False  # what is known contradicts itself: no row comes here

    def column(self, node: exp.Column) -> Value:
        tables = [self.tables[node.table]] if node.table in self.tables else list(self.tables.values())
        for columns in tables if not node.table or node.table in self.tables else ():
            if node.name in columns:
                return columns[node.name]
        if self.outer is None:
            raise Unproved(f"no column {node.sql()}")
        return self.outer.column(node)

    def where(self, known: Mapping[Shape, Ends]) -> Scope:
        if not known:
            return self
        together, dead = dict(self.known), self.dead
        for shape, ends in known.items():
            before = together.get(shape, (-_FAR, _FAR))
            dead = dead or max(before[0], ends[0]) > min(before[1], ends[1])
            together[shape] = _meet(before, ends)
        return replace(self, known=together, knowledge=frozenset(together.items()), dead=dead)


def _meet(one: Ends, other: Ends) -> Ends:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else (low, low)  # a branch that no row can reach


def prove(sql: str, dialect: str, tables: Mapping[str, Mapping[str, str]]) -> int:
    """Raise Unproved where a node of the query could overflow; else how many were looked at."""
    _SHAPES.clear()
    rows = {
        table: {column: _column(kind, dialect) for column, kind in columns.items()} for table, columns in tables.items()
    }
    walk, before = _Walk(Rules(dialect), rows), sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        walk.query(sqlglot.parse_one(sql, dialect=dialect), Scope())
    finally:
        sys.setrecursionlimit(before)
    return walk.looked_at


def _column(kind: str, dialect: str) -> Value:
    """What a column of such a type can be; only DuckDB has 128 bits without a sign, others keep them as decimals."""
    if kind == "UHUGEINT" and dialect != "duckdb":
        found = Value(Type(FIXED)) if dialect == "postgres" else _of_type(Type(DECIMAL, 38, 0))
        return replace(found, low=Fraction(0), grain=Fraction(1))
    return _of_type(moments.kind_of(kind) or named_type(kind, "duckdb"))


def _of_type(kind: Type) -> Value:
    return Value(kind, *kind.ends) if kind.family in {INTEGER, DECIMAL} else Value(kind)


def _is_months(node: exp.Expression) -> bool:
    """Whether a moment is moved by a number of months of the row's own."""
    if isinstance(node, exp.MakeInterval):
        return node.args.get("month") is not None and node.args.get("second") is None
    return isinstance(node, exp.Anonymous) and str(node.this).upper() == "TO_MONTHS"


@dataclass
class _Walk:
    rules: Rules
    rows: Mapping[str, Mapping[str, Value]]
    looked_at: int = 0
    seen: dict[tuple[object, ...], tuple[Value, object]] = field(default_factory=dict)  # and the tables it reads

    # ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def query(self, tree: exp.Expression, scope: Scope) -> dict[str, Value]:
        """The columns of a query."""
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this, scope)
        if isinstance(tree, exp.Union):
            left, right = self.query(tree.this, scope), self.query(tree.expression, scope)
            pairs = zip(left.items(), right.values(), strict=True)
            return {name: self._either([one, other]) for (name, one), other in pairs}
        assert isinstance(tree, exp.Select), tree.sql()
        inside = Scope(outer=scope, ctes=dict(scope.ctes))
        for cte in tree.ctes:
            inside.ctes[cte.alias] = self.query(cte.this, inside)
        self._read(tree, inside)
        where = tree.args.get("where")
        kept = inside.where(self._told(where.this, inside, holds=True)) if where is not None else inside
        kept = replace(kept, at_most=self._at_most(tree, kept))
        having = tree.args.get("having")
        shown = kept.where(self._told(having.this, kept, holds=True)) if having is not None else kept
        for part in ("group", "order"):
            for node in tree.args[part].expressions if tree.args.get(part) else ():
                self.value(node.this if isinstance(node, exp.Ordered) else node, shown)
        return dict(self._listed(tree, shown))

    def _listed(self, tree: exp.Select, scope: Scope) -> Iterator[tuple[str, Value]]:
        for item in tree.expressions:
            if isinstance(item, exp.Star):
                for columns in scope.tables.values():
                    yield from columns.items()
            else:
                yield item.alias_or_name, self.value(item.unalias(), scope)

    def _read(self, tree: exp.Select, scope: Scope) -> None:
        joins = tree.args.get("joins") or []
        for source in [tree.args[key] for key in ("from_", "from") if tree.args.get(key)] + joins:
            node = source.this
            if isinstance(node, exp.Table):
                found = scope.ctes.get(node.name) or self.rows.get(node.name)
                if found is None:
                    raise Unproved(f"no table {node.name}")
                scope.tables[node.alias_or_name] = dict(found)
            else:
                scope.tables[node.alias_or_name] = self.query(node, scope)
        for join in joins:
            if join.args.get("on") is not None:
                self._told(join.args["on"], scope, holds=True)

    def _at_most(self, tree: exp.Select, scope: Scope) -> int:
        """How many rows a group has, where they were numbered in the same groups and cut off."""
        source = tree.args.get("from_") or tree.args.get("from")
        inner = source.this.this if source is not None and isinstance(source.this, exp.Subquery) else None
        while isinstance(inner, exp.Select):
            where, group = (
                inner.args.get("where"),
                {node.name for node in getattr(tree.args.get("group"), "expressions", ())},
            )
            below = inner.args["from_"].this.this if isinstance(inner.args["from_"].this, exp.Subquery) else None
            for item in below.expressions if isinstance(below, exp.Select) else ():
                numbered = item.unalias()
                if (
                    where is None
                    or not isinstance(numbered, exp.Window)
                    or not isinstance(numbered.this, exp.RowNumber)
                ):
                    continue
                parts = {node.name for node in numbered.args.get("partition_by") or ()}
                for node in where.this.find_all(exp.LTE):
                    if node.this.name == item.alias and parts <= group:
                        return int(node.expression.this)
            inner = below
        return ROWS

    # ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _told(self, node: exp.Expression, scope: Scope, *, holds: bool) -> dict[Shape, Ends]:
        """What a condition says of the expressions in it. Every one of them is looked at."""
        node = _bare(node)
        if isinstance(node, exp.Not):
            return self._told(node.this, scope, holds=not holds)
        if isinstance(node, (exp.And, exp.Or)):
            told: dict[Shape, Ends] = {}
            for part in (node.this, node.expression):
                found = self._told(part, scope.where(told), holds=holds)
                if isinstance(node, exp.And) == holds:
                    told = scope.where(told).where(found).known
            return told
        if isinstance(node, exp.Between) and holds:
            ends = (
                exp.GTE(this=node.this, expression=node.args["low"]),
                exp.LTE(this=node.this, expression=node.args["high"]),
            )
            told = self._compared(ends[0], scope, holds=True)
            return scope.where(told).where(self._compared(ends[1], scope, holds=True)).known
        if isinstance(node, (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ)):
            return self._compared(node, scope, holds=holds)
        self.value(node, scope)
        return {}

    def _compared(self, node: exp.Expression, scope: Scope, *, holds: bool) -> dict[Shape, Ends]:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        told: dict[Shape, Ends] = {}
        if self.rules.dialect == "duckdb" and {left.type.family, right.type.family} <= {INTEGER, DECIMAL}:
            common = self.rules.compared(left.type, right.type, literals=(left.written, right.written))
            for side in (left, right):
                self._checked(node, common, side.low, side.high)
        kind = type(node) if holds else _OPPOSITE.get(type(node))
        for side, other, mirrored in ((node.this, right, False), (node.expression, left, True)):
            if kind is None or other.type.family is OTHER or isinstance(_bare(side), exp.Literal):
                continue
            direction = _MIRRORED[kind] if mirrored else kind
            low = other.low if direction in {exp.GT, exp.GTE, exp.EQ} else -_FAR
            high = other.high if direction in {exp.LT, exp.LTE, exp.EQ} else _FAR
            whole = (right if mirrored else left).type.family is INTEGER and other.type.family is INTEGER
            above = (1 if whole else _TINY) if direction is exp.GT else 0
            told[_shape(side)] = low + above, high - (whole and direction is exp.LT)
        return told

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def value(self, node: exp.Expression, scope: Scope) -> Value:
        """What an expression can be, with what is known of it here; looked at once for each thing that is known."""
        key = _shape(node), id(scope.tables), scope.at_most, scope.knowledge
        if key not in self.seen:
            self.seen[key] = self._valued(node, scope), scope.tables
        return self.seen[key][0]

    def _valued(self, node: exp.Expression, scope: Scope) -> Value:
        found = self._value(_bare(node), scope)
        known = scope.known.get(_shape(node))
        if found.per_row is not None and not found.counts:
            rows = self._rows(scope)
            ends = [end * count for end in found.per_row for count in (0, rows)]
            known = _meet(known or (-_FAR, _FAR), (min(ends), max(ends)))
        if known is None or found.type.family is OTHER:
            return found
        low, high = _meet((found.low, found.high), known)
        return replace(found, low=low, high=high, never=max(found.low, known[0]) > min(found.high, known[1]))

    def _rows(self, scope: Scope) -> Fraction:
        """How many rows the group has that a sum is of."""
        ends = [Fraction(ROWS)]
        for alias, columns in scope.tables.items():
            for name, value in columns.items():
                shapes = (_column_shape("", name), _column_shape(alias, name))
                known = [scope.known[shape][1] for shape in shapes if shape in scope.known]
                ends += [value.high, *known] if value.counts else []
        return min(ends)

    def _value(self, node: exp.Expression, scope: Scope) -> Value:
        self.looked_at += 1
        if isinstance(node, exp.Column):
            return scope.column(node)
        if isinstance(node, exp.Literal):
            return self._literal(node)
        build = _BUILDERS.get(type(node))
        if build is not None:
            return build(self, node, scope)
        if isinstance(node, (exp.Select, exp.Subquery, exp.Union)):
            return next(iter(self.query(node, scope).values()))
        if isinstance(node, exp.Func) and node.sql_name() in _KNOWN:
            return self._known(node, node.sql_name(), scope)
        for (
            child
        ) in node.iter_expressions():  # a text, a date, a truth value: not a number, but there may be some in it
            self.query(child, scope) if isinstance(child, exp.Query) else self.value(child, scope)
        return Value(Type(OTHER))

    def _literal(self, node: exp.Literal) -> Value:
        if node.is_string:
            return Value(Type(OTHER))
        exact = Fraction(str(node.this))
        kind, grain = literal_type(str(node.this), self.rules.dialect), Fraction(1, exact.denominator)
        return Value(kind, exact, exact, literal=True, grain=grain)

    def _checked(self, node: exp.Expression, kind: Type, low: Fraction, high: Fraction) -> Value:
        if kind.family is OTHER:
            raise Unproved(f"{self.rules.dialect}: not understood: {node.sql()[:300]}")
        if kind.family is MOMENT:
            return self._in_calendar(node, kind, (low, high))
        if kind.family not in {DOUBLE, FIXED} and not (kind.ends[0] <= low and high <= kind.ends[1]):
            raise Unproved(f"{self.rules.dialect}: {kind} may be {_shown(low)} to {_shown(high)}: {node.sql()[:300]}")
        return Value(kind, low, high)

    def _binary(self, node: exp.Expression, scope: Scope) -> Value:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        if left.type.family is MOMENT:
            return self._moved(node, left, right)
        if OTHER in {left.type.family, right.type.family}:
            raise Unproved(f"{self.rules.dialect}: not understood: {node.sql()[:300]}")
        typed = self.rules.product if isinstance(node, exp.Mul) else self.rules.common
        kind = typed(left.type, right.type, literals=(left.written, right.written))
        for side in (left, right):  # which is converted first
            self._checked(node, kind, side.low, side.high)
        low, high = _OPERATIONS[type(node)](left, right)
        if kind.family is DOUBLE:
            if isinstance(node, exp.Mul):
                self._not_too_small(node, self._least(node.this, scope) * self._least(node.expression, scope))
            low, high = low - abs(low) * _SLACK, high + abs(high) * _SLACK
        found = replace(self._checked(node, kind, low, high), grain=_grain_of(node, left, right))
        if isinstance(node, exp.Mul) and left.per_row is not None and right.low == right.high:
            return replace(found, per_row=_hull(end * right.low for end in left.per_row))
        if isinstance(node, exp.Mul) and left.apart is not None and right.low == right.high:
            return replace(found, apart=left.apart * abs(right.low))
        if isinstance(node, exp.Mul) and left.apart is not None and right.apart is not None:
            return replace(found, apart=left.apart * right.apart)
        if isinstance(node, exp.Sub) and _is_remainder_of(node.expression, node.this):
            low, high = self._without_remainder(node, (left.low, left.high), (found.low, found.high), scope)
            return replace(left, low=low, high=high, literal=False)
        return found

    def _without_remainder(self, node: exp.Expression, whole: Ends, plain: Ends, scope: Scope) -> Ends:
        """What is left of a number without its remainder: the multiple next to it, towards zero or below (PMOD)."""
        part = _bare(node.expression)
        below = isinstance(part, exp.Anonymous)
        by = self.value(part.expressions[1] if below else part.expression, scope)
        if by.low == by.high > 0:  # larger for a larger number, so that its ends are those of the ends
            low, high = ((math.floor if below else math.trunc)(end / by.low) * by.low for end in whole)
            return low, high
        return plain if below else (min(whole[0], Fraction(0)), max(whole[1], Fraction(0)))

    def _divided(self, node: exp.Expression, scope: Scope) -> Value:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        if right.apart is not None or right.high < 0:
            return self._divided_by_either_sign(node, left, right)
        if right.low < 1 and not right.counts and right.type.family is not DOUBLE:
            raise Unproved(f"{self.rules.dialect}: a divisor may be below one: {node.sql()[:300]}")
        least = max(right.low, Fraction(1)) if right.type.family is not DOUBLE else right.low
        if least <= 0:
            raise Unproved(f"{self.rules.dialect}: a divisor may be zero: {node.sql()[:300]}")
        ends = [end / by for end in (left.low, left.high) for by in (least, right.high)] + [Fraction(0)]
        if left.per_row is not None and right.counts:
            ends = [*left.per_row, Fraction(0)]
        elif left.low > 0 or (left.high < 0 and left.type.family is DOUBLE):
            ends.pop()
        kind = self.rules.divided(node, left.type, right.type)
        if kind.family is DOUBLE:
            self._not_too_small(node, self._least_quotient(node, scope))
        if kind.family is INTEGER or isinstance(node, exp.IntDiv):
            ends = [Fraction(math.floor(end)) for end in ends]
        return replace(self._checked(node, kind, min(ends), max(ends)), grain=_grain_of(node, left, right))

    def _not_too_small(self, node: exp.Expression, least: Fraction) -> None:
        """PostgreSQL fails on a product, a quotient or a cast that is not zero, and rounds to zero as a double."""
        if self.rules.dialect == "postgres" and least < _LEAST_DOUBLE:
            raise Unproved(f"postgres: a double may be too small: {node.sql()[:300]}")

    def _least(self, node: exp.Expression, scope: Scope) -> Fraction:
        """How small a number can be, sign aside, if it is not zero; 0 where that is not known."""
        node = _bare(node)
        found = self.value(node, scope)
        parts = _MULTIPLES.get(type(node), lambda *_: Fraction(0))(self, node, scope)
        size = scope.known.get(_numbered((exp.Abs, ("this", (exp.Expression, _shape(node))))), (Fraction(0),))
        return max(_multiple(found), found.low, -found.high, parts, size[0])

    def _least_quotient(self, node: exp.Expression, scope: Scope) -> Fraction:
        divisor = self.value(node.expression, scope)
        return self._least(node.this, scope) / max(abs(divisor.low), abs(divisor.high), Fraction(1))

    def _divided_by_either_sign(self, node: exp.Expression, left: Value, right: Value) -> Value:
        """Whole numbers by what is NULL instead of zero."""
        least = right.apart or -right.high
        if right.type.family in {DOUBLE, OTHER} or least < 1:
            raise Unproved(f"{self.rules.dialect}: a divisor may be below one: {node.sql()[:300]}")
        most = max(abs(left.low), abs(left.high)) / least
        signed = left.low < 0 or right.low < 0
        found = self._checked(node, self.rules.divided(node, left.type, right.type), -most if signed else 0, most)
        return replace(found, grain=_grain_of(node, left, right))

    def _or_null(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        if self.value(node.expression, scope).high != 0 or inner.type.family not in {INTEGER, DECIMAL, FIXED}:
            return replace(inner, literal=False)
        return replace(inner, literal=False, apart=max(Fraction(1), inner.low, -inner.high))

    def _remainder(self, node: exp.Expression, scope: Scope) -> Value:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        kind = self.rules.common(left.type, right.type, literals=(left.written, right.written))
        if right.apart is None and right.high >= 0 and right.low < 1 and not right.counts:
            raise Unproved(f"{self.rules.dialect}: a divisor may be below one: {node.sql()[:300]}")
        self._checked(node, kind, left.low, left.high)
        self._checked(node, kind, right.low, right.high)
        most = max(abs(right.low), right.high) - 1
        low = Fraction(0) if left.low >= 0 else max(left.low, -most)
        return self._checked(node, kind, low, min(max(left.high, Fraction(0)), most))

    def _positive_remainder(self, node: exp.Expression, scope: Scope) -> Value:
        """PMOD, which is above zero for a number below it as well."""
        found = self._remainder(exp.Mod(this=node.expressions[0], expression=node.expressions[1]), scope)
        if self.value(node.expressions[1], scope).low < 1:
            raise Unproved(f"{self.rules.dialect}: a divisor may be below one: {node.sql()[:300]}")
        if found.low >= 0:
            return found
        return self._checked(node, found.type, Fraction(0), self.value(node.expressions[1], scope).high - 1)

    def _negated(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        if inner.literal and inner.type.family is INTEGER:  # -9223372036854775808 is a literal of its own
            return replace(self._literal(exp.Literal.number(str(inner.high))), low=-inner.high, high=-inner.low)
        found = self._checked(node, inner.type, -inner.high, -inner.low)
        return replace(found, literal=inner.literal, sure=inner.sure or inner.literal, grain=_multiple(inner))

    def _absolute(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        sizes = abs(inner.low), abs(inner.high)
        low = Fraction(0) if inner.low <= 0 <= inner.high else min(sizes)
        return replace(self._checked(node, inner.type, low, max(sizes)), grain=_multiple(inner))

    def _cast(self, node: exp.Expression, scope: Scope) -> Value:
        inner, kind = (
            self.value(node.this, scope),
            named_type(node.to.sql(dialect=self.rules.dialect), self.rules.dialect),
        )
        moment = moments.kind_of(node.to.sql(dialect=self.rules.dialect))
        written = _bare(node.this)
        if moment is not None:
            return self._as_moment(node, moment, written, inner)
        if kind.family is OTHER:
            return Value(kind)
        if isinstance(written, exp.Literal) and str(written.this).lower() not in _NO_FRACTION:
            exact = Fraction(str(written.this))
            return replace(self._checked(node, kind, exact, exact), sure=True)
        if inner.type.family is OTHER:
            return self._checked(node, kind, -_FAR, _FAR)
        if kind.family is DOUBLE and inner.type.family is not DOUBLE:
            self._not_too_small(node, self._least(node.this, scope))
        found = self._checked(node, kind, inner.low, inner.high)
        found = replace(found, sure=inner.sure or inner.literal)
        return replace(found, per_row=inner.per_row, counts=inner.counts, apart=inner.apart, grain=_multiple(inner))

    def _case(self, node: exp.Expression, scope: Scope) -> Value:
        branches, around = [], scope
        for branch in node.args["ifs"]:
            if node.args.get("this") is not None:  # a condition, made a number: nothing in it tells of numbers
                if not isinstance(branch.this, exp.Boolean):
                    raise Unproved(f"not understood: {node.sql()[:300]}")
                self.value(node.this, scope)
                branches.append(self.value(branch.args["true"], scope))
                continue
            inside = scope.where(self._told(branch.this, scope, holds=True))
            if not inside.dead and not self._is_never(_bare(branch.this), scope):
                branches.append(self.value(branch.args["true"], inside))
            scope = scope.where(self._told(branch.this, scope, holds=False))
        sure = self._is_sure(node, branches)
        if node.args.get("default") is not None and not scope.dead:
            branches.append(self.value(node.args["default"], scope))
        if not branches:  # NULL for every row, in the type that is written all the same
            branches = [self.value(branch.args["true"], around) for branch in node.args["ifs"]]
        return replace(self._either(branches), sure=sure)

    def _is_sure(self, node: exp.Expression, branches: Sequence[Value]) -> bool:
        """Whether a CASE is never NULL: what it falls back on was asked for NULL first, the others are constants."""
        default, asked = node.args.get("default"), _bare(node.args["ifs"][0].this)
        if default is None or not isinstance(asked, exp.Is) or not isinstance(asked.expression, exp.Null):
            return False
        return _shape(asked.this) == _shape(default) and all(part.literal or part.sure for part in branches)

    def _is_never(self, node: exp.Expression, scope: Scope) -> bool:
        """Whether a number is looked for below anything that it can be."""
        if not isinstance(node, exp.LT):
            return False
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        return OTHER not in {left.type.family, right.type.family} and left.low >= right.high

    def _coalesce(self, node: exp.Expression, scope: Scope) -> Value:
        return self._either([self.value(part, scope) for part in (node.this, *node.expressions)])

    def _either(self, parts: Sequence[Value]) -> Value:
        numbers = [part for part in parts if part.type.family is not OTHER]
        numbers = [part for part in numbers if not part.never] or numbers
        if not numbers:
            return Value(Type(OTHER))
        kind, written = numbers[0].type, numbers[0].written
        for part in numbers[1:]:
            kind = self.rules.common(kind, part.type, literals=(written, part.written))
            written = min(written, part.written) if written and part.written else 0
        low, high = min(p.low for p in numbers), max(p.high for p in numbers)
        if kind.family is MOMENT:  # one that may be beyond the calendar is looked at where it is used
            return Value(kind, low, high)
        return replace(self._checked(exp.Null(), kind, low, high), grain=_grain_of(exp.Null(), *numbers))

    def _floored(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        return replace(
            inner,
            low=Fraction(math.floor(inner.low)),
            high=Fraction(math.floor(inner.high)),
            literal=False,
            grain=Fraction(1),
        )

    def _summed(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        ends = [end * count for end in (inner.low, inner.high) for count in (0, scope.at_most)]
        found = self._checked(node, self.rules.summed(inner.type), min(ends), max(ends))
        return replace(found, per_row=(inner.low, inner.high))

    def _counted(self, node: exp.Expression, scope: Scope) -> Value:
        if isinstance(node.this, exp.Expression) and not isinstance(node.this, exp.Star):
            for part in node.this.expressions if isinstance(node.this, exp.Distinct) else [node.this]:
                self.value(part, scope)
            return Value(Type(INTEGER, 64), Fraction(0), Fraction(scope.at_most), per_row=(Fraction(0), Fraction(1)))
        return Value(Type(INTEGER, 64), Fraction(0), Fraction(scope.at_most), counts=True)

    def _extreme(self, node: exp.Expression, scope: Scope) -> Value:
        return replace(self.value(node.this, scope), literal=False, per_row=None)

    def _between(self, node: exp.Expression, scope: Scope) -> Value:
        """LEAST and GREATEST leave out what is NULL; a constant never is."""
        parts = [self.value(part, scope) for part in (node.this, *node.expressions)]
        found, sure = self._either(parts), [part for part in parts if part.literal or part.counts or part.sure]
        if isinstance(node, exp.Least):
            return replace(found, high=min([found.high, *(part.high for part in sure)]))
        return replace(found, low=max([found.low, *(part.low for part in sure)]))

    def _window(self, node: exp.Expression, scope: Scope) -> Value:
        for part in [*(node.args.get("partition_by") or ()), *getattr(node.args.get("order"), "expressions", ())]:
            self.value(part.this if isinstance(part, exp.Ordered) else part, scope)
        return replace(self.value(node.this, scope), per_row=None, counts=False)

    def _ranked(self, node: exp.Expression, scope: Scope) -> Value:
        bits = 32 if self.rules.dialect == "spark" else 64
        return Value(Type(INTEGER, bits), Fraction(1), Fraction(min(ROWS, (1 << (bits - 1)) - 1)))

    def _root(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        return Value(Type(DOUBLE), Fraction(0), max(Fraction(1), inner.high))

    def _log(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        if inner.low <= 0:
            raise Unproved(f"{self.rules.dialect}: a logarithm may be of zero: {node.sql()[:300]}")
        return Value(Type(DOUBLE), *(Fraction(_log_of(end)) for end in (inner.low, inner.high)))

    def _exponential(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        return self._raised(node, Value(Type(DOUBLE), *(Fraction(math.e),) * 2), inner)

    def _cube_root(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        most = max(abs(inner.low), abs(inner.high), Fraction(1))
        return Value(Type(DOUBLE), -most, most)

    def _raised(self, node: exp.Expression, base: Value, power: Value) -> Value:
        """What PostgreSQL calls too large or too small is not proved."""
        if base.low < 0 or (base.low == 0 and power.low <= 0):
            raise Unproved(f"{self.rules.dialect}: a power may not be there: {node.sql()[:300]}")
        ends = [_log_of(b) * float(p) for b in (base.low, base.high) if b for p in (power.low, power.high)]
        if not all(abs(end) < 690 for end in ends):
            raise Unproved(f"{self.rules.dialect}: a power may be too large: {node.sql()[:300]}")
        found = [Fraction(math.exp(end)) for end in ends] + ([Fraction(0)] if base.low == 0 else [])
        return Value(Type(DOUBLE), min(found), max(found))

    def _part(self, node: exp.Expression, scope: Scope) -> Value:
        """A part of a moment: EXTRACT(YEAR FROM x), YEAR(x)."""
        extracted = isinstance(node, exp.Extract)
        name = str(node.this.name).upper() if extracted else type(node).__name__.upper()
        inner = self.value(node.expression if extracted else node.this, scope)
        if self.rules.dialect == "duckdb" and name in moments.UNSAFE:
            raise Unproved(f"duckdb: {name} may fail on a column's least cell: {node.sql()[:300]}")
        found = moments.part(name, (inner.low, inner.high))
        if found is None:
            raise Unproved(f"{self.rules.dialect}: a part of a date may not be there: {node.sql()[:300]}")
        if name == "EPOCH":
            return Value(Type(DOUBLE), *found)
        bits = 32 if self.rules.dialect == "spark" else 64
        return Value(Type(FIXED) if self.rules.dialect == "postgres" else Type(INTEGER, bits), *found)

    # ── moments ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _in_calendar(self, node: exp.Expression, kind: Type, ends: Ends | None) -> Value:
        if ends is None or not moments.is_known(ends):
            raise Unproved(f"{self.rules.dialect}: a date may be beyond the calendar: {node.sql()[:300]}")
        return Value(kind, *ends)

    def _as_moment(self, node: exp.Expression, kind: Type, written: exp.Expression, inner: Value) -> Value:
        if isinstance(written, exp.Literal):
            exact = moments.literal(str(written.this))
            return Value(kind, exact, exact, sure=True)
        if inner.type.family is not MOMENT:
            raise Unproved(f"{self.rules.dialect}: not understood: {node.sql()[:300]}")
        if kind == inner.type or (kind.size == 1 and not moments.is_known((inner.low, inner.high))):
            return replace(inner, type=kind)
        ends = inner.low, inner.high
        return self._in_calendar(node, kind, moments.whole_days(ends) if kind.size == 1 else ends)

    def _moved(self, node: exp.Expression, left: Value, right: Value) -> Value:
        """A moment and a number of days, an interval, or another moment."""
        ends, back = (left.low, left.high), isinstance(node, exp.Sub)
        if right.type.family is MOMENT and back and left.type.size == right.type.size == 1:
            self._in_calendar(node, left.type, ends)
            self._in_calendar(node, right.type, (right.low, right.high))
            bits = 32 if self.rules.dialect == "postgres" else 64
            kind, days = moments.days_between(ends, (right.low, right.high), bits)
            return self._checked(node, kind, *days)
        span = moments.span_of(_bare(node.expression))
        if span is not None and not back:
            self._in_calendar(node, left.type, ends)
            later = moments.each(ends, moments.months_later(span[0])) if span[0] else ends
            if later is not None:
                later = later[0] + span[1], later[1] + span[1] + (moments.DAY if span[0] and left.type.size > 1 else 0)
            return self._in_calendar(node, left.type, later)
        if right.type.family is INTEGER and not back and _is_months(_bare(node.expression)):
            return self._later(node, left, right)
        if right.type.family is INTEGER and not back:
            unit = 1 if isinstance(_bare(node.expression), (exp.Anonymous, exp.MakeInterval)) else moments.DAY
            return self._in_calendar(node, left.type, (left.low + right.low * unit, left.high + right.high * unit))
        raise Unproved(f"{self.rules.dialect}: not understood: {node.sql()[:300]}")

    def _truncated(self, node: exp.Expression, scope: Scope) -> Value:
        inner, unit = self.value(node.this, scope), str(node.args["unit"].name).upper()
        known = self._in_calendar(node, Type(MOMENT, 2), (inner.low, inner.high))
        cut = moments.each((known.low, known.high), moments.start_of(unit))
        late = moments.DAY - 1 if unit in {"HOUR", "MINUTE", "SECOND"} else 0
        return self._in_calendar(node, known.type, None if cut is None else (cut[0], cut[1] + late))

    def _day_of(self, node: exp.Expression, scope: Scope) -> Value:
        return self._as_moment(node, Type(MOMENT, 1), exp.Null(), self.value(node.this, scope))

    def _months_added(self, node: exp.Expression, scope: Scope) -> Value:
        return self._later(node, self._day_of(node, scope), self.value(node.expression, scope))

    def _later(self, node: exp.Expression, inner: Value, months: Value) -> Value:
        """A moment so many months later, which are as many as 32 bits hold."""
        self._in_calendar(node, inner.type, (inner.low, inner.high))
        if months.type.family is not INTEGER or max(abs(months.low), abs(months.high)) >= 1 << 31:
            raise Unproved(f"{self.rules.dialect}: months that are no INT: {node.sql()[:300]}")
        first = moments.each((inner.low, inner.low), moments.months_later(int(months.low)))
        last = moments.each((inner.high, inner.high), moments.months_later(int(months.high)))
        return self._in_calendar(node, inner.type, None if None in (first, last) else (first[0], last[1]))

    def _days_added(self, node: exp.Expression, scope: Scope) -> Value:
        inner, by = self._day_of(node, scope), self.value(node.expression, scope)
        ends = inner.low + by.low * moments.DAY, inner.high + by.high * moments.DAY
        if f"WEEKDAY({node.this.sql()})" in node.expression.sql():  # back to its Monday
            ends = moments.each((inner.low, inner.high), moments.start_of("WEEK")) or ends
        return self._in_calendar(node, inner.type, ends)

    def _days_between(self, node: exp.Expression, scope: Scope) -> Value:
        one, other = (self.value(side, scope) for side in (node.this, node.expression))
        for side in (one, other):
            self._in_calendar(node, side.type, (side.low, side.high))
        return self._checked(node, *_flat(moments.days_between((one.low, one.high), (other.low, other.high), 32)))

    def _micros(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        self._in_calendar(node, inner.type, (inner.low, inner.high))
        return Value(Type(INTEGER, 64), inner.low * 10**6, inner.high * 10**6)

    def _made_moment(self, node: exp.Expression, name: str, scope: Scope) -> Value:
        parts = [self.value(part, scope) for part in node.expressions]
        if name == "MAKE_DATE":
            years = int(parts[0].low), int(parts[0].high)
            ends = moments.literal(f"{years[0]:04}-01-01"), moments.literal(f"{years[1]:04}-12-31")
            return self._in_calendar(node, Type(MOMENT, 1), ends)
        per = {"TIMESTAMP_SECONDS": 1, "TIMESTAMP_MICROS": 10**6}[name]
        return self._in_calendar(node, Type(MOMENT, 2), (parts[0].low / per, parts[0].high / per))

    def _known(self, node: exp.Expression, name: str, scope: Scope) -> Value:
        for child in node.iter_expressions():
            self.value(child, scope)
        bits, low, high = _KNOWN[name]
        return Value(Type(INTEGER, bits), Fraction(low), Fraction(high))

    def _called(self, node: exp.Expression, scope: Scope) -> Value:
        name = str(node.this).upper()
        if name == "DIV":
            return self._divided(exp.IntDiv(this=node.expressions[0], expression=node.expressions[1]), scope)
        if name == "PMOD":
            return self._positive_remainder(node, scope)
        if name == "POWER":
            return self._raised(node, *(self.value(part, scope) for part in node.expressions))
        if name in {"MAKE_DATE", "TIMESTAMP_SECONDS", "TIMESTAMP_MICROS"}:
            return self._made_moment(node, name, scope)
        if name in {"TO_SECONDS", "TO_MONTHS"}:  # an interval, which only a moment is moved by
            return self.value(node.expressions[0], scope)
        if name == "LIST_EXTRACT":
            return self._listed_at(node, scope)
        if name in _KNOWN:
            return self._known(node, name, scope)
        for part in node.expressions:
            self.value(part, scope)
        return Value(Type(OTHER))

    def _listed_at(self, node: exp.Expression, scope: Scope) -> Value:
        """A number of a list that is written out: at no place is there none, which would be NULL."""
        listed, place = _bare(node.expressions[0]), self.value(node.expressions[1], scope)
        numbers = json.loads(listed.this.this) if isinstance(listed, exp.Cast) and listed.this.is_string else []
        if listed.args.get("to") != exp.DataType.build("BIGINT[]", dialect="duckdb"):
            raise Unproved(f"{self.rules.dialect}: not understood: {node.sql()[:300]}")
        if place.type.family is not INTEGER or not 1 <= place.low <= place.high <= len(numbers):
            raise Unproved(f"{self.rules.dialect}: a place may lie beyond its list: {node.sql()[:300]}")
        return self._checked(node, Type(INTEGER, 64), Fraction(min(numbers)), Fraction(max(numbers)))

    def _interval(self, node: exp.Expression, scope: Scope) -> Value:
        """So many seconds, in PostgreSQL: a double, in which whole ones are exact. Or so many months, an INT."""
        if _is_months(node):
            return self.value(node.args["month"], scope)
        others = {name: part for name, part in node.args.items() if part is not None and name != "second"}
        if any(str(part.this) != "0" for part in others.values()) or not isinstance(node.args["second"], exp.Cast):
            raise Unproved(f"{self.rules.dialect}: not understood: {node.sql()[:300]}")
        seconds = self.value(node.args["second"].this, scope)
        if max(abs(seconds.low), abs(seconds.high)) >= 1 << 53:
            raise Unproved(f"{self.rules.dialect}: seconds that no double holds: {node.sql()[:300]}")
        return seconds

    def _member(self, node: exp.Expression, scope: Scope) -> Value:
        self.value(node.this, scope) if not isinstance(node, exp.Exists) else self.query(node.this, scope)
        for part in node.expressions:
            self.value(part, scope)
        if isinstance(node.args.get("query"), exp.Expression):
            self.query(node.args["query"], scope)
        return Value(Type(OTHER))

    def _decided(self, node: exp.Expression, scope: Scope) -> Value:
        self._told(node, scope, holds=True)
        return Value(Type(OTHER))


def _flat(found: tuple[Type, Ends]) -> tuple[Type, Fraction, Fraction]:
    return found[0], *found[1]


def _shown(end: Fraction) -> str:
    whole = int(end)
    return str(whole) if abs(whole) < 1 << 20 else f"{'-' if whole < 0 else ''}2^{abs(whole).bit_length() - 1}…"


def _grain(kind: Type) -> Fraction:
    """Of what every number of a type is a multiple; 0 where there is no such thing."""
    if kind.family is DOUBLE:
        return _LEAST_DOUBLE
    return Fraction(1, 10**kind.scale) if kind.family in {INTEGER, DECIMAL} else Fraction(0)


def _multiple(value: Value) -> Fraction:
    """The same for a number: a double keeps to a grain that is a power of two, and to no other."""
    exact = value.type.family is not DOUBLE or value.grain.denominator.bit_count() == 1
    return max(value.grain if exact else Fraction(0), _grain(value.type))


def _grain_of(node: exp.Expression, *parts: Value) -> Fraction:
    """Of what a number is a multiple that is made of others: none of what is divided, one of whole quotients."""
    grains = [_multiple(part) for part in parts]
    if isinstance(node, (exp.Div, exp.IntDiv)):
        return Fraction(isinstance(node, exp.IntDiv))
    if isinstance(node, exp.Mul):
        return grains[0] * grains[1]
    below = math.lcm(*(grain.denominator for grain in grains))
    return Fraction(math.gcd(*(int(grain * below) for grain in grains)), below) if all(grains) else Fraction(0)


def _log_of(end: Fraction) -> float:
    """The logarithm of what no double may hold."""
    return math.log(end.numerator) - math.log(end.denominator)


def _hull(ends: Iterator[Fraction]) -> Ends:
    both = list(ends)
    return min(both), max(both)


def _is_remainder_of(node: exp.Expression, whole: exp.Expression) -> bool:
    node = _bare(node)
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "PMOD":
        return _shape(node.expressions[0]) == _shape(whole)
    return isinstance(node, exp.Mod) and _shape(node.this) == _shape(whole)


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _shape(node: exp.Expression) -> Shape:
    """The number of what an expression reads like, parentheses aside; worked out once, from those of its parts."""
    node = _bare(node)
    if isinstance(node, exp.Column):
        return _column_shape(node.table, node.name)
    shape = node.meta.get(_SHAPE)
    if shape is None:
        parts = ((name, _part_shape(part)) for name, part in node.args.items() if part not in (None, False, []))
        node.meta[_SHAPE] = shape = _numbered((type(node), *parts))
    return int(shape)


def _part_shape(part: object) -> object:
    if isinstance(part, exp.Expression):
        return exp.Expression, _shape(part)
    return (list, *map(_part_shape, part)) if isinstance(part, list) else str(part)


def _column_shape(table: str, name: str) -> Shape:
    return _numbered((exp.Column, table, name))


def _numbered(shape: tuple[object, ...]) -> Shape:
    return _SHAPES.setdefault(shape, len(_SHAPES))


_SHAPES: dict[tuple[object, ...], Shape] = {}  # of one query at a time
_OPERATIONS = {
    exp.Add: lambda a, b: (a.low + b.low, a.high + b.high),
    exp.Sub: lambda a, b: (a.low - b.high, a.high - b.low),
    exp.Mul: lambda a, b: _hull(x * y for x in (a.low, a.high) for y in (b.low, b.high)),
}
_LEAST_DOUBLE = Fraction(1, 1 << 1074)
_MULTIPLES = {  # what of a number's parts tells how small it can be
    exp.Neg: lambda walk, node, scope: walk._least(node.this, scope),
    exp.Cast: lambda walk, node, scope: walk._least(node.this, scope),
    exp.Mul: lambda walk, node, scope: walk._least(node.this, scope) * walk._least(node.expression, scope),
    exp.Div: lambda walk, node, scope: walk._least_quotient(node, scope),
    exp.Ln: lambda walk, node, scope: Fraction(1, 1 << 54),  # of the double next to one
    exp.Sqrt: lambda walk, node, scope: min(walk._least(node.this, scope), Fraction(1)),
}
_NO_FRACTION = {"nan", "infinity", "-infinity", "inf", "-inf"}
_OPPOSITE = {exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT}
_MIRRORED = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ}
_KNOWN = {  # bits, and the ends
    "LENGTH": (64, 0, 1 << 32),
    "STR_POSITION": (64, 0, 1 << 32),
    "CHAR_LENGTH": (32, 0, (1 << 31) - 1),
    "WEEKDAY": (32, 0, 6),
    "DAYOFWEEK": (32, 1, 7),
    "DAY_OF_WEEK": (32, 1, 7),
}
_BUILDERS = {
    **dict.fromkeys(_OPERATIONS, _Walk._binary),
    exp.IntDiv: _Walk._divided,
    exp.Div: _Walk._divided,
    exp.Mod: _Walk._remainder,
    exp.Neg: _Walk._negated,
    exp.Abs: _Walk._absolute,
    exp.Cast: _Walk._cast,
    exp.TryCast: _Walk._cast,  # so sqlglot reads the CAST of Spark; we write none for numbers
    exp.Case: _Walk._case,
    exp.Coalesce: _Walk._coalesce,
    exp.Nullif: _Walk._or_null,
    exp.Floor: _Walk._floored,
    exp.Sum: _Walk._summed,
    exp.Count: _Walk._counted,
    exp.Min: _Walk._extreme,
    exp.Max: _Walk._extreme,
    exp.Lag: _Walk._extreme,
    exp.Lead: _Walk._extreme,
    exp.FirstValue: _Walk._extreme,
    exp.LastValue: _Walk._extreme,
    exp.Least: _Walk._between,
    exp.Greatest: _Walk._between,
    exp.Window: _Walk._window,
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank), _Walk._ranked),
    exp.Sqrt: _Walk._root,
    exp.Ln: _Walk._log,
    exp.Exp: _Walk._exponential,
    exp.Cbrt: _Walk._cube_root,
    exp.Pow: lambda walk, node, scope: walk._raised(
        node, walk.value(node.this, scope), walk.value(node.expression, scope)
    ),
    **dict.fromkeys((exp.Extract, exp.Year, exp.Month), _Walk._part),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), _Walk._truncated),
    exp.TsOrDsToDate: _Walk._day_of,
    exp.AddMonths: _Walk._months_added,
    exp.TsOrDsAdd: _Walk._days_added,
    exp.DateDiff: _Walk._days_between,
    exp.UnixMicros: _Walk._micros,
    exp.Anonymous: _Walk._called,
    exp.MakeInterval: _Walk._interval,
    exp.In: _Walk._member,
    exp.Exists: _Walk._member,
    **dict.fromkeys((exp.And, exp.Or, exp.Not, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ), _Walk._decided),
}
