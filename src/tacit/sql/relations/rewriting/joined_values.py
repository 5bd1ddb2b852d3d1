"""One value of another table in the select list, written as a join with the grouped subquery that has it."""

from __future__ import annotations

from sqlglot import exp

from tacit.policy import fold
from tacit.sql.expressions.names.nodes import aliased, paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import all_of, bare, conjuncts
from tacit.sql.relations.joining.parts import unlike
from tacit.sql.relations.rewriting.forms import own_nodes
from tacit.sql.relations.rewriting.of_no_rows import aggregate_calls, apart


def joined_values(select: exp.Select) -> exp.Select:
    """(SELECT MIN(b.x) FROM b WHERE b.key = a.key) in the select list: joined, grouped by what it is tied by."""
    if not any(is_value(node) for item in select.expressions for node in item.walk()):
        return select
    copy = copied(select)
    for index, node in enumerate([each for item in copy.expressions for each in item.walk() if is_value(each)]):
        alias = unlike(f"value {index + 1}", _aliases(copy).__contains__)
        joined = _grouped_value(node.this, alias)
        if joined is None or node.find_ancestor(exp.Select) is not copy:
            continue
        subquery, on, value = joined
        node.replace(paren(value))
        copy = copy.join(subquery, on=on, join_type="left", copy=False)
    return copy


def is_value(node: exp.Expr) -> bool:
    """Whether it is a subquery that stands for one value."""
    return (
        isinstance(node, exp.Subquery)
        and isinstance(node.this, exp.Select)
        and not isinstance(node.parent, (exp.From, exp.Join, exp.In, exp.Exists))
    )


def _aliases(select: exp.Select) -> set[str]:
    sources = [select.args.get("from_"), *(select.args.get("joins") or ())]
    return {fold(source.this.alias_or_name) for source in sources if source is not None}


def _grouped_value(inner: exp.Select, alias: str) -> tuple[exp.Subquery, exp.Expr, exp.Expr] | None:
    """The subquery to join, on what, and its value; None where more than equalities tie it to the row outside."""
    item = inner.expressions[0].unalias() if len(inner.expressions) == 1 else None
    used = [
        name
        for name, value in inner.args.items()
        if value and name not in {"kind", "expressions", "from_", "joins", "where"}
    ]
    if item is None or used or not aggregate_calls(item):
        return None
    tied = tied_by(inner)
    if tied is None:
        return None
    kept, ties = tied
    rows = copied(inner)
    whole = all_of(kept)
    rows.set("where", None if whole is None else exp.Where(this=whole))
    keys = [aliased(copied(inside), f"tie {index}") for index, (inside, _) in enumerate(ties)]
    listed, value = apart(item, "value", lambda name: _of_quoted(alias, name))
    rows.set("expressions", [*keys, *listed])
    rows.set("group", exp.Group(expressions=[copied(inside) for inside, _ in ties]))
    on: list[exp.Expression] = [
        exp.EQ(this=_of_quoted(alias, f"tie {index}"), expression=copied(outside))
        for index, (_, outside) in enumerate(ties)
    ]
    subquery = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    together = all_of(on)
    assert together is not None  # noqa: S101 - there is a tie
    return subquery, together, value


Ties = list[tuple[exp.Expression, exp.Expression]]  # columns that are equal: one inside, one of the row outside


def tied_by(inner: exp.Select) -> tuple[list[exp.Expression], Ties] | None:
    """What of WHERE looks at a subquery's own rows, and what ties them to the row outside; None for other ties."""
    own = _aliases(inner)
    where = inner.args.get("where")
    kept: list[exp.Expression] = []
    ties: Ties = []
    for condition in [] if where is None else conjuncts(where.this):
        outer = [
            each
            for each in own_nodes(condition)
            if isinstance(each, exp.Column) and each.table and fold(each.table) not in own
        ]
        sides = [bare(condition.this), bare(condition.expression)] if isinstance(condition, exp.EQ) else []
        if not outer:
            kept.append(copied(condition))
        elif len(outer) == 1 and outer[0] in sides and all(isinstance(side, exp.Column) for side in sides):
            inside = sides[1] if sides[0] is outer[0] else sides[0]
            ties.append((inside, outer[0]))
        else:
            return None
    return (kept, ties) if ties else None


def _of_quoted(table: str, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))
