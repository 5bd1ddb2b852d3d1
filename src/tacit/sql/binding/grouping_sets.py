"""ROLLUP, CUBE and GROUPING SETS: the sets of keys that a GROUP BY stands for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.keys import MAX_KEYS, Key, check_groups, known_groups
from tacit.sql.expressions.names.scope import bare

MAX_SETS = 256
_MOST_CUBED = 8  # 2^8 is MAX_SETS

Nodes = tuple[exp.Expression, ...]  # the keys of one set, as they are written
Places = tuple[tuple[int, ...], ...]  # for each set its keys, by their places
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def written_sets(group: exp.Group) -> list[Nodes] | None:
    """Every set in the order SQL has them, repeated ones too; None for a plain GROUP BY.

    `a, ROLLUP (b), CUBE (c)` is a set of each, in every combination.
    """
    for name, value in group.args.items():
        if value and name not in {"expressions", "all"}:
            raise QueryRefused(f"WITH {name.upper()} is refused in GROUP BY", hint="write GROUP BY ROLLUP (a, b)")
    if not any(isinstance(item, _SETS) for item in group.expressions):
        return None
    sets: list[Nodes] = [()]
    for item in group.expressions:
        ways = _ways(item)
        _check_count(len(sets) * len(ways))
        sets = [(*before, *way) for before in sets for way in ways]
    return sets


def _ways(item: exp.Expression) -> list[Nodes]:
    """The sets that one item of GROUP BY stands for."""
    if isinstance(item, exp.Rollup):
        elements = [_element(each) for each in _listed(item, "ROLLUP")]
        _check_count(len(elements) + 1)
        return [_flat(elements[:size]) for size in range(len(elements), -1, -1)]
    if isinstance(item, exp.Cube):
        elements = [_element(each) for each in _listed(item, "CUBE")]
        _check_count(1 << min(len(elements), _MOST_CUBED + 1))
        sizes = range(len(elements), -1, -1)
        return [_flat(chosen) for size in sizes for chosen in itertools.combinations(elements, size)]
    if isinstance(item, exp.GroupingSets):
        ways = [way for each in _listed(item, "GROUPING SETS") for way in _ways(each)]
        _check_count(len(ways))
        return ways
    return [_element(item)]


def _listed(item: exp.Expression, word: str) -> list[exp.Expression]:
    if not item.expressions:
        raise QueryRefused(f"{word} names no keys", hint=f"write GROUP BY {word} (a, b)")
    return list(item.expressions)


def _element(item: exp.Expression) -> Nodes:
    """Keys that come and go together: `(a, b)`, or one alone."""
    if isinstance(item, _SETS):
        raise QueryRefused(
            "ROLLUP, CUBE and GROUPING SETS are refused inside of ROLLUP and CUBE",
            hint="write GROUPING SETS (ROLLUP (a, b), CUBE (c))",
        )
    return tuple(item.expressions) if isinstance(item, exp.Tuple) else (bare(item),)


def _flat(elements: Sequence[Nodes]) -> Nodes:
    return tuple(node for element in elements for node in element)


def _check_count(count: int) -> None:
    if count > MAX_SETS:
        raise QueryRefused(
            f"GROUP BY makes too many grouping sets: at most {MAX_SETS}", hint="list those you need in GROUPING SETS"
        )


def placed_sets(sets: Sequence[Nodes], sign: Callable[[exp.Expression], str]) -> tuple[list[exp.Expression], Places]:
    """The keys of all sets, each once, and for each set the places of its own. `sign` is the same for the same key."""
    nodes: dict[str, exp.Expression] = {}
    for node in _flat(sets):
        nodes.setdefault(sign(node), node)
    order = list(nodes)
    return list(nodes.values()), tuple(tuple(dict.fromkeys(order.index(sign(node)) for node in each)) for each in sets)


def distinct_sets(sets: Places) -> Places:
    """Each set once, whatever the order of its keys."""
    return tuple({frozenset(each): each for each in reversed(sets)}.values())[::-1]


def check_sets(keys: Sequence[Key], sets: Places) -> None:
    """Refuse sets that make too many groups, alone or together."""
    rows = 0
    for each in sets:
        chosen = [keys[index] for index in each]
        check_groups(chosen)
        rows += known_groups(chosen)
    if rows > MAX_KEYS:
        raise QueryRefused(
            f"the grouping sets make too many groups together: {rows:,}", hint=f"at most {MAX_KEYS:,}; use wider bins"
        )
