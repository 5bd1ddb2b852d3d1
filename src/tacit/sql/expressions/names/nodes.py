"""Nodes of generated SQL, made of what they are given: nothing is parsed, and only what stands in a tree is copied.

sqlglot's own builders copy every argument with all that is below it, and parse the names of types and joins: each level
of a query would be copied once more by every level above it. Here a tree that nobody holds moves into the new node; one
that stands somewhere already stays there, and its copy moves. So no node ever has two parents.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from tacit.sql.expressions.names.printing import E, copied


def loose(tree: E) -> E:
    """The tree itself where nothing holds it, else a copy."""
    return tree if tree.parent is None else copied(tree)


def paren(tree: exp.Expr) -> exp.Paren:
    """The tree in parentheses."""
    return exp.Paren(this=loose(tree))


def quoted_column(name: str, table: str | None = None) -> exp.Column:
    """A column by its own name, which is quoted, of a table by one of our aliases."""
    identifier = exp.Identifier(this=name, quoted=True)
    return exp.Column(this=identifier, table=None if table is None else exp.to_identifier(table))


def aliased(tree: exp.Expr, name: str) -> exp.Expr:
    """The tree under a name that is quoted."""
    return exp.alias_(loose(tree), name, quoted=True, copy=False)


def table_as(table: exp.Table, alias: str) -> exp.Table:
    """The table itself, which nobody holds, by an alias of ours."""
    table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return table


def subquery(query: exp.Query, alias: str) -> exp.Subquery:
    """A query, which nobody holds, to select from."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def joined(
    select: exp.Select, source: exp.Expression, *, on: exp.Expression | None = None, side: str = "", kind: str = ""
) -> exp.Select:
    """The select itself, with one more join of a source that nobody holds."""
    join = exp.Join(this=source)
    for name, value in (("side", side), ("kind", kind), ("on", on)):
        if value:
            join.set(name, value)
    select.append("joins", join)
    return select


@lru_cache(maxsize=256)
def _type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind)


def cast_as(tree: exp.Expression, kind: str) -> exp.Expression:
    """The tree in a type whose name is read once; as it is where it is cast to that already."""
    return exp.cast(loose(tree), copied(_type(kind)), copy=False)
