"""FROM a public table LEFT JOIN people: every public group is in the answer anyway, so the join need keep none.

An outer join that keeps rows of nobody would have them counted, or not, by what everybody else has. But where groups
are columns of the public table, and every aggregate is of a private column, such a row adds nothing: COUNT(v.x) of it
is zero, SUM(v.x) is empty. Then the inner join has the same groups with the same numbers, and lists the empty ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tacit.policy import Policy, fold
from tacit.sql.expressions.names.printing import copied

_LOOKS_AT_NULL = (
    exp.Is,
    exp.Coalesce,
    exp.Case,
    exp.If,
    exp.Nullif,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Star,
    exp.Query,
)


def without_empty_rows(select: exp.Select, policy: Policy) -> exp.Select:
    """The same question with an inner join, where that is the same; else as it is, to be refused."""
    source, joins = select.args.get("from_"), select.args.get("joins") or ()
    if source is None or select.args.get("with_") or not any(_is_left(join) for join in joins):
        return select
    tables = [source.this, *(join.this for join in joins)]
    known = [_is_public(table, policy) for table in tables]
    if known[0] is not True or None in known or all(known):
        return select
    first = known.index(False)
    if not _is_left(joins[first - 1]):
        return select
    public, private = (
        {fold(table.alias_or_name) for table, is_public in zip(tables, known, strict=True) if is_public is which}
        for which in (True, False)
    )
    if not (groups_are(public, select) and adds_nothing(private, select)):
        return select
    copy = copied(select)
    copy.args["joins"][first - 1].set("side", None)
    return copy


def _is_left(join: exp.Join) -> bool:
    return str(join.args.get("side") or "").upper() == "LEFT" and join.args.get("on") is not None


def _is_public(table: exp.Expr, policy: Policy) -> bool | None:
    """None for what is no table of the policy by its plain name."""
    if not isinstance(table, exp.Table) or table.db:
        return None
    table_policy = next((each for each in policy.tables if fold(each.name) == fold(table.name)), None)
    return None if table_policy is None else table_policy.public


def groups_are(public: set[str], select: exp.Select) -> bool:
    """Whether each group is a column of a public table, which lists all its values."""
    group = select.args.get("group")
    if group is None or any(value for name, value in group.args.items() if name != "expressions"):
        return False
    named = {fold(item.alias): item.unalias() for item in select.expressions if isinstance(item, exp.Alias)}
    for node in group.expressions:
        meant = node
        if (
            isinstance(node, exp.Literal)
            and str(node.this).isdigit()
            and 1 <= int(node.this) <= len(select.expressions)
        ):
            meant = select.expressions[int(node.this) - 1].unalias()
        elif isinstance(node, exp.Column) and not node.table:
            meant = named.get(fold(node.name), node)
        if not isinstance(meant, exp.Column) or fold(meant.table) not in public:
            return False
    return True


def adds_nothing(private: set[str], select: exp.Select) -> bool:
    """Whether a row without people changes no aggregate, and every condition on people leaves it out."""
    calls = [node for node in select.find_all(exp.AggFunc) if node.find_ancestor(exp.Select) is select]
    if not calls or any(select.find(kind) for kind in (exp.Window, exp.Exists, exp.In)):
        return False
    parts = [call.this for call in calls if isinstance(call.this, exp.Expression)]
    if len(parts) < len(calls) or not all(any(_columns(part, private)) for part in parts):
        return False
    where = select.args.get("where")
    if where is not None and any(_columns(where, private)):
        parts.append(where)
    return not any(part.find(*_LOOKS_AT_NULL) for part in parts)


def _columns(node: exp.Expr, tables: set[str]) -> Iterator[exp.Column]:
    return (column for column in node.find_all(exp.Column) if fold(column.table) in tables)
