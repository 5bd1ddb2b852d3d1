"""Columns that a generated query lists and nobody reads: left out of it, as whoever writes by hand never lists them."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from sqlglot import exp

OUTSIDE = "outside"  # qualifies a column of the one source of the select around


def leave_out_unread(node: exp.Select, own: Sequence[exp.Expression]) -> None:
    """Have what a select reads from list no more than the select reads of it; `own` are its `own_parts`.

    A row stays where it is, and there are as many: DISTINCT and all set operations but UNION ALL, which compare rows,
    keep their columns, and so does a list that groups or orders are counted along, and a select that its aggregates
    alone make one row. A table that WITH names may be read elsewhere too.
    """
    sources = [holder.this for holder in (node.args["from_"], *(node.args.get("joins") or ()))]
    if not any(isinstance(source, exp.Subquery) for source in sources):
        return
    read = _names_read(own)
    for source in sources:
        if isinstance(source, exp.Subquery):
            members = _members(source.this)
            names = {name for alias, name in read if alias in {source.alias, None}}
            if members and (left_out := _places_unread(members, names)):
                for member in members:
                    member.set("expressions", [it for at, it in enumerate(member.expressions) if at not in left_out])


def own_parts(node: exp.Select) -> list[exp.Expression]:
    """The columns that stand in a select itself, and the queries in its expressions; not what it reads from."""
    own: list[exp.Expression] = []
    parts = [value for name, value in node.args.items() if name not in {"from_", "with_", "joins"}]
    parts += [join.args["on"] for join in node.args.get("joins") or () if join.args.get("on") is not None]
    while parts:
        part = parts.pop()
        kind = type(part)
        if kind is exp.Column:
            own.append(part)
        elif kind is list:
            parts += part
        elif kind is exp.Literal or kind is str or part is None:
            continue
        elif isinstance(part, (exp.Column, exp.Select, exp.SetOperation)):
            own.append(part)
        elif isinstance(part, exp.Expression):
            parts += part.args.values()
    return own


def output_name(item: exp.Expression) -> tuple[str, bool] | None:
    """What a selected item is called by, and whether that is quoted; nothing where nobody can refer to it."""
    named = (
        item.args.get("alias") if isinstance(item, exp.Alias) else item.this if isinstance(item, exp.Column) else None
    )
    return (named.args["this"], bool(named.args.get("quoted"))) if isinstance(named, exp.Identifier) else None


def _names_read(own: Sequence[exp.Expression]) -> set[tuple[str | None, str]]:
    """Columns with the alias that they stand behind: None where it may be any source of the select."""
    read: set[tuple[str | None, str]] = set()
    for part in own:
        if isinstance(part, exp.Column):
            read.add((part.table or None, part.name))
        else:  # a query in an expression: a bare name in it is of its own source
            within = {(column.table, column.name) for column in part.find_all(exp.Column) if column.table}
            read |= {(None if alias == OUTSIDE else alias, name) for alias, name in within}
    return read


def _members(node: exp.Expression) -> list[exp.Select]:
    """The selects whose rows make up a query, all with the same columns; none where rows are compared."""
    if isinstance(node, exp.Subquery):
        return _members(node.this)
    if isinstance(node, exp.Select):
        return [] if node.args.get("distinct") or _is_counted_along(node) else [node]
    if isinstance(node, exp.Union) and not node.args.get("distinct"):
        both = _members(node.this), _members(node.expression)
        return [*both[0], *both[1]] if all(both) else []
    return []


def _is_counted_along(node: exp.Select) -> bool:
    """Whether GROUP BY or ORDER BY go by the list itself: by all of it, or by places in it."""
    group, order = node.args.get("group"), node.args.get("order")
    listed = [*(group.expressions if group else ()), *(item.this for item in (order.expressions if order else ()))]
    return bool(group and group.args.get("all")) or any(isinstance(each, exp.Literal) for each in listed)


def _places_unread(members: Sequence[exp.Select], read: AbstractSet[str]) -> set[int]:
    """Which columns nobody needs; a row has one at least, whoever looks at how many there are."""
    names = [output_name(item) for item in members[0].expressions]
    unread = {place for place, name in enumerate(names) if name is not None and name[0] not in read}
    for member in members:
        unread = {place for place in unread if place < len(member.expressions) and _is_cell(member, place)}
    return unread if len(unread) < len(names) else unread - {min(unread)}


def _is_cell(node: exp.Select, place: int) -> bool:
    """Whether there are as many rows without that column: no list is spread by it, nor does it make all rows one."""
    group, item = node.args.get("group"), node.expressions[place]
    makes_one = not (group and group.expressions) and item.find(exp.AggFunc, exp.Anonymous)
    return not (makes_one or item.find(exp.UDTF))
