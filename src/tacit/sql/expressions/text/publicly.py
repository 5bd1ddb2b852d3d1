"""Texts computed publicly: what an expression can be worth, where every column in it has a public domain.

Python computes what the engines compute, character by character; what it could not is left private.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused, TacitError
from tacit.policy import ColumnPolicy, ColumnType, ListDomain, RangeDomain
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, Value, bare
from tacit.sql.expressions.names.sugar import plain
from tacit.sql.expressions.text.spaces import SPACES

MAX_WAYS = 10_000  # values of one column, and of the whole
MAX_WORK = 50_000  # combinations of the columns' values that are tried, times the parts of the expression
_NO_SIMPLE_CAPITAL = range(0x1F80, 0x2000)  # Greek with a iota below: engines have a sign for it, Python two letters
Row = Mapping[str, Value]
Truths = frozenset[bool | None]
_ANYTHING: Truths = frozenset((True, False, None))


class Unlisted(Exception):
    """A value that is not public."""


def public_values(node: exp.Expression, scope: Scope) -> tuple[Value, ...] | None:
    """Every value that an expression has over the domains of its columns, NULL aside; None where it has others."""
    try:
        columns = _columns(node, scope)
        worlds = [_cells(*scope.column(column)) for column in columns.values()]
        if math.prod(map(len, worlds)) * sum(1 for _ in node.walk()) > MAX_WORK:
            return None
        possible: dict[Value, None] = {}
        for cells in itertools.product(*worlds):
            values = _Cells(scope, dict(zip(columns, cells, strict=True))).values(node)
            possible |= dict.fromkeys(sorted((value for value in values if value is not None), key=str))
            if len(possible) > MAX_WAYS:
                return None
    except (Unlisted, TacitError):
        return None
    return tuple(possible)


def _columns(node: exp.Expression, scope: Scope) -> dict[str, exp.Column]:
    """The columns with a public domain, by what the relation calls them."""
    columns: dict[str, exp.Column] = {}
    for column in node.find_all(exp.Column):
        policy, kind = scope.column(column)
        if isinstance(policy.domain, (ListDomain, RangeDomain)) or kind is ColumnType.BOOLEAN:
            columns.setdefault(scope.known_as(column), column)
    return columns


def _cells(column: ColumnPolicy, kind: ColumnType) -> list[Value]:
    """Every cell that a column may have, as far as its domain tells, an empty one among them."""
    values: Sequence[Value]
    if isinstance(column.domain, ListDomain):
        values = column.domain.values
    elif kind is ColumnType.BOOLEAN:
        values = (False, True)
    elif column.bounds is not None and kind.is_numeric and column.bounds.cells <= MAX_WAYS:
        values = tuple(column.bounds.lower + i * column.bounds.step for i in range(column.bounds.cells))
    else:
        raise Unlisted
    empty = column.null if isinstance(column.null, (str, bool, int, Fraction)) else None
    return [*values, empty]


class _Cells:
    """Expressions over one row of public cells. A condition on anything else may come out either way."""

    def __init__(self, scope: Scope, row: Row) -> None:
        self.scope, self.row = scope, row

    def values(self, node: exp.Expression) -> set[Value]:
        node = plain(bare(node))
        if self.scope.is_constant(node):
            return {self.scope.value(node)}
        if isinstance(node, exp.Column):
            return {self._cell(node)}
        if isinstance(node, exp.Case):
            return set(self._chosen(node))
        if isinstance(node, exp.Coalesce):
            return self._first(node)
        build = _FUNCTIONS.get(type(node))
        if build is None:
            raise Unlisted
        arguments = [self.values(part) for part in _parts(node)]
        return {build(node, *chosen) for chosen in itertools.product(*arguments)}

    def _cell(self, node: exp.Column) -> Value:
        name = self.scope.known_as(node)
        if name not in self.row:
            raise Unlisted
        return self.row[name]

    def _chosen(self, node: exp.Case) -> Iterator[Value]:
        subject = node.args.get("this")
        for branch in node.args["ifs"]:
            when = branch.this if subject is None else exp.EQ(this=copied(subject), expression=copied(branch.this))
            truths = self.truths(when)
            if True in truths:
                yield from self.values(branch.args["true"])
            if truths == {True}:
                return
        default = node.args.get("default")
        yield from {None} if default is None else self.values(default)

    def _first(self, node: exp.Coalesce) -> set[Value]:
        firsts: set[Value] = {None}
        for part in (node.this, *node.expressions):
            if None not in firsts:
                break
            firsts = (firsts - {None}) | self.values(part)
        return firsts

    def truths(self, node: exp.Expression) -> Truths:
        """What a condition can come out as; all three where it looks at what is not public."""
        node = bare(node)
        try:
            if isinstance(node, (exp.And, exp.Or)):
                return self._joined(node)
            if isinstance(node, exp.Not):
                return frozenset(None if held is None else not held for held in self.truths(node.this))
            return self._simple(node)
        except (Unlisted, TacitError):
            return _ANYTHING

    def _simple(self, node: exp.Expression) -> Truths:
        if isinstance(node, exp.In) and not node.args.get("query"):
            value = self.values(node.this)
            listed = [self.scope.value(item) for item in node.expressions]
            return frozenset(_any([None if None in (each, x) else _equal(each, x) for x in listed]) for each in value)
        if type(node) in _COMPARED:
            return self._compared(type(node), node.this, node.expression)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return frozenset(value is None for value in self.values(node.this))
        return _ANYTHING

    def _joined(self, node: exp.Expression) -> Truths:
        decisive = isinstance(node, exp.Or)
        pairs = itertools.product(self.truths(node.this), self.truths(node.expression))
        return frozenset(decisive if decisive in pair else None if None in pair else not decisive for pair in pairs)

    def _compared(self, kind: type, left: exp.Expression, right: exp.Expression) -> Truths:
        pairs = itertools.product(self.values(left), self.values(right))
        return frozenset(None if None in pair else _COMPARED[kind](*pair) for pair in pairs)


def _any(held: Sequence[bool | None]) -> bool | None:
    return True if True in held else None if None in held else False


def _alike(left: Value, right: Value) -> None:
    if isinstance(left, str) is not isinstance(right, str):
        raise Unlisted


def _equal(left: Value, right: Value) -> bool:
    _alike(left, right)
    return left == right


def _below(left: Value, right: Value) -> bool:
    _alike(left, right)
    return left < right  # type: ignore[operator]  # both are texts, in the order of their code points, or numbers


_COMPARED: dict[type, Callable[[Value, Value], bool]] = {
    exp.EQ: _equal,
    exp.NEQ: lambda a, b: not _equal(a, b),
    exp.LT: _below,
    exp.LTE: lambda a, b: not _below(b, a),
    exp.GT: lambda a, b: _below(b, a),
    exp.GTE: lambda a, b: not _below(a, b),
}


# ── functions ────────────────────────────────────────────────────────────────────────────────────────────────────────


_ARGUMENTS: dict[type, tuple[str, ...]] = {
    exp.Substring: ("this", "start", "length"),
    exp.SplitPart: ("this", "delimiter", "part_index"),
    exp.Replace: ("this", "expression", "replacement"),
    exp.Translate: ("this", "from_", "to"),
    exp.Pad: ("this", "expression", "fill_pattern"),
    exp.Cast: ("this",),
}


def _parts(node: exp.Expression) -> list[exp.Expression]:
    """The arguments of a function, those that are left out aside."""
    if isinstance(node, exp.DPipe):
        return [part for part in node.flatten() if isinstance(part, exp.Expression)]
    if isinstance(node, (exp.Concat, exp.ConcatWs)):
        return list(node.expressions)
    chosen = [node.args.get(name) for name in _ARGUMENTS.get(type(node), ("this", "expression"))]
    return [part for part in chosen if isinstance(part, exp.Expression)]


def written(value: Value) -> str:
    """A value as every engine writes it; numbers that are not whole are private, for engines differ."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, (int, Fraction)) and value.denominator == 1:
        return str(int(value))
    raise Unlisted


