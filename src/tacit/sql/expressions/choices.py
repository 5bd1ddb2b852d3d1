"""CASE outside of arithmetic: of conditions, of texts, of dates; and numbers that stand in a text."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, written_twice
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.operands import Operand, comparable

Predicate = Callable[[exp.Expression, Scope], exp.Expression]


def _whens(node: exp.Expression, scope: Scope, predicate: Predicate) -> list[exp.Expression]:
    """The conditions of a CASE, one for each branch."""
    subject = node.args.get("this") and written_twice(node.args["this"])
    branches = [branch.this for branch in node.args["ifs"]]
    if subject is not None:
        branches = [exp.EQ(this=copied(subject), expression=copied(each)) for each in branches]
    return [predicate(each, scope) for each in branches]


def condition(node: exp.Expression, scope: Scope, predicate: Predicate) -> exp.Expression:
    """A CASE whose branches are conditions."""

    def truth(each: exp.Expression) -> exp.Expression:
        return exp.null() if isinstance(each, exp.Null) else predicate(each, scope)

    held = zip(_whens(node, scope, predicate), node.args["ifs"], strict=True)
    ifs = [exp.If(this=when, true=truth(branch.args["true"])) for when, branch in held]
    default = node.args.get("default")
    return exp.Case(ifs=ifs, default=exp.null() if default is None else truth(default))


def whole_number(node: exp.Expression, scope: Scope, predicate: Predicate) -> Operand | None:
    """A computed number that is whole whatever the row, to stand in a text: engines write others in different ways."""
    grid = number(node, scope, predicate=predicate)
    if grid.step.denominator != 1:
        return None
    whole = arithmetic.multiply(grid.whole, arithmetic.constant(int(grid.step)))
    return Operand(whole.sql, ColumnType.INTEGER)


def operand_of(node: exp.Expression, scope: Scope, predicate: Predicate) -> Operand | None:
    """A CASE of texts or dates. One of numbers is on a grid, and no operand."""
    default = node.args.get("default")
    written = [branch.args["true"] for branch in node.args["ifs"]] + ([] if default is None else [default])
    values: list[Operand] = []
    for each in written:
        value = comparable(each, scope)
        if value is None or value.kind not in {None, ColumnType.TEXT, ColumnType.DATE, ColumnType.TIMESTAMP}:
            return None
        values.append(value)
    kinds = {value.kind for value in values} - {None}
    if not kinds:
        return None
    if len(kinds) > 1:
        raise QueryRefused("the branches of a CASE have different types")
    ifs = [
        exp.If(this=when, true=value.sql) for when, value in zip(_whens(node, scope, predicate), values, strict=False)
    ]
    sql = exp.Case(ifs=ifs, default=None if default is None else values[-1].sql)
    return Operand(sql, next(iter(kinds)), times=max(value.times for value in values))
