"""A name in GROUP BY that is a column's and an alias's: the column's, as in DuckDB and PostgreSQL."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from tacit.policy import fold

T = TypeVar("T", bound=exp.Expr)


def columns_first(tree: T) -> T:
    """The same question, such a name in parentheses, in which no alias is looked for.

    `SELECT LOWER(city) AS city, COUNT(*) … GROUP BY city` has a group for each city as it is written; LOWER is computed
    of those. Where more is read than what is grouped by, SQL would refuse, and the alias is what can be meant.
    """
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.find(exp.Rollup, exp.Cube, exp.GroupingSets) is None:
            _mark(select, group)
    return tree


def _mark(select: exp.Select, group: exp.Expr) -> None:
    items = {fold(item.alias): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    grouped = {fold(node.name) for node in group.expressions if isinstance(node, exp.Column)}
    for node in list(group.expressions):
        meant = items.get(fold(node.name)) if isinstance(node, exp.Column) and not node.table else None
        if meant is None or isinstance(meant, exp.Column) or meant.find(exp.Query):
            continue
        read = {fold(column.name) for column in meant.find_all(exp.Column)}
        if fold(node.name) in read <= grouped:
            node.replace(exp.Paren(this=node.copy()))
