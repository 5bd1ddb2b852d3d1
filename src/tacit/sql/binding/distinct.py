"""What COUNT counts: a constant, which is in every row; of DISTINCT a value, a key nobody sees, or several together."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.scope import Scope
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.operands import operand
from tacit.sql.expressions.predicates import predicate
from tacit.sql.expressions.text.tuples import as_row, together


def is_in_every_row(node: exp.Expression, scope: Scope, *, label: str) -> bool:
    """Whether what COUNT counts is a constant. Raises QueryRefused for NULL, of which no row has one."""
    if not scope.is_constant(node):
        return False
    if scope.value(node) is None:
        hint = "COUNT(*) counts rows, COUNT(x) those that have x"
        raise QueryRefused(f"{label} counts nothing: NULL is no value", hint=hint)
    return True


def distinct_value(columns: Sequence[exp.Expression], scope: Scope, *, row: bool = False) -> exp.Expression:
    """The values of a row, as one that can be told from any other's; as a `row`, NULLs among them are values too."""
    values = [_value(column, scope) for column in columns]
    if row:
        return as_row(values)
    return values[0] if len(values) == 1 else together(values)


def link_value(node: exp.Expression, scope: Scope) -> exp.Expression:
    """A key, which may be counted though its values are nobody's to see."""
    owner = scope.key(node)
    assert owner is not None  # noqa: S101 - it is a link
    return quoted_column(owner[0])


def _value(node: exp.Expression, scope: Scope) -> exp.Expression:
    if scope.key(node) is not None:
        return link_value(node, scope)
    value = operand(node, scope)
    return value.sql if value is not None else number(node, scope, predicate=predicate).sql
