"""Keys that the question itself lists: of `WHERE town IN ('Bern', 'Thun') GROUP BY town` both groups are public.

No row of another town is left, whatever the rows are, so that the groups need no threshold and no δ, a unit is in two
of them at most, and one without rows is in the answer as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from tacit.policy import ColumnPolicy, ColumnType, ListDomain, fold
from tacit.sql.expressions.keys import Key, key
from tacit.sql.expressions.names.scope import Scope, Value, bare, conjuncts

_KINDS = {ColumnType.TEXT, ColumnType.INTEGER}  # a value of theirs is one and the same to all


def told_key(
    node: exp.Expression,
    found: Key,
    scope: Scope,
    where: exp.Expression | None,
    *,
    sign: Callable[[exp.Expression], str],
) -> Key:
    """The key with the values that conditions list; as it was found where they list none, or the policy does."""
    if where is None or found.is_public or found.kind not in _KINDS:
        return found
    told = [(part, values) for part in conjuncts(where) if (values := _constants(part, scope)) is not None]
    for part, values in told:
        fitting = _fitting(values, found.kind)
        if fitting is not None and sign(_asked(part, scope)) == sign(node):
            return replace(found, values=fitting, told=True)
    narrow = _narrowed(scope, told)
    again = found if narrow is None else key(node, narrow)
    return again if again.is_public else found


def _constants(condition: exp.Expression, scope: Scope) -> tuple[Value, ...] | None:
    """What a condition compares something with, where these are constants and it has to be one of them."""
    condition = bare(condition)
    if isinstance(condition, exp.In):
        items: Sequence[exp.Expression] = condition.expressions
    elif isinstance(condition, exp.EQ):
        items = [side for side in (condition.this, condition.expression) if scope.is_constant(side)]
    else:
        return None
    if not items or not all(map(scope.is_constant, items)):
        return None
    values = dict.fromkeys(value for value in map(scope.value, items) if value is not None)
    return tuple(values) if values else None


def _asked(condition: exp.Expression, scope: Scope) -> exp.Expression:
    """What it is that has to be one of them."""
    condition = bare(condition)
    turned = isinstance(condition, exp.EQ) and scope.is_constant(condition.this)
    return bare(condition.expression if turned else condition.this)


def _fitting(values: tuple[Value, ...], kind: ColumnType | None) -> tuple[str | int, ...] | None:
    """The values, where they are of the kind that the engine returns."""
    if kind is ColumnType.TEXT:
        texts = tuple(value for value in values if isinstance(value, str))
        return texts if len(texts) == len(values) else None
    numbers = tuple(value for value in values if type(value) is int)
    return numbers if kind is ColumnType.INTEGER and len(numbers) == len(values) else None


def _narrowed(scope: Scope, told: Sequence[tuple[exp.Expression, tuple[Value, ...]]]) -> Scope | None:
    """The scope with the listed values as the domains of columns that have none."""
    columns: dict[str, ColumnPolicy] = {}
    for part, values in told:
        column = _asked(part, scope)
        if not isinstance(column, exp.Column) or scope.is_unit(column) or scope.key(column) is not None:
            continue
        declared, kind = scope.column(column)
        fitting = _fitting(values, kind)
        if declared.domain is None and declared.bounds is None and fitting is not None:
            columns[fold(declared.name)] = replace(declared, domain=ListDomain(fitting))
    if not columns:
        return None
    kept = tuple(columns.get(fold(column.name), column) for column in scope.table.columns)
    return replace(scope, table=replace(scope.table, columns=kept))
