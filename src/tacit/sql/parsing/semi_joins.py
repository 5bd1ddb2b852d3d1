"""SEMI JOIN and ANTI JOIN, which keep or leave out rows and add nothing to them, as EXISTS and NOT EXISTS in WHERE."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from tacit.sql.expressions.names.scope import all_of

T = TypeVar("T", bound=exp.Expr)
_KINDS = {"SEMI", "ANTI"}
_AFTER = {"", "LEFT"}  # joins that keep every row before them, or leave it out whatever else there is


def without_semi_joins(tree: T) -> T:
    """The same question, such joins as conditions; before a RIGHT or a FULL JOIN they stay, and are refused."""
    for join in reversed([each for each in tree.find_all(exp.Join) if _kind(each) in _KINDS]):  # what is inside first
        select = join.parent
        if isinstance(select, exp.Select) and (condition := _condition(join, select)) is not None:
            joins = select.args["joins"]
            select.set("joins", [each for each in joins if each is not join] or None)
            select.where(condition, copy=False)
    return tree


def _kind(join: exp.Join) -> str:
    return str(join.args.get("kind") or "").upper()


def _condition(join: exp.Join, select: exp.Select) -> exp.Expr | None:
    """Whether a row of what is joined suits the one before it."""
    joins = select.args["joins"]
    index = next(index for index, each in enumerate(joins) if each is join)
    first, named = select.args["from_"].this.alias_or_name, join.this.alias_or_name
    later = {str(each.args.get("side") or "").upper() for each in joins[index + 1 :]}
    if not first or not named or join.args.get("side") or join.args.get("method") or not later <= _AFTER:
        return None
    shared = [name.name for name in join.args.get("using") or ()]
    suits: list[exp.Expression] = [exp.EQ(this=_of(named, name), expression=_of(first, name)) for name in shared]
    if join.args.get("on") is not None:
        suits.append(join.args["on"].copy())
    if not suits:
        return None
    rows = exp.Select(expressions=[exp.Literal.number(1)], from_=exp.From(this=join.this.copy()))
    exists = exp.Exists(this=rows.where(all_of(suits), copy=False))
    return exists if _kind(join) == "SEMI" else exp.Not(this=exists)


def _of(table: str, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))
