"""A subquery whose columns are named after it: FROM (SELECT …) AS t (a, b), WITH t (a, b) AS …"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import fold
from tacit.policy.reading.names import is_column_name
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.relations.joining.parts import OWNER, NamedTable, key_column, with_columns


def renamed(part: NamedTable, names: Sequence[str]) -> NamedTable:
    """The same rows under other names, given in order."""
    if part.derived is None or len(names) != len(part.listed):
        what = f"has {len(part.listed)} columns, and {len(names)} names are given"
        raise QueryRefused(f"{part.alias}({', '.join(names)[:60]}) {what}", hint="name all of them, or none")
    if len({fold(name) for name in names}) < len(names) or not all(map(is_column_name, names)):
        raise QueryRefused(f"{part.alias}(…) needs plain names that differ", hint="write AS t (a, b)")
    new = dict(zip(part.listed, names, strict=True))
    columns = tuple(column.named(new[fold(column.name)]) for column in part.columns)
    listed: list[exp.Expression] = [_named(OWNER, OWNER)] if part.is_private else []
    listed += [_named(key_column(old), key_column(new[old])) for old in part.keys]
    listed += [_named(column.name, new[fold(column.name)]) for column in part.columns]
    rows = exp.Subquery(this=copied(part.derived), alias=exp.TableAlias(this=exp.to_identifier("t")))
    return replace(
        part,
        table=with_columns(part.table, columns),
        types={new[fold(name)]: kind for name, kind in part.types.items()},
        columns=columns,
        keys={fold(new[name]): owner for name, owner in part.keys.items()},
        derived=exp.select(*listed).from_(rows),
        listed=tuple(map(fold, names)),
        unique=None if part.unique is None else frozenset(fold(new[name]) for name in part.unique),
    )


def _named(old: str, new: str) -> exp.Expression:
    column = quoted_column(old)
    return exp.Alias(this=column, alias=exp.to_identifier(new, quoted=True))
