"""How many groups there can be: keys that are columns of one row of a public table have the values of its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tacit.policy import TableDomain
from tacit.sql.expressions.keys import Key

Domains = tuple[TableDomain, ...]  # of keys that one row has


def in_one_row(keys: Sequence[Key]) -> list[list[int]]:
    """The indices of the keys, those together that are columns of one row of a public table."""
    rows: dict[object, list[int]] = {}
    for index, key in enumerate(keys):
        rows.setdefault(index if key.row_of is None else key.row_of, []).append(index)
    return list(rows.values())


def domains_of(keys: Sequence[Key]) -> Domains:
    """What lists the values of each key, of those that a table does."""
    return tuple(key.values for key in keys if isinstance(key.values, TableDomain))


def counted(keys: Sequence[Key], count: Callable[[Domains], int]) -> dict[Domains, int]:
    """How many different rows public tables have of the keys that they list."""
    blocks = (domains_of([keys[index] for index in block]) for block in in_one_row(keys))
    return {block: count(block) for block in blocks if block}


def groups_of(keys: Sequence[Key], rows: Mapping[Domains, int]) -> int | None:
    """How many groups the keys make at most; None where that is not known. `rows` are those that were counted."""
    total = 1
    for block in in_one_row(keys):
        there = [keys[index] for index in block]
        domains = domains_of(there)
        if not domains:
            sizes = [len(key.values) if isinstance(key.values, tuple) else None for key in there]
        else:  # fewer columns have no more different rows
            fewest = min((n for known, n in rows.items() if set(domains) <= set(known)), default=None)
            sizes = [fewest if len(domains) == len(there) else None]
        if None in sizes:
            return None
        total *= math.prod(max(1, size) for size in sizes if size is not None)
    return total
