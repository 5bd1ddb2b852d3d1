"""INITCAP of a group's key, written as what it shows: groups by LOWER, which every engine has, and INITCAP over them.

INITCAP(a) and INITCAP(b) are the same text just where LOWER(a) and LOWER(b) are, so that the groups are the same; where
a word begins, in which databases differ, is then a matter of released keys alone.
"""

from __future__ import annotations

import re
from typing import TypeVar

from sqlglot import exp

T = TypeVar("T", bound=exp.Expr)
_WORD = re.compile(r"[^\W_]+")


def grouped_by_lower(tree: T) -> T:
    """The same question, with INITCAP only over the keys of groups, and of constants that it is compared with."""
    if tree.find(exp.Initcap) is None:
        return tree
    for call in list(tree.find_all(exp.Coalesce, exp.Trim)):
        _outwards(call)
    for distinct in list(tree.find_all(exp.Distinct)):
        if isinstance(distinct.parent, exp.Count):  # as many as there are of LOWER
            distinct.set("expressions", [_lowered(each) for each in distinct.expressions])
    for select in list(tree.find_all(exp.Select)):
        if select.args.get("group") is not None:
            _show(select)
    for node in list(tree.find_all(exp.EQ, exp.In)):
        _compare(node)
    return tree


def _outwards(node: exp.Expr) -> None:
    """TRIM(INITCAP(x)) as INITCAP(TRIM(x)), and COALESCE(INITCAP(x), 'Unknown') as INITCAP(COALESCE(x, 'Unknown'))."""
    inner = node.this
    others = node.expressions if isinstance(node, exp.Coalesce) else []
    alike = all(_is_text(other) and initials(other.name) == other.name for other in others)
    plain = isinstance(node, exp.Coalesce) or not any(value for name, value in node.args.items() if name != "this")
    if isinstance(inner, exp.Initcap) and alike and plain:
        copy = node.copy()
        copy.set("this", inner.this.copy())
        node.replace(exp.Initcap(this=copy))


def _lowered(node: exp.Expr) -> exp.Expr:
    return exp.Lower(this=node.this.copy()) if isinstance(node, exp.Initcap) else node


def _show(select: exp.Select) -> None:
    group = select.args["group"]
    items = [item.unalias() for item in select.expressions]
    names = [item.alias_or_name.casefold() for item in select.expressions]
    keys: list[exp.Expr] = []
    for node in group.expressions:
        meant = node
        if isinstance(node, exp.Literal) and not node.is_string and 0 < int(node.this) <= len(items):
            meant = items[int(node.this) - 1]
        elif isinstance(node, exp.Column) and not node.table and node.name.casefold() in names:
            meant = items[names.index(node.name.casefold())]
        keys.append(meant.copy() if isinstance(meant, exp.Initcap) else node)
    wanted = [key.this for key in keys if isinstance(key, exp.Initcap)]
    if group.args.get("all"):
        wanted += [item.this.copy() for item in items if isinstance(item, exp.Initcap)]
        keys = [item.copy() for item in items if item.find(exp.AggFunc) is None] if wanted else keys
        group.set("all", None if wanted else True)
    if not wanted:
        return
    select.set("expressions", [_named(item) for item in select.expressions])
    for part in (*select.expressions, select.args.get("having"), select.args.get("order")):
        for call in list(part.find_all(exp.Initcap)) if part is not None else ():
            if call.this in wanted:
                call.set("this", exp.Lower(this=call.this.copy()))
    group.set("expressions", [exp.Lower(this=key.this.copy()) if isinstance(key, exp.Initcap) else key for key in keys])


def _named(item: exp.Expr) -> exp.Expr:
    """What is shown keeps the name that it has by itself."""
    if not isinstance(item, exp.Initcap):
        return item
    return exp.alias_(item, f"initcap({item.this.sql(dialect='duckdb').lower()})"[:60], quoted=True)


def _compare(node: exp.Expr) -> None:
    """INITCAP(x) = 'Nurse' is LOWER(x) = 'nurse'; what INITCAP never gives, it is never equal to."""
    values = node.expressions if isinstance(node, exp.In) else [node.expression]
    if not isinstance(node.this, exp.Initcap) or not values or any(not _is_text(value) for value in values):
        return
    shown = [value for value in values if initials(value.name) == value.name]
    if len(shown) < len(values):
        return
    node.set("this", exp.Lower(this=node.this.this.copy()))
    for value in shown:
        value.replace(exp.Literal.string(value.name.lower()))


def _is_text(node: object) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def initials(text: str) -> str:
    """The text with a capital at the start of every word, and small letters else."""
    return _WORD.sub(lambda word: word[0][:1].upper() + word[0][1:].lower(), text)