def _strict(build: Callable[..., Value]) -> Callable[..., Value]:
    """NULL if any argument is."""

    def of(node: exp.Expression, *values: Value) -> Value:
        return None if None in values else build(node, *values)

    return of


def _upper(letter: str) -> str:
    if ord(letter) in _NO_SIMPLE_CAPITAL and len(letter.upper()) > 1:
        raise Unlisted
    return "ẞ" if letter == "ß" else letter.upper() if len(letter.upper()) == 1 else letter


def lower(text: str) -> str:
    """In small letters, one for one: İ has two in Python."""
    return "".join(letter.lower()[0] for letter in text)


def upper(text: str) -> str:
    """In capitals, one for one: ß has two in Python."""
    return "".join(map(_upper, text))


def _substring(node: exp.Expression, text: str, start: int, length: int | None = None) -> str:
    if start < 0:
        return text[start:]
    if start == 0:
        start, length = 1, None if length is None else max(length - 1, 0)
    return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]


def _split_part(node: exp.Expression, text: str, by: str, part: int) -> str:
    parts = text.split(by)
    index = part - 1 if part > 0 else len(parts) + part
    return parts[index] if 0 <= index < len(parts) else ""


def _trim(node: exp.Expression, text: str, characters: str = SPACES) -> str:
    position = str(node.args.get("position") or "BOTH").upper()
    text = text if position == "TRAILING" else text.lstrip(characters)
    return text if position == "LEADING" else text.rstrip(characters)


