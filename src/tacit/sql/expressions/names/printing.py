"""A tree as text in the one dialect by which questions, plans and expressions are compared."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, SqlglotError

from tacit.errors import QueryRefused

CANONICAL = "duckdb"
_DUCKDB = DuckDB()
_AS_THEY_ARE: frozenset[type] = frozenset(  # nodes that the generator writes without changing anything in the tree
    {
        *(exp.Select, exp.From, exp.Subquery, exp.Table, exp.TableAlias, exp.Alias, exp.With, exp.CTE),
        *(exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Window, exp.RowNumber, exp.DenseRank),
        *(exp.Identifier, exp.Column, exp.Literal, exp.Star, exp.Null, exp.Boolean, exp.Paren, exp.Anonymous),
        *(exp.Count, exp.Sum, exp.Coalesce, exp.Case, exp.If, exp.Cast, exp.DataType, exp.DataTypeParam),
        *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Floor, exp.Abs, exp.IsNan, exp.Lower),
        *(exp.Exists, exp.Max, exp.Min, exp.Var, exp.Like),
        *(exp.Not, exp.Is, exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In),
    }
)


def text_of(tree: exp.Expr, *, comments: bool = True, pretty: bool = False) -> str:
    """The canonical text of a tree, which stays as it is.

    The generator rewrites some nodes in place, and writes others by what stands around them. A whole tree of nodes of
    which it does neither needs no copy: copying takes as long as all the rest.
    """
    written = copied(tree) if tree.parent is not None or not _stays(tree) else tree
    try:
        return written.sql(
            dialect=_DUCKDB, comments=comments, pretty=pretty, copy=False, unsupported_level=ErrorLevel.IGNORE
        )
    except (
        SqlglotError,
        TypeError,
        AttributeError,
        ValueError,
        LookupError,
    ):  # a call as no function takes it, from an analyst
        raise QueryRefused(
            "the question holds a call that cannot be written down: its arguments are none that it takes"
        ) from None


def copied(tree: exp.Expr) -> exp.Expr:
    """A copy to be written down, whose nodes may be changed and exchanged; faster than sqlglot's, which is deep."""
    root = tree.__class__()
    waiting = [(tree, root)]
    while waiting:
        node, copy = waiting.pop()
        copy._type = node._type  # noqa: SLF001 - `type` is another node's where this is None
        copy.comments = None if node.comments is None else list(node.comments)
        if node._meta:  # noqa: SLF001 - to ask for `meta` is to make one
            copy.meta.update(node.meta)
        arguments = copy.args
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                arguments[name] = _below(copy, value, name, None, waiting)
            elif type(value) is list:
                arguments[name] = [
                    _below(copy, each, name, index, waiting) if isinstance(each, exp.Expr) else each
                    for index, each in enumerate(value)
                ]
            else:
                arguments[name] = value
    return root


def calls(tree: exp.Expr) -> list[exp.Anonymous]:
    """Every call of a function that sqlglot has no class for, from the top down."""
    waiting: list[exp.Expr] = [tree]
    anonymous: list[exp.Anonymous] = []
    for node in waiting:  # which grows as it goes
        if isinstance(node, exp.Anonymous):
            anonymous.append(node)
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif type(value) is list:
                waiting += [each for each in value if isinstance(each, exp.Expr)]
    return anonymous


def _below(
    parent: exp.Expr, node: exp.Expr, name: str, index: int | None, waiting: list[tuple[exp.Expr, exp.Expr]]
) -> exp.Expr:
    copy = node.__class__()
    copy.parent, copy.arg_key, copy.index = parent, name, index
    waiting.append((node, copy))
    return copy


def _stays(tree: exp.Expr) -> bool:
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if type(node) not in _AS_THEY_ARE and not _is_plain_join(node):
            return False
        for value in node.args.values():  # type: ignore[attr-defined]  # a node, by its type
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += value
    return True


def _is_plain_join(node: object) -> bool:
    """Whether a join says how it joins: of one that does not, the generator takes off what it has."""
    return type(node) is exp.Join and (node.args.get("on") is not None or node.kind == "CROSS")


def table_named(name: str) -> exp.Table:
    """A table of the source, to read from."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))
