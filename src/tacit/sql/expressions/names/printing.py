"""A tree as text in the one dialect by which questions, plans and expressions are compared."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, SqlglotError

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.canonical import written

E = TypeVar("E", bound=exp.Expr)
CANONICAL = "duckdb"
_DUCKDB = DuckDB()
_LEAVES = frozenset({exp.Column, exp.Identifier, exp.Literal, exp.DataType, exp.TableAlias, exp.Null, exp.Star})


def text_of(tree: exp.Expr, *, comments: bool = True, pretty: bool = False) -> str:
    """The canonical text of a tree, which stays as it is.

    The generator rewrites some nodes in place, and writes others by what stands around them: it is given a copy, where
    there is anything in the tree that only it knows how to write.
    """
    text = None if pretty else written(tree)
    if text is not None:
        return text
    try:
        return copied(tree).sql(
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


def copied(tree: E) -> E:
    """A copy, whose nodes may be changed and exchanged; faster than sqlglot's, which copies what nodes hold deeply."""
    root = tree.__class__()
    waiting: list[tuple[exp.Expr, exp.Expr]] = [(tree, root)]
    while waiting:
        node, copy = waiting.pop()
        copy._type = node._type  # noqa: SLF001 - `type` is another node's where this is None
        copy.comments = None if node.comments is None else list(node.comments)
        if node._meta:  # noqa: SLF001 - to ask for `meta` is to make one
            copy.meta.update(node.meta)
        arguments = copy.args
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                arguments[name] = below = value.__class__()
                below.parent, below.arg_key = copy, name
                waiting.append((value, below))
            elif type(value) is list:
                arguments[name] = listed = list(value)
                for index, each in enumerate(value):
                    if isinstance(each, exp.Expr):
                        listed[index] = below = each.__class__()
                        below.parent, below.arg_key, below.index = copy, name, index
                        waiting.append((each, below))
            else:
                arguments[name] = value
    return root


def calls(tree: exp.Expr) -> list[exp.Anonymous]:
    """Every call of a function that sqlglot has no class for, from the top down."""
    waiting: list[exp.Expr] = [tree]
    anonymous: list[exp.Anonymous] = []
    for node in waiting:  # which grows as it goes
        if type(node) in _LEAVES:  # most nodes are: no call stands below them
            continue
        if isinstance(node, exp.Anonymous):
            anonymous.append(node)
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif type(value) is list:
                waiting += [each for each in value if isinstance(each, exp.Expr)]
    return anonymous


def table_named(name: str) -> exp.Table:
    """A table of the source, to read from."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))