def _pad(node: exp.Expression, text: str, width: int, fill: str = " ") -> str:
    missing = max(width - len(text), 0)
    filled = (fill * (missing // len(fill) + 1))[:missing]
    return text[:width] if not missing else filled + text if node.args.get("is_left") else text + filled


def _translate(node: exp.Expression, text: str, old: str, new: str) -> str:
    table = {letter: new[index : index + 1] for index, letter in enumerate(old)}
    return "".join(table.get(letter, letter) for letter in text)


def _cast(node: exp.Expression, value: Value) -> Value:
    if ColumnType.from_sql(node.args["to"].sql(dialect="duckdb")) is not ColumnType.TEXT:
        raise Unlisted
    return written(value)


def _quotient(node: exp.Expression, above: Fraction, below: Fraction) -> Fraction:
    if below == 0:
        raise QueryRefused("a division by zero is refused")
    return Fraction(above) / below


_FUNCTIONS: dict[type, Callable[..., Value]] = {
    exp.Lower: _strict(lambda node, text: lower(text)),
    exp.Upper: _strict(lambda node, text: upper(text)),
    exp.Trim: _strict(_trim),
    exp.Left: _strict(lambda node, text, count: text[:count]),
    exp.Right: _strict(lambda node, text, count: text[-count:] if count else ""),
    exp.Substring: _strict(_substring),
    exp.SplitPart: _strict(_split_part),
    exp.DPipe: _strict(lambda node, *values: "".join(map(written, values))),
    exp.Concat: lambda node, *values: "".join("" if value is None else written(value) for value in values),
    exp.ConcatWs: lambda node, by, *values: str(by).join(written(value) for value in values if value is not None),
    exp.Replace: _strict(lambda node, text, old, new: text.replace(old, new)),
    exp.Translate: _strict(_translate),
    exp.Reverse: _strict(lambda node, text: text[::-1]),
    exp.Pad: _strict(_pad),
    exp.Cast: _strict(_cast),
    exp.Length: _strict(lambda node, text: len(text)),
    exp.Add: _strict(lambda node, a, b: Fraction(a) + b),
    exp.Sub: _strict(lambda node, a, b: Fraction(a) - b),
    exp.Mul: _strict(lambda node, a, b: Fraction(a) * b),
    exp.Div: _strict(_quotient),
    exp.Floor: _strict(lambda node, value: Fraction(math.floor(value))),
}
