"""Characters of a text in brackets: code[1] and code[1:3] as SUBSTRING, code[-1] and code[-2:] as RIGHT."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import bare

_LAST = -2  # what the parser makes of -1


def with_substrings(select: exp.Select) -> exp.Select:
    """The same rows; what is in brackets after a list stays so, and so does what counts from both ends."""
    if select.find(exp.Bracket) is None:
        return select
    copy = copied(select)
    for node in reversed(list(copy.find_all(exp.Bracket))):
        written = None if isinstance(bare(node.this), (exp.ArrayAgg, exp.Array)) else _characters(node)
        if written is not None:
            node.replace(written)
    return copy


def _characters(node: exp.Bracket) -> exp.Expr | None:
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(place, exp.Slice):
        start, end = (_whole(place.args.get(name)) for name in ("this", "expression"))
        open_end = place.args.get("expression") is None
        if open_end and start is not None and start < 0:
            return _last(node.this, -start)
        first = 1 if place.args.get("this") is None else start
        if first is None or first < 1 or not (open_end or (end is not None and end >= 0)):
            return None
        return _part(node.this, first, None if end is None else max(end - first + 1, 0))
    index = _whole(place)  # the parser counts from 0 on, and so from -2 back
    if index == _LAST:
        return _last(node.this, 1)
    return None if index is None or index < 0 else _part(node.this, index + 1, 1)


def _whole(node: exp.Expr | None) -> int | None:
    if isinstance(node, exp.Neg):
        value = _whole(node.this)
        return None if value is None else -value
    plain = isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()
    return int(node.name) if plain and isinstance(node, exp.Literal) else None


def _part(text: exp.Expr, start: int, length: int | None) -> exp.Expr:
    size = None if length is None else exp.Literal.number(length)
    return exp.Substring(this=copied(text), start=exp.Literal.number(start), length=size)


def _last(text: exp.Expr, count: int) -> exp.Expr:
    return exp.Right(this=copied(text), expression=exp.Literal.number(count))
