"""Conditions that only pick some values of a column: what is left of WHERE without them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tacit.sql.plan import Plan

_LONGEST = 4_000  # characters of a condition worth taking apart
_MOST = 4  # picks that are tried in every combination

Picked = frozenset[str | int | bool]


@dataclass(frozen=True, slots=True)
class Restriction:
    """WHERE taken apart: some columns, each with the values it picks, and the conditions that remain."""

    picks: tuple[tuple[str, Picked], ...]
    rest: str


def restrictions(plan: Plan) -> Iterator[Restriction]:
    """Every way to read the plan's WHERE as `column IN (…) AND rest`, the most picks first."""
    if not plan.where or len(plan.where) > _LONGEST:
        return
    try:
        tree = sqlglot.parse_one(plan.where, dialect="duckdb")
        if not isinstance(tree, exp.Expression) or tree.sql(dialect="duckdb") != plan.where:
            return  # what was read is not what will run
        parts = list(_flat(tree, exp.And))
    except (SqlglotError, RecursionError):
        return
    picks = [(place, found) for place, part in enumerate(parts) if (found := _pick(part)) is not None][:_MOST]
    for count in range(len(picks), 0, -1):
        for chosen in itertools.combinations(picks, count):
            taken = {place for place, _ in chosen}
            rest = [part for place, part in enumerate(parts) if place not in taken]
            yield Restriction(_merged([found for _, found in chosen]), _joined(rest))


def _flat(node: exp.Expression, kind: type[exp.Expression]) -> Iterator[exp.Expression]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, kind):
        yield from _flat(node.this, kind)
        yield from _flat(node.expression, kind)
    else:
        yield node


def _pick(part: exp.Expression) -> tuple[str, Picked] | None:
    """The column and the values it must have, where that is all a condition says."""
    found = [_listed(each) for each in _flat(part, exp.Or)]
    names = {pick[0] for pick in found if pick is not None}
    if None in found or len(names) != 1:
        return None
    return names.pop(), frozenset().union(*(pick[1] for pick in found if pick is not None))


def _listed(part: exp.Expression) -> tuple[str, Picked] | None:
    """`column = value`, `column IN (value, …)`, or a truth value and its negation on their own."""
    truth = not isinstance(part, exp.Not)
    alone = part if truth else next(_flat(part.this, exp.And))
    if isinstance(alone, exp.Column):
        return alone.sql(dialect="duckdb"), frozenset({truth})
    if not isinstance(part.this, exp.Column):
        return None
    nodes = part.expressions if isinstance(part, exp.In) else [part.expression] if isinstance(part, exp.EQ) else []
    values = [_constant(node) for node in nodes]
    if not values or None in values:
        return None
    return part.this.sql(dialect="duckdb"), frozenset(value for value in values if value is not None)


def _constant(node: exp.Expression) -> str | int | bool | None:
    """A constant that a cell equals or does not, whatever the type of its column; a fraction might be rounded."""
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    return int(node.this) if isinstance(node, exp.Literal) and node.is_int else None


def _merged(found: list[tuple[str, Picked]]) -> tuple[tuple[str, Picked], ...]:
    merged: dict[str, Picked] = {}
    for name, values in found:
        merged[name] = merged[name] & values if name in merged else values
    return tuple(merged.items())


def _joined(parts: list[exp.Expression]) -> str:
    """The conditions in the shape that binding gives them, so that the same ones have the same text."""
    if not parts:
        return ""
    if len(parts) == 1:
        return parts[0].sql(dialect="duckdb")
    wrapped: list[exp.Expression] = [exp.paren(part) for part in parts]
    while len(wrapped) > 1:
        pairs = [exp.And(this=a, expression=b) for a, b in zip(wrapped[::2], wrapped[1::2], strict=False)]
        wrapped = [*(exp.paren(pair) for pair in pairs), *wrapped[len(pairs) * 2 :]]
    return wrapped[0].sql(dialect="duckdb")
