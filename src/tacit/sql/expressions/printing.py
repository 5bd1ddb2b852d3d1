"""A tree as text in the one dialect by which questions, plans and expressions are compared."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

CANONICAL = "duckdb"
_DUCKDB = DuckDB()
_AS_THEY_ARE: frozenset[type] = frozenset(  # nodes that the generator writes without changing anything in the tree
    {
        *(exp.Select, exp.From, exp.Subquery, exp.Table, exp.TableAlias, exp.Alias, exp.With, exp.CTE),
        *(exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Window, exp.RowNumber, exp.DenseRank),
        *(exp.Identifier, exp.Column, exp.Literal, exp.Star, exp.Null, exp.Boolean, exp.Paren, exp.Anonymous),
        *(exp.Count, exp.Sum, exp.Coalesce, exp.Case, exp.If, exp.Cast, exp.DataType, exp.DataTypeParam),
        *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Floor, exp.Abs, exp.IsNan, exp.Lower),
        *(exp.Not, exp.Is, exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In),
    }
)


def text_of(tree: exp.Expression, *, comments: bool = True, pretty: bool = False) -> str:
    """The canonical text of a tree, which stays as it is.

    The generator rewrites some nodes in place, and writes others by what stands around them. A whole tree of nodes of
    which it does neither needs no copy: copying takes as long as all the rest.
    """
    copy = tree.parent is not None or not _stays(tree)
    return tree.sql(dialect=_DUCKDB, comments=comments, pretty=pretty, copy=copy)


def _stays(tree: exp.Expression) -> bool:
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if type(node) not in _AS_THEY_ARE:
            return False
        for value in node.args.values():  # type: ignore[attr-defined]  # a node, by its type
            if isinstance(value, exp.Expression):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += value
    return True


def table_named(name: str) -> exp.Table:
    """A table of the source, to read from."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))
