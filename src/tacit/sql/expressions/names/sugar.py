"""Second spellings: what is written one way and means another, turned into the one that is bound."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import name_of, written_twice


def plain(node: exp.Expression) -> exp.Expression:
    """The same in words that are bound; the node itself, where it is in such words."""
    build = _SPELLINGS.get(type(node))
    return node if build is None else build(node)


def _if(node: exp.Expression) -> exp.Expression:
    branch = exp.If(this=node.this, true=node.args.get("true") or exp.null())
    return _case([branch], node.args.get("false"))


def _case(branches: list[exp.If], default: exp.Expression | None) -> exp.Expression:
    return exp.Case(ifs=branches, default=None if default is None else copied(default))


def _nvl2(node: exp.Expression) -> exp.Expression:
    missing = exp.Is(this=copied(node.this), expression=exp.null())
    branch = exp.If(this=exp.Not(this=missing), true=copied(node.args["true"]))
    return _case([branch], node.args.get("false"))


def _nullif(node: exp.Expression) -> exp.Expression:
    same = exp.EQ(this=copied(written_twice(node.this)), expression=copied(node.expression))
    return _case([exp.If(this=same, true=exp.null())], node.this)


def _named(node: exp.Expression) -> exp.Expression:
    """DuckDB's other names, which the parser does not know."""
    kind = _NAMES.get(str(node.this).upper())
    if kind is None:
        return node
    if len(node.expressions) != 2:
        raise QueryRefused(f"{name_of(node)} takes two arguments")
    call = kind(this=node.expressions[0], expression=node.expressions[1])
    assert isinstance(call, exp.Expression)  # noqa: S101 - every function is one; the stubs do not say so
    return call


_NAMES: dict[str, type[exp.Func]] = {"PREFIX": exp.StartsWith, "SUFFIX": exp.EndsWith}
_SPELLINGS: dict[type[exp.Expression], Callable[[exp.Expression], exp.Expression]] = {
    exp.If: _if,
    exp.Nvl2: _nvl2,
    exp.Nullif: _nullif,
    exp.EqualNull: lambda node: exp.NullSafeEQ(this=node.this, expression=node.expression),
    exp.Anonymous: _named,
}
