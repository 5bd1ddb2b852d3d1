"""Constants that no public domain holds: a condition that no row can meet is told of, before it costs anything."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tacit.errors import QueryRefused, TacitError
from tacit.policy import ColumnType, ListDomain
from tacit.policy.reading.names import meant
from tacit.sql.expressions.names.scope import Scope, bare, conjuncts

_MAX_LISTED = 8  # values of a domain that a hint names
_MAX_NAMED = 3  # constants that a note names


def refuse_unmatched(where: exp.Expression | None, scope: Scope) -> None:
    """Refuse a question whose answer is known: a condition of WHERE holds for no value of a public domain."""
    for condition in conjuncts(where) if where is not None else ():
        unmatched = _unmatched(condition, scope)
        if unmatched is not None:
            name, constants = unmatched
            values = _domain(name, scope)
            raise QueryRefused(
                f"{_listed(constants)} {_is_not(constants)} in the domain of {name.name}: no row of it matches,"
                " and the answer is known without asking",
                hint=_meant(constants[0], values)
                or f"its values are {_listed(values[:_MAX_LISTED])}" + (", …" if len(values) > _MAX_LISTED else ""),
            )


def unmatched_notes(select: exp.Expression, scope: Scope) -> Iterator[str]:
    """What to say of constants beside a column that has them not, where the answer may still be anything."""
    seen: set[tuple[str, str]] = set()
    for node in select.find_all(exp.EQ, exp.In):
        if node.find_ancestor(exp.Select) is not select:  # inside a subquery names are its own
            continue
        for name, constants in _beside(node, scope):
            values = _domain(name, scope)
            fresh = [each for each in constants if each not in values and (name.name, each) not in seen]
            seen |= {(name.name, each) for each in fresh}
            if fresh:
                guess = _meant(fresh[0], values)
                text = f"{_listed(fresh[:_MAX_NAMED])} {_is_not(fresh)} in the domain of {name.name}"
                yield f"{text}: {guess}" if guess else text


def _unmatched(node: exp.Expr, scope: Scope) -> tuple[exp.Column, list[str]] | None:
    """The column and the constants of a condition that holds for nothing in the column's domain."""
    node = bare(node) if isinstance(node, exp.Expression) else node
    if isinstance(node, exp.Or):
        parts = [_unmatched(part, scope) for part in node.flatten()]
        return parts[0] if parts and all(part is not None for part in parts) else None
    condition = next(_beside(node, scope), None)
    return condition if condition is not None and not set(condition[1]) & set(_domain(condition[0], scope)) else None


def _beside(node: exp.Expr, scope: Scope) -> Iterator[tuple[exp.Column, list[str]]]:
    """A column with a listed domain of texts, and the texts that it is held against."""
    if isinstance(node, exp.In) and node.expressions:
        pairs = [(bare(node.this), node.expressions)]
    elif isinstance(node, exp.EQ):
        left, right = bare(node.this), bare(node.expression)
        pairs = [(left, [right]), (right, [left])]
    else:
        return
    for column, others in pairs:
        if isinstance(column, exp.Column) and all(scope.is_constant(other) for other in others):
            values = [scope.value(other) for other in others]
            if _domain(column, scope) and all(isinstance(value, str) for value in values):
                yield column, [str(value) for value in values]


def _domain(column: exp.Column, scope: Scope) -> list[str]:
    """The texts that a column may hold; none where its domain is not listed."""
    try:
        declared, kind = scope.column(column)
    except TacitError:  # it is refused where it is bound, in better words
        return []
    if kind is not ColumnType.TEXT or not isinstance(declared.domain, ListDomain):
        return []
    return [*map(str, declared.domain.values), *([str(declared.null)] if declared.null is not None else [])]


def _listed(texts: list[str]) -> str:
    return ", ".join(f"'{text[:40]}'" for text in texts)


def _is_not(texts: list[str]) -> str:
    return "is not" if len(texts) == 1 else "are not"


def _meant(text: str, values: list[str]) -> str:
    return meant(text, values).replace('"', "'")
