"""Calls that ask for several numbers at once, or for a part of a whole, written out as the calls they mean."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import all_of, bare

T = TypeVar("T", bound=exp.Expr)
_QUANTILES = (exp.Quantile, exp.PercentileCont, exp.PercentileDisc, exp.ApproxQuantile)


def one_by_one(tree: T) -> T:
    """QUANTILE_CONT(x, [0.25, 0.75]) as a list of two quantiles; RATIO_TO_REPORT(n) OVER w as n / SUM(n) OVER w.

    EXTRACT(DATE FROM ts) is a cast, and (a, b) = (c, d) is a = c AND b = d.
    """
    for pair in list(tree.find_all(exp.EQ)):
        _by_parts(pair)
    for call in list(tree.find_all(*_QUANTILES)):
        name = "quantile" if "quantile" in call.arg_types else "expression"
        shares = call.args.get(name)
        if isinstance(shares, exp.Array) and shares.expressions and call.parent is not None:
            call.replace(exp.Array(expressions=[_of(call, name, share) for share in shares.expressions]))
    for part in list(tree.find_all(exp.Extract)):
        if part.this.name.upper() == "DATE":  # of BigQuery
            part.replace(exp.cast(part.expression.copy(), "DATE"))
    for window in list(tree.find_all(exp.Window)):
        inner = window.this
        if isinstance(inner, exp.Anonymous) and str(inner.this).upper() == "RATIO_TO_REPORT":
            _part_of_whole(window, inner)
    return tree


def _of(call: exp.Expr, name: str, share: exp.Expr) -> exp.Expr:
    one = copied(call)
    one.set(name, copied(share))
    return one


def _by_parts(pair: exp.EQ) -> None:
    """Row values that are equal, part by part: each may then tie a join by itself."""
    left, right = bare(pair.this), bare(pair.expression)
    both = isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple)
    if not both or len(left.expressions) != len(right.expressions) or not left.expressions:
        return  # what has another form is refused by what reads it
    ties = [exp.EQ(this=a, expression=b) for a, b in zip(left.expressions, right.expressions, strict=True)]
    pair.replace(exp.Paren(this=all_of(list(map(copied, ties)))))


def _part_of_whole(window: exp.Window, call: exp.Anonymous) -> None:
    if len(call.expressions) == 1:
        whole = copied(window)
        whole.set("this", exp.Sum(this=copied(call.expressions[0])))
        part = exp.Div(this=paren(copied(call.expressions[0])), expression=whole, typed=False, safe=False)
        window.replace(exp.Paren(this=part))
