"""Calls that ask for several numbers at once, or for a part of a whole, written out as the calls they mean."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

T = TypeVar("T", bound=exp.Expr)
_QUANTILES = (exp.Quantile, exp.PercentileCont, exp.PercentileDisc, exp.ApproxQuantile)


def one_by_one(tree: T) -> T:
    """QUANTILE_CONT(x, [0.25, 0.75]) as a list of two quantiles; RATIO_TO_REPORT(n) OVER w as n / SUM(n) OVER w."""
    for call in list(tree.find_all(*_QUANTILES)):
        name = "quantile" if "quantile" in call.arg_types else "expression"
        shares = call.args.get(name)
        if isinstance(shares, exp.Array) and shares.expressions and call.parent is not None:
            call.replace(exp.Array(expressions=[_of(call, name, share) for share in shares.expressions]))
    for window in list(tree.find_all(exp.Window)):
        inner = window.this
        if isinstance(inner, exp.Anonymous) and str(inner.this).upper() == "RATIO_TO_REPORT":
            _part_of_whole(window, inner)
    return tree


def _of(call: exp.Expr, name: str, share: exp.Expr) -> exp.Expr:
    one = call.copy()
    one.set(name, share.copy())
    return one


def _part_of_whole(window: exp.Window, call: exp.Anonymous) -> None:
    if len(call.expressions) == 1:
        whole = window.copy()
        whole.set("this", exp.Sum(this=call.expressions[0].copy()))
        part = exp.Div(this=exp.paren(call.expressions[0].copy()), expression=whole, typed=False, safe=False)
        window.replace(exp.Paren(this=part))
