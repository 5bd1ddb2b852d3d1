"""A list that the question writes down, of which a row may have several partners: the table once for each of them.

`JOIN (VALUES (DATE '2022-12-31'), …) AS d(day) ON t.since <= d.day` and `CROSS APPLY (VALUES ('paid', paid), …)` make
as many rows of one as the list has. That is a UNION ALL of the rows with each row of the list beside them, whose
bounds are those of any union.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.expressions.names.scope import all_of, conjuncts
from tacit.sql.relations.joining.parts import unlike
from tacit.sql.relations.rewriting.listed_joins import list_of

_MOST = 60  # rows of a list: each is the table once more
_INNER = "spread"
_OUTER = ("group", "having", "order", "qualify")


@dataclass(slots=True)
class _Inside:
    """The columns that the select around the union reads, by what they are called there."""

    alias: str
    listed: Sequence[str]
    taken: dict[str, str] = field(default_factory=dict)  # by the column as it is written: its name around
    items: list[exp.Expr] = field(default_factory=list)
    aliases: set[str] = field(default_factory=set)  # of the select list, which GROUP BY and ORDER BY may name

    def is_listed(self, column: exp.Column) -> bool:
        name = fold(column.name)
        return name in self.listed and (fold(column.table) == self.alias if column.table else True)

    def outside(self, column: exp.Column) -> exp.Expr:
        """The same column around the union."""
        if not column.table and fold(column.name) in self.aliases:
            return column.copy()
        if self.is_listed(column):
            return exp.column(exp.to_identifier(fold(column.name), quoted=True))
        written = f"{fold(column.table)}.{fold(column.name)}"
        if written not in self.taken:
            known = {*self.listed, *self.taken.values()}
            name = unlike(fold(column.name), lambda tried: fold(tried) in known)
            self.taken[written] = name
            self.items.append(exp.alias_(column.copy(), name, quoted=True))
        return exp.column(exp.to_identifier(self.taken[written], quoted=True))


def with_spread_lists(select: exp.Select) -> exp.Select:
    """The same rows, without a list of which a row could have several partners."""
    for join in select.args.get("joins") or ():
        rows = _rows_of(join)
        if rows is not None and list_of(join) is None and _can_be_written(select):
            return with_spread_lists(_spread(select, join, rows))
    return select


def _rows_of(join: exp.Join) -> list[Mapping[str, exp.Expr]] | None:
    """The rows of a list after JOIN or APPLY, by the names of its columns; None where it is none."""
    node = join.this
    lateral = isinstance(node, exp.Lateral)
    held = node.this if lateral or isinstance(node, exp.Subquery) else node
    values = held.this if isinstance(held, exp.Subquery) else held
    alias = node.args.get("alias") or (values.args.get("alias") if isinstance(values, exp.Values) else None)
    outer = str(join.args.get("side") or "") or (lateral and node.args.get("cross_apply") is False)
    if not isinstance(values, exp.Values) or not isinstance(alias, exp.TableAlias) or outer or join.args.get("using"):
        return None
    names = [fold(column.name) for column in alias.columns]
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in values.expressions]
    alike = names and all(len(row) == len(names) for row in rows) and len(set(names)) == len(names)
    return [dict(zip(names, row, strict=True)) for row in rows] if alike and 0 < len(rows) <= _MOST else None


def _can_be_written(select: exp.Select) -> bool:
    """Whether all that is read is written down: no *, and no subquery that could look at the rows outside."""
    parts = [*select.expressions, *(select.args[name] for name in _OUTER if select.args.get(name) is not None)]
    stars = [item for item in select.expressions if isinstance(item, exp.Star) or isinstance(item.this, exp.Star)]
    stars = [star for star in stars if not isinstance(star, exp.Func)]
    return not stars and not any(part.find(exp.Query) for part in parts)


def _spread(select: exp.Select, join: exp.Join, rows: Sequence[Mapping[str, exp.Expr]]) -> exp.Select:
    inside = _Inside(fold(join.this.alias), list(rows[0]))
    around = exp.Select(expressions=[_outside(item, inside) for item in select.expressions])
    inside.aliases = {fold(item.alias) for item in select.expressions if isinstance(item, exp.Alias)}
    for name in ("kind", "distinct", "limit", "offset", "windows", *_OUTER):
        value = select.args.get(name)
        if value is not None:
            around.set(name, _replaced(value, inside) if isinstance(value, exp.Expression) else value)
    branches = [_branch(select, join, row, inside) for row in rows]
    union: exp.Expr = branches[0]
    for branch in branches[1:]:
        union = exp.Union(this=union, expression=branch, distinct=False)
    alias = exp.TableAlias(this=exp.to_identifier(_INNER))
    around.set("from_", exp.From(this=exp.Subquery(this=union, alias=alias)))
    if select.args.get("with_") is not None:
        around.set("with_", select.args["with_"].copy())
    return around


def _outside(item: exp.Expr, inside: _Inside) -> exp.Expr:
    """An item of the select list; a column that stands by itself keeps its name."""
    written = _replaced(item, inside)
    return exp.alias_(written, item.name, quoted=True) if isinstance(item, exp.Column) else written


def _replaced(part: exp.Expr, inside: _Inside) -> exp.Expr:
    whole = exp.Paren(this=part.copy())
    for column in list(whole.find_all(exp.Column)):
        column.replace(inside.outside(column))
    inner: exp.Expr = whole.this
    return inner


def _branch(select: exp.Select, join: exp.Join, row: Mapping[str, exp.Expr], inside: _Inside) -> exp.Select:
    """The rows of the tables beside one row of the list."""
    where, on = select.args.get("where"), join.args.get("on")
    conditions = [*([] if where is None else conjuncts(where.this)), *([] if on is None else conjuncts(on))]
    held = all_of([_beside(condition, row, inside) for condition in conditions])
    values = [exp.alias_(value.copy(), name, quoted=True) for name, value in row.items()]
    branch = exp.Select(expressions=[*(item.copy() for item in inside.items), *values])
    branch.set("from_", select.args["from_"].copy())
    branch.set("joins", [_beside(other, row, inside) for other in select.args["joins"] if other is not join])
    if held is not None:
        branch.set("where", exp.Where(this=held))
    return branch


def _beside(part: exp.Expr, row: Mapping[str, exp.Expr], inside: _Inside) -> exp.Expression:
    whole = exp.Paren(this=part.copy())
    for column in list(whole.find_all(exp.Column)):
        if inside.is_listed(column):
            column.replace(exp.paren(row[fold(column.name)].copy()))
    inner: exp.Expression = whole.this
    return inner
