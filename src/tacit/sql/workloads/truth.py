"""For which values of one column a condition holds: three-valued, as in SQL, and only where nothing is left open."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tacit.sql.expressions.names.scope import Value, bare, chain

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PublicCells:
    """The values of one column: its public domain, and what may stand outside of it.

    An ordered domain has all that is below, all that is above, and NULL; any other one has all other values, and NULL.
    """

    column: str
    domain: tuple[Value, ...]
    ordered: bool
    closed: bool = False  # nothing but NULL is outside: truth values

    @property
    def outside(self) -> int:
        """How many cells there are outside of the domain; the last is NULL."""
        return 1 if self.closed else 3 if self.ordered else 2

    @property
    def cells(self) -> int:
        """The domain's cells, and then those outside."""
        return len(self.domain) + self.outside


@dataclass(frozen=True, slots=True)
class Truth:
    """Where a condition is true, and where it is false; NULL is neither."""

    true: Mask
    false: Mask


def truth(node: exp.Expression, line: PublicCells) -> Truth | None:
    """For which cells the condition holds; None where it cannot be told, or a cell holds values of both kinds."""
    node = bare(node)
    for kinds, build in _BUILDERS:
        if isinstance(node, kinds):
            return build(node, line)
    return None


def _negated(node: exp.Expression, line: PublicCells) -> Truth | None:
    inner = truth(node.this, line)
    return None if inner is None else Truth(inner.false, inner.true)


def _bare_column(node: exp.Expression, line: PublicCells) -> Truth | None:
    return _compared(exp.EQ, True, line) if line.closed and _is(node, line) else None


def _joined(node: exp.Expression, line: PublicCells) -> Truth | None:
    truths = [truth(part, line) for part in chain(node)]
    parts = [part for part in truths if part is not None]
    if len(parts) < len(truths):
        return None
    both, either = np.logical_and.reduce, np.logical_or.reduce
    true, false = [part.true for part in parts], [part.false for part in parts]
    if isinstance(node, exp.And):
        return Truth(both(true), either(false))
    return Truth(either(true), both(false))


def _is(node: object, line: PublicCells) -> bool:
    return isinstance(node, exp.Column) and node.name.casefold() == line.column.casefold()


def _listed(node: exp.Expression, line: PublicCells) -> Truth | None:
    if not _is(node.this, line) or not node.expressions:
        return None
    values = [constant(item) for item in node.expressions]
    cells = {value: index for index, value in enumerate(line.domain)}
    if any(value is None or not _alike(value, line) or value not in cells for value in values):
        return None  # some value outside might be it
    true = np.zeros(line.cells, dtype=bool)
    true[[cells[value] for value in values]] = True
    return _told(true)


def _is_null(node: exp.Expression, line: PublicCells) -> Truth | None:
    if not _is(bare(node.this), line):
        return None
    if isinstance(node.expression, exp.Null):
        true = np.zeros(line.cells, dtype=bool)
        true[-1] = True
        return Truth(true, ~true)
    if isinstance(node.expression, exp.Boolean) and line.closed:
        known = _compared(exp.EQ, bool(node.expression.this), line)
        return None if known is None else Truth(known.true, ~known.true)
    return None


def _comparison(node: exp.Expression, line: PublicCells) -> Truth | None:
    left, right = bare(node.this), bare(node.expression)
    if _is(left, line):
        return _compared(type(node), constant(right), line)
    return _compared(_MIRRORED[type(node)], constant(left), line) if _is(right, line) else None


def _compared(kind: type[exp.Expression], value: Value, line: PublicCells) -> Truth | None:
    """`column <kind> value`. A cell outside the domain must be all on one side."""
    if value is None or not _alike(value, line):
        return None
    if kind in _EQUALITIES:
        if value not in line.domain:
            return None  # some value outside might be it
        true = np.full(line.cells, kind is exp.NEQ)
        true[line.domain.index(value)] = kind is exp.EQ
        return _told(true)
    ends = _ends(kind, value, line)
    if ends is None:
        return None
    below = bisect_right if kind in _AFTER_EQUALS else bisect_left
    first = below(line.domain, value)  # type: ignore[type-var]  # `_alike` says that they compare
    inside = np.arange(len(line.domain)) < first
    return _told(np.array([*(inside if kind in _BELOW else ~inside), *ends, False]))


def _told(true: Mask) -> Truth:
    """True there, and false elsewhere, but for NULL, which is neither."""
    true[-1] = False
    false = ~true
    false[-1] = False
    return Truth(true, false)


def _ends(kind: type[exp.Expression], value: Value, line: PublicCells) -> list[bool] | None:
    """What holds for all that is below and all that is above: the same at the nearest value as at the farthest."""
    if not line.ordered:
        return None
    below, above = (_number(line.domain[0]) - 1, _number(line.domain[-1]) + 1)
    compare, at = _ORDER[kind], _number(value)
    farthest = (compare(0, 1), compare(1, 0))  # as if the value were far above, or far below
    nearest = (compare(below, at), compare(above, at))
    return list(farthest) if nearest == farthest else None


def _alike(value: Value, line: PublicCells) -> bool:
    first = line.domain[0]
    if isinstance(first, (bool, str)) or isinstance(value, (bool, str)):
        return type(value) is type(first)
    if isinstance(first, date) or isinstance(value, date):
        return isinstance(first, date) and isinstance(value, date) and not isinstance(value, datetime)
    return True


def _number(value: Value) -> int | Fraction:
    if isinstance(value, date):
        return value.toordinal()
    if isinstance(value, (int, Fraction)):
        return value
    raise TypeError("a text has no place on a line")


def constant(node: exp.Expression) -> Value:
    """The value of a constant that binding wrote; None for NULL and for what is no constant."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return -inner if isinstance(inner, (int, Fraction)) and not isinstance(inner, bool) else None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Cast):
        return _cast(node)
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return str(node.this)
    number = Fraction(str(node.this))
    return int(number) if number.denominator == 1 else number


def _cast(node: exp.Cast) -> Value:
    inner = constant(node.this)
    if node.to.this is exp.DType.DATE and isinstance(inner, str):
        return date.fromisoformat(inner)
    return inner if node.to.this is exp.DType.DOUBLE and isinstance(inner, (int, Fraction)) else None


_Compare = Callable[[object, object], bool]
_ORDER: dict[type[exp.Expression], _Compare] = {
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,  # type: ignore[operator]  # `_alike` says that they compare
    exp.LTE: lambda a, b: a <= b,  # type: ignore[operator]  # likewise
    exp.GT: lambda a, b: a > b,  # type: ignore[operator]  # likewise
    exp.GTE: lambda a, b: a >= b,  # type: ignore[operator]  # likewise
}
_EQUALITIES: set[type[exp.Expression]] = {exp.EQ, exp.NEQ}
_AFTER_EQUALS: set[type[exp.Expression]] = {exp.LTE, exp.GT}  # the line is cut behind the values that are equal
_BELOW: set[type[exp.Expression]] = {exp.LT, exp.LTE}
_MIRRORED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}

_Build = Callable[[exp.Expression, PublicCells], Truth | None]
_BUILDERS: tuple[tuple[tuple[type[exp.Expression], ...], _Build], ...] = (
    ((exp.And, exp.Or), _joined),
    ((exp.Not,), _negated),
    ((exp.Column,), _bare_column),
    ((exp.In,), _listed),
    ((exp.Is,), _is_null),
    (tuple(_ORDER), _comparison),
)
