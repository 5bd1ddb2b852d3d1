"""WINDOW w AS (…): what each OVER w means, written out."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.names.printing import copied

T = TypeVar("T", bound=exp.Expr)


def written_out(tree: T) -> T:
    """The question, with the windows that a SELECT names put in where they are used."""
    for select in list(tree.find_all(exp.Select)):
        windows = {each.name.casefold(): each for each in select.args.get("windows") or ()}
        if not windows or any(map(_base, windows.values())):
            continue  # one that is made of another stays: DuckDB reads it over answers
        for node in [node for node in select.find_all(exp.Window) if node.find_ancestor(exp.Select) is select]:
            name = _base(node)
            if name is None or node.arg_key == "windows":
                continue
            named = windows.get(name.casefold())
            if named is None:
                raise QueryRefused(f"there is no WINDOW {name[:60]}", hint="name it: WINDOW w AS (PARTITION BY …)")
            node.set("alias", None)
            for part in ("partition_by", "order", "spec"):
                value = named.args.get(part)
                if value and not node.args.get(part):
                    node.set(part, [copied(each) for each in value] if isinstance(value, list) else copied(value))
        select.set("windows", None)
    return tree


def _base(node: exp.Expr) -> str | None:
    """The window that an OVER is of, or begins with."""
    alias = node.args.get("alias")
    return alias.name if isinstance(alias, exp.Identifier) else None
