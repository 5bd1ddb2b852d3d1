"""Divisions whose divisor a condition keeps from zero, written with NULLIF: no row that counts has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from sqlglot import exp

from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import bare, conjuncts

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
    exp.NEQ: exp.NEQ,
    exp.EQ: exp.EQ,
}
_EXCLUDES_ZERO: dict[type[exp.Expr], Callable[[Decimal], bool]] = {  # of x beside a constant
    exp.GT: lambda end: end >= 0,
    exp.GTE: lambda end: end > 0,
    exp.LT: lambda end: end <= 0,
    exp.LTE: lambda end: end < 0,
    exp.NEQ: lambda end: end == 0,
    exp.EQ: lambda end: end != 0,
}


def guarded(select: exp.Select) -> exp.Select:
    """`a / b` where WHERE, FILTER or the branch of a CASE says that b is not zero, as `a / NULLIF(b, 0)`."""
    if select.find(exp.Div) is None or not any(_nonzero(node) for node in select.find_all(*_FLIPPED, exp.Between)):
        return select
    copy = copied(select)
    where = copy.args.get("where")
    if where is not None:
        parts = [*copy.expressions, *(copy.args[name] for name in ("group", "having", "order") if copy.args.get(name))]
        _divide_safely(parts, conjuncts(where.this))
    for node in list(copy.find_all(exp.If, exp.Filter)):
        if isinstance(node, exp.Filter):
            _divide_safely([node.this], conjuncts(node.expression.this))
        elif node.args.get("true") is not None and _is_condition(node):
            _divide_safely([node.args["true"]], conjuncts(node.this))
    return copy


def _is_condition(branch: exp.Expr) -> bool:
    """Whether a branch says when it is taken, and not which value of a CASE it is for."""
    return not (isinstance(branch.parent, exp.Case) and branch.parent.this is not None)


def _divide_safely(parts: Sequence[exp.Expr], conditions: Sequence[exp.Expr]) -> None:
    known = {text for condition in conditions if (text := _nonzero(condition))}
    if not known:
        return
    for part in parts:
        for node in list(part.walk(prune=lambda each: isinstance(each, exp.Query))):
            if isinstance(node, exp.Div) and _text(node.expression) in known:
                divisor = exp.Nullif(this=copied(bare(node.expression)), expression=exp.Literal.number(0))
                node.set("expression", divisor)


def _nonzero(condition: exp.Expr) -> str:
    """What a condition keeps from zero, as text; empty where it keeps nothing."""
    condition = bare(condition)  # type: ignore[arg-type]  # a condition is an expression
    if isinstance(condition, exp.Between):
        low, high = (_constant(condition.args[name]) for name in ("low", "high"))
        apart = (low is not None and low > 0) or (high is not None and high < 0)
        return _text(condition.this) if apart and not condition.args.get("symmetric") else ""
    if type(condition) not in _FLIPPED:
        return ""
    for kind, one, other in (
        (type(condition), condition.this, condition.expression),
        (_FLIPPED[type(condition)], condition.expression, condition.this),
    ):
        end = _constant(other)
        if end is not None and _EXCLUDES_ZERO[kind](end):
            return _text(one)
    return ""


def _constant(node: exp.Expr) -> Decimal | None:
    inner = bare(node)  # type: ignore[arg-type]
    sign = -1 if isinstance(inner, exp.Neg) else 1
    inner = inner.this if isinstance(inner, exp.Neg) else inner
    if not isinstance(inner, exp.Literal) or inner.is_string:
        return None
    return sign * Decimal(str(inner.this))


def _text(node: exp.Expr) -> str:
    """The same for the same expression, whatever the parentheses around it."""
    return text_of(bare(node), comments=False).casefold()  # type: ignore[arg-type]
