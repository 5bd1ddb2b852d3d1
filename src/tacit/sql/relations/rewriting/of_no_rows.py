"""Aggregates of a subquery that is joined to the row outside, apart from what is computed of them.

`(SELECT COALESCE(SUM(b.x), 0) + 1 FROM b WHERE b.id = a.id)` is 1 where no row of b suits. A join has nothing there, so
that only the sum is joined, and the rest is computed beside the row: a COUNT of nothing is zero, and all else NULL, as
in DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tacit.sql.expressions.names.nodes import aliased
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import bare

_CALLS = (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls)


def aggregate_calls(item: exp.Expr) -> list[exp.Expr]:
    """The aggregates of an expression, none of them within another, in a window or in a subquery."""
    if isinstance(item, _CALLS):
        return [item]
    if isinstance(item, (exp.Window, exp.Query)):
        return []
    return [call for part in item.iter_expressions() for call in aggregate_calls(part)]


def apart(item: exp.Expr, name: str, column: Callable[[str], exp.Expr]) -> tuple[list[exp.Expr], exp.Expr]:
    """The aggregates as columns of their own, and the expression over them; `column` says how one is read outside."""
    whole = exp.Paren(this=copied(bare(item)))  # type: ignore[arg-type]
    calls = aggregate_calls(whole)
    listed = []
    for index, call in enumerate(calls):
        called = name if call is whole.this else f"{name} {index + 1}"
        listed.append(aliased(copied(call), called))
        read = column(called)
        counted = call.this if isinstance(call, exp.Filter) else call
        call.replace(
            exp.Coalesce(this=read, expressions=[exp.Literal.number(0)]) if isinstance(counted, exp.Count) else read
        )
    return listed, whole.this
