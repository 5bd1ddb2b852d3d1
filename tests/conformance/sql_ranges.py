"""What every node of a generated query can be, by interval arithmetic: whether one of them can overflow its type.

Written from the engines' own rules of types, on the text that they are given, and knowing nothing of how it was made.
A number is looked at with the ends of its column's type, with what the conditions around it leave of that, and with
a trillion rows. Whatever is not understood is reported as well: a node that nobody looked at is not proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import sqlglot
from sqlglot import exp

from conformance.sql_types import DECIMAL, DOUBLE, FIXED, INTEGER, OTHER, Rules, Type, literal_type, named_type

ROWS = 1 << 40
Ends = tuple[Fraction, Fraction]
_SLACK = Fraction(1, 1 << 50)  # what a double may be off by, for each operation
_FAR = Fraction(10) ** 400


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


@dataclass
class Scope:
    """The columns that a query reads, what is known of expressions there, and the query around it."""

    tables: dict[str, dict[str, Value]] = field(default_factory=dict)
    known: dict[str, Ends] = field(default_factory=dict)  # by the text of the expression
    outer: Scope | None = None
    ctes: dict[str, dict[str, Value]] = field(default_factory=dict)
    at_most: int = ROWS  # rows of a group

    def column(self, node: exp.Column) -> Value:
        tables = [self.tables[node.table]] if node.table in self.tables else list(self.tables.values())
        for columns in tables if not node.table or node.table in self.tables else ():
            if node.name in columns:
                return columns[node.name]
        if self.outer is None:
            raise Unproved(f"no column {node.sql()}")
        return self.outer.column(node)

    def where(self, known: Mapping[str, Ends]) -> Scope:
        together = dict(self.known)
        for text, ends in known.items():
            together[text] = _meet(together.get(text, (-_FAR, _FAR)), ends)
        return replace(self, known=together)


def _meet(one: Ends, other: Ends) -> Ends:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else (low, low)  # a branch that no row can reach


def prove(sql: str, dialect: str, tables: Mapping[str, Mapping[str, str]]) -> int:
    """Raise Unproved where a node of the query could overflow; else how many were looked at."""
    tree = sqlglot.parse_one(sql, dialect=dialect)
    rows = {
        table: {column: _of_type(named_type(kind, "duckdb")) for column, kind in columns.items()}
        for table, columns in tables.items()
    }
    walk = _Walk(Rules(dialect), rows)
    walk.query(tree, Scope())
    return walk.looked_at


def _of_type(kind: Type) -> Value:
    return Value(kind, *kind.ends) if kind.family in {INTEGER, DECIMAL} else Value(kind)


@dataclass
class _Walk:
    rules: Rules
    rows: Mapping[str, Mapping[str, Value]]
    looked_at: int = 0

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

    def _told(self, node: exp.Expression, scope: Scope, *, holds: bool) -> dict[str, Ends]:
        """What a condition says of the expressions in it. Every one of them is looked at."""
        node = _bare(node)
        if isinstance(node, exp.Not):
            return self._told(node.this, scope, holds=not holds)
        if isinstance(node, (exp.And, exp.Or)):
            told: dict[str, Ends] = {}
            for part in (node.this, node.expression):
                found = self._told(part, scope.where(told), holds=holds)
                if isinstance(node, exp.And) == holds:
                    told = scope.where(told).where(found).known
            return told
        if isinstance(node, (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ)):
            return self._compared(node, scope, holds=holds)
        self.value(node, scope)
        return {}

    def _compared(self, node: exp.Expression, scope: Scope, *, holds: bool) -> dict[str, Ends]:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        told: dict[str, Ends] = {}
        kind = type(node) if holds else _OPPOSITE.get(type(node))
        for side, other, mirrored in ((node.this, right, False), (node.expression, left, True)):
            if kind is None or other.type.family is OTHER:
                continue
            direction = _MIRRORED[kind] if mirrored else kind
            low = other.low if direction in {exp.GT, exp.GTE, exp.EQ} else -_FAR
            high = other.high if direction in {exp.LT, exp.LTE, exp.EQ} else _FAR
            whole = (right if mirrored else left).type.family is INTEGER and other.type.family is INTEGER
            told[_text(side)] = low + (whole and direction is exp.GT), high - (whole and direction is exp.LT)
        return told

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def value(self, node: exp.Expression, scope: Scope) -> Value:
        """What an expression can be, with what is known of it here."""
        found = self._value(_bare(node), scope)
        known = scope.known.get(_text(node))
        if found.per_row is not None and not found.counts:
            rows = self._rows(scope)
            ends = [end * count for end in found.per_row for count in (0, rows)]
            known = _meet(known or (-_FAR, _FAR), (min(ends), max(ends)))
        if known is None or found.type.family is OTHER:
            return found
        low, high = _meet((found.low, found.high), known)
        return replace(found, low=low, high=high)

    def _rows(self, scope: Scope) -> Fraction:
        """How many rows the group has that a sum is of."""
        ends = [Fraction(ROWS)]
        for alias, columns in scope.tables.items():
            for name, value in columns.items():
                known = [scope.known[text][1] for text in (name, f"{alias}.{name}") if text in scope.known]
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
        return Value(literal_type(str(node.this), self.rules.dialect), exact, exact, literal=True)

    def _checked(self, node: exp.Expression, kind: Type, low: Fraction, high: Fraction) -> Value:
        if kind.family is OTHER:
            raise Unproved(f"{self.rules.dialect}: not understood: {node.sql()[:300]}")
        if kind.family not in {DOUBLE, FIXED} and not (kind.ends[0] <= low and high <= kind.ends[1]):
            raise Unproved(f"{self.rules.dialect}: {kind} may be {_shown(low)} to {_shown(high)}: {node.sql()[:300]}")
        return Value(kind, low, high)

    def _binary(self, node: exp.Expression, scope: Scope) -> Value:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        if OTHER in {left.type.family, right.type.family}:
            if isinstance(node, exp.Sub):  # of two dates, or one and an interval
                return Value(
                    Type(INTEGER, 32 if self.rules.dialect == "postgres" else 64),
                    Fraction(-(1 << 31)),
                    Fraction((1 << 31) - 1),
                )
            raise Unproved(f"{self.rules.dialect}: not understood: {node.sql()[:300]}")
        kind = self.rules.common(left.type, right.type, literals=(left.literal, right.literal))
        for side in (left, right):  # which is converted first
            self._checked(node, kind, side.low, side.high)
        low, high = _OPERATIONS[type(node)](left, right)
        if kind.family is DOUBLE:
            low, high = low - abs(low) * _SLACK, high + abs(high) * _SLACK
        found = self._checked(node, kind, low, high)
        if isinstance(node, exp.Mul) and left.per_row is not None and right.low == right.high:
            return replace(found, per_row=_hull(end * right.low for end in left.per_row))
        if isinstance(node, exp.Sub) and _is_remainder_of(node.expression, node.this):
            return replace(left, low=min(left.low, Fraction(0)), high=max(left.high, Fraction(0)), literal=False)
        return found

    def _divided(self, node: exp.Expression, scope: Scope) -> Value:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        if right.low < 1 and not right.counts and right.type.family is not DOUBLE:
            raise Unproved(f"{self.rules.dialect}: a divisor may be below one: {node.sql()[:300]}")
        least = max(right.low, Fraction(1)) if right.type.family is not DOUBLE else right.low
        if least <= 0:
            raise Unproved(f"{self.rules.dialect}: a divisor may be zero: {node.sql()[:300]}")
        ends = [end / by for end in (left.low, left.high) for by in (least, right.high)] + [Fraction(0)]
        if left.per_row is not None and right.counts:
            ends = [*left.per_row, Fraction(0)]
        elif left.low > 0:
            ends.pop()
        kind = self.rules.divided(node, left.type, right.type)
        margin = 1 if kind.family is INTEGER else 0
        return self._checked(node, kind, min(ends) - (margin if min(ends) < 0 else 0), max(ends))

    def _remainder(self, node: exp.Expression, scope: Scope) -> Value:
        left, right = self.value(node.this, scope), self.value(node.expression, scope)
        kind = self.rules.common(left.type, right.type, literals=(left.literal, right.literal))
        if right.low < 1 and not right.counts:
            raise Unproved(f"{self.rules.dialect}: a divisor may be below one: {node.sql()[:300]}")
        self._checked(node, kind, left.low, left.high)
        self._checked(node, kind, right.low, right.high)
        low = Fraction(0) if left.low >= 0 else max(left.low, 1 - right.high)
        return self._checked(node, kind, low, min(max(left.high, Fraction(0)), right.high - 1))

    def _negated(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        if inner.literal and inner.type.family is INTEGER:  # -9223372036854775808 is a literal of its own
            return replace(self._literal(exp.Literal.number(str(inner.high))), low=-inner.high, high=-inner.low)
        return replace(self._checked(node, inner.type, -inner.high, -inner.low), literal=inner.literal)

    def _absolute(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        sizes = abs(inner.low), abs(inner.high)
        low = Fraction(0) if inner.low <= 0 <= inner.high else min(sizes)
        return self._checked(node, inner.type, low, max(sizes))

    def _cast(self, node: exp.Expression, scope: Scope) -> Value:
        inner, kind = (
            self.value(node.this, scope),
            named_type(node.to.sql(dialect=self.rules.dialect), self.rules.dialect),
        )
        if kind.family is OTHER:
            return Value(kind)
        written = _bare(node.this)
        if isinstance(written, exp.Literal) and str(written.this).lower() not in _NO_FRACTION:
            exact = Fraction(str(written.this))
            return self._checked(node, kind, exact, exact)
        if inner.type.family is OTHER:
            return self._checked(node, kind, -_FAR, _FAR)
        return replace(self._checked(node, kind, inner.low, inner.high), per_row=inner.per_row, counts=inner.counts)

    def _case(self, node: exp.Expression, scope: Scope) -> Value:
        branches = []
        for branch in node.args["ifs"]:
            if node.args.get("this") is not None:
                raise Unproved(f"not understood: {node.sql()[:300]}")
            inside = scope.where(self._told(branch.this, scope, holds=True))
            branches.append(self.value(branch.args["true"], inside))
            scope = scope.where(self._told(branch.this, scope, holds=False))
        if node.args.get("default") is not None:
            branches.append(self.value(node.args["default"], scope))
        return self._either(branches)

    def _coalesce(self, node: exp.Expression, scope: Scope) -> Value:
        return self._either([self.value(part, scope) for part in (node.this, *node.expressions)])

    def _either(self, parts: Sequence[Value]) -> Value:
        numbers = [part for part in parts if part.type.family is not OTHER]
        if not numbers:
            return Value(Type(OTHER))
        kind, literal = numbers[0].type, numbers[0].literal
        for part in numbers[1:]:
            kind = self.rules.common(kind, part.type, literals=(literal, part.literal))
            literal = literal and part.literal
        found = self._checked(exp.Null(), kind, min(p.low for p in numbers), max(p.high for p in numbers))
        return replace(found, per_row=None)

    def _floored(self, node: exp.Expression, scope: Scope) -> Value:
        inner = self.value(node.this, scope)
        return replace(inner, low=inner.low - 1, literal=False)

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
        parts = [self.value(part, scope) for part in (node.this, *node.expressions)]
        found = self._either(parts)
        pick = min if isinstance(node, exp.Least) else max
        return replace(found, low=pick(p.low for p in parts), high=pick(p.high for p in parts))

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

    def _part(self, node: exp.Expression, scope: Scope) -> Value:
        self.value(node.expression, scope)
        part = str(node.this.name).upper()
        if part == "EPOCH":
            return Value(Type(DOUBLE), Fraction(-(10**13)), Fraction(10**13))
        kind = (
            Type(FIXED)
            if self.rules.dialect == "postgres"
            else Type(INTEGER, 32 if self.rules.dialect == "spark" else 64)
        )
        return Value(kind, Fraction(-(10**6) * 6), Fraction(10**6 * 6))

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
            return self._remainder(exp.Mod(this=node.expressions[0], expression=node.expressions[1]), scope)
        if name in _KNOWN:
            return self._known(node, name, scope)
        for part in node.expressions:
            self.value(part, scope)
        return Value(Type(OTHER))

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


def _shown(end: Fraction) -> str:
    whole = int(end)
    return str(whole) if abs(whole) < 1 << 20 else f"{'-' if whole < 0 else ''}2^{abs(whole).bit_length() - 1}…"


def _hull(ends: Iterator[Fraction]) -> Ends:
    both = list(ends)
    return min(both), max(both)


def _is_remainder_of(node: exp.Expression, whole: exp.Expression) -> bool:
    node = _bare(node)
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "PMOD":
        return _text(node.expressions[0]) == _text(whole)
    return isinstance(node, exp.Mod) and _text(node.this) == _text(whole)


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _text(node: exp.Expression) -> str:
    node = _bare(node)
    if isinstance(node, exp.Column):
        return f"{node.table}.{node.name}" if node.table else node.name
    return node.sql()


_OPERATIONS = {
    exp.Add: lambda a, b: (a.low + b.low, a.high + b.high),
    exp.Sub: lambda a, b: (a.low - b.high, a.high - b.low),
    exp.Mul: lambda a, b: _hull(x * y for x in (a.low, a.high) for y in (b.low, b.high)),
}
_NO_FRACTION = {"nan", "infinity", "-infinity", "inf", "-inf"}
_OPPOSITE = {exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT}
_MIRRORED = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ}
_KNOWN = {  # bits, and the ends
    "LENGTH": (64, 0, 1 << 32),
    "CHAR_LENGTH": (32, 0, (1 << 31) - 1),
    "YEAR": (32, -300_000, 300_000),
    "MONTH": (32, 1, 12),
    "WEEKDAY": (32, 0, 6),
    "DAYOFWEEK": (32, 1, 7),
    "DAY_OF_WEEK": (32, 1, 7),
    "UNIX_MICROS": (64, 1 - (1 << 63), (1 << 63) - 1),
    "DATEDIFF": (32, -(1 << 31), (1 << 31) - 1),
    "DATE_DIFF": (32, -(1 << 31), (1 << 31) - 1),
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
    exp.Floor: _Walk._floored,
    exp.Sum: _Walk._summed,
    exp.Count: _Walk._counted,
    exp.Min: _Walk._extreme,
    exp.Max: _Walk._extreme,
    exp.Lag: _Walk._extreme,
    exp.Lead: _Walk._extreme,
    exp.Least: _Walk._between,
    exp.Greatest: _Walk._between,
    exp.Window: _Walk._window,
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank), _Walk._ranked),
    exp.Sqrt: _Walk._root,
    exp.Extract: _Walk._part,
    exp.Anonymous: _Walk._called,
    exp.In: _Walk._member,
    exp.Exists: _Walk._member,
    **dict.fromkeys((exp.And, exp.Or, exp.Not, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ), _Walk._decided),
}
