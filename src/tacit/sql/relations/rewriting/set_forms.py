"""UNION, INTERSECT and EXCEPT of one unit's rows, written as SELECT DISTINCT and EXISTS."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.relations.rewriting.forms import over


def distinct_union(union: exp.Union) -> exp.Select:
    """UNION: each row of UNION ALL once."""
    copy = copied(union)
    copy.set("distinct", False)
    select = over(copy, [exp.Star()])  # type: ignore[arg-type]  # a union is a query as well
    select.set("distinct", exp.Distinct())
    return select


def membership(
    operation: exp.SetOperation, left: Sequence[str], right: Sequence[str], keys: Collection[str]
) -> exp.Select:
    """INTERSECT and EXCEPT, by EXISTS: columns by their names on either side, and which of the left are keys."""
    if not operation.args.get("distinct") or len(left) != len(right):
        raise QueryRefused(
            f"{operation.key.upper()} needs as many columns on both sides, and no ALL",
            hint="write EXISTS or NOT EXISTS",
        )
    same: list[exp.Expr] = []
    for one, other in zip(left, right, strict=True):
        kind = exp.EQ if one in keys else exp.NullSafeEQ
        same.append(kind(this=_of("theirs", other), expression=_of("ours", one)))
    theirs = exp.select("1").from_(_sub(operation.expression, "theirs")).where(*same)
    exists: exp.Expr = exp.Exists(this=theirs)
    ours = exp.select(exp.Star()).from_(_sub(operation.this, "ours")).distinct()
    return ours.where(exp.Not(this=exists) if isinstance(operation, exp.Except) else exists)


def _of(table: str, name: str) -> exp.Column:
    return quoted_column(name, table)


def _sub(query: exp.Expr, alias: str) -> exp.Subquery:
    inner = query
    while isinstance(inner, exp.Subquery):
        inner = inner.this
    return exp.Subquery(this=copied(inner), alias=exp.TableAlias(this=exp.to_identifier(alias)))
