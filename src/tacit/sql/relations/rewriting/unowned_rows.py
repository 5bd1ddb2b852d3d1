"""Whether the rows that an outer join keeps for nobody change an answer: all that is of people is NULL in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.expressions.absent import Absent, Worth, worth

_LOOKS_AT_NULL = (exp.Is, exp.Coalesce, exp.Case, exp.If, exp.Nullif, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Query)


def side_of(join: exp.Join) -> str:
    """Which side of a join keeps all its rows: LEFT, RIGHT, FULL, or neither."""
    return str(join.args.get("side") or "").upper()


@dataclass(frozen=True, slots=True)
class UnownedRows:
    """The rows that a select's outer joins keep for nobody, as its clauses see them.

    `of_people` says which columns are NULL in them, and `kept_by` which join is the last that keeps some.
    """

    select: exp.Select
    of_people: Absent
    kept_by: int

    def add_nothing(self) -> bool:
        """Whether the answer is the same without them."""
        if self.select.find(exp.Window) or not self._groups_stay():
            return False
        where = self.select.args.get("where")
        if where is not None and any(map(self.of_people, where.find_all(exp.Column))):
            if worth(where.this, self.of_people).rules_out:
                return True
            if where.find(*_LOOKS_AT_NULL):
                return False
        return self._left_out_later() or self._unnoticed()

    def _groups_stay(self) -> bool:
        """Whether each group is of public tables alone: their values are listed, with people or without."""
        group = self.select.args.get("group")
        if group is not None and any(part for name, part in group.args.items() if name not in {"expressions", "all"}):
            return False
        return all(
            not key.find(exp.Query) and not any(map(self.of_people, key.find_all(exp.Column))) for key in self._keys()
        )

    def _keys(self) -> list[exp.Expr]:
        """What GROUP BY stands for."""
        group = self.select.args.get("group")
        keys = [self._meant(node) for node in (group.expressions if group is not None else ())]
        if group is not None and group.args.get("all"):
            keys += [item.unalias() for item in self.select.expressions if not item.find(exp.AggFunc, exp.Anonymous)]
        return keys

    def _meant(self, node: exp.Expr) -> exp.Expr:
        """A key of GROUP BY, where it is an alias or a place in the list."""
        items = self.select.expressions
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(items):
            meant: exp.Expr = items[int(node.this) - 1].unalias()
            return meant
        if isinstance(node, exp.Column) and not node.table:
            named = (
                item.unalias() for item in items if isinstance(item, exp.Alias) and fold(item.alias) == fold(node.name)
            )
            return next(named, node)
        return node

    def _left_out_later(self) -> bool:
        """Whether an inner join after them has no row of theirs."""
        joins = self.select.args.get("joins") or ()
        conditions = [join.args.get("on") for join in joins[self.kept_by + 1 :] if not side_of(join)]
        return any(worth(on, self.of_people).rules_out for on in conditions if on is not None)

    def _unnoticed(self) -> bool:
        """Whether no aggregate gains by them."""
        calls = list(self._calls())
        return bool(calls) and all(map(self._gains_nothing, calls))

    def _calls(self) -> Iterator[exp.Expr]:
        """The aggregates of the select itself, and calls that may be some."""
        keys = self._keys()
        for node in self.select.find_all(exp.AggFunc, exp.Anonymous):
            if node.find_ancestor(exp.Select) is not self.select:
                continue
            if isinstance(node, exp.AggFunc) or not (
                node.find(exp.AggFunc) or node.find_ancestor(exp.AggFunc) or _is_within(node, keys)
            ):
                yield node

    def _gains_nothing(self, call: exp.Expr) -> bool:
        around = call.parent
        if isinstance(around, exp.Filter) and worth(around.expression.this, self.of_people).rules_out:
            return True
        if isinstance(around, exp.WithinGroup):
            return any(worth(item.this, self.of_people) is Worth.NULL for item in around.expression.expressions)
        parts = [worth(part, self.of_people) for part in _arguments(call)]
        if isinstance(call, exp.CountIf):
            return all(part.rules_out for part in parts)
        adds_zero = isinstance(call, exp.Sum) and set(parts) <= {Worth.ZERO, Worth.FALSE}
        return bool(parts) and (adds_zero or Worth.NULL in parts)


def _is_within(node: exp.Expr, keys: Sequence[exp.Expr]) -> bool:
    """Whether it is one of the keys, or a part of one."""
    above: exp.Expr | None = node
    while above is not None and not isinstance(above, (exp.Select, exp.Group)):
        if above in keys:
            return True
        above = above.parent
    return isinstance(above, exp.Group)


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    """What an aggregate is taken of: of DISTINCT and of pairs in parentheses, their parts."""
    waiting = [
        each for each in (call.this, call.args.get("expression"), *call.expressions) if isinstance(each, exp.Expr)
    ]
    parts: list[exp.Expr] = []
    for each in waiting:
        if isinstance(each, exp.Distinct):
            only = each.expressions[0] if len(each.expressions) == 1 else None
            parts += [] if isinstance(only, exp.Tuple) else each.expressions
        else:
            parts.append(each)
    return parts
