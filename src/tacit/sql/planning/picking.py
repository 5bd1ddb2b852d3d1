"""Conditions that only pick some values of a public column: what is left of WHERE without them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tacit.sql.binding.bind import BoundQuery
from tacit.sql.expressions.names.printing import text_of
from tacit.sql.expressions.names.scope import Value, conjuncts
from tacit.sql.workloads.truth import Mask, PublicCells
from tacit.sql.workloads.workload import condition_on

_MOST = 4  # picks that are tried in every combination
_LONGEST = 40  # conditions worth taking apart


@dataclass(frozen=True, slots=True)
class Pick:
    """The values of one column that a condition lets through. `outside`: it lets through some beyond the domain too."""

    column: str
    values: frozenset[Value]
    domain: frozenset[Value]
    outside: bool

    def __and__(self, other: Pick) -> Pick:
        return Pick(self.column, self.values & other.values, self.domain, self.outside and other.outside)


@dataclass(frozen=True)
class Where:
    """The conditions that every row of a question meets, and which of them pick values of a public column.

    What they pick is only looked for where a kept answer may serve.
    """

    texts: tuple[str, ...] = ()
    _picked: Callable[[], tuple[Pick | None, ...]] = field(default=tuple, compare=False, repr=False)

    @property
    def picks(self) -> tuple[Pick | None, ...]:
        """For each condition what it picks; None where it does something else. Long: nobody keeps it."""
        return self._picked()

    @property
    def text(self) -> str:
        """A text that is the same for the same conditions, in whatever order."""
        return "\x1f".join(sorted(self.texts))


@dataclass(frozen=True, slots=True)
class Restriction:
    """WHERE taken apart: some columns, each with the values it picks, and the conditions that remain."""

    picks: tuple[Pick, ...]
    rest: Where


def where_of(bound: BoundQuery) -> Where:
    """The conditions of a question."""
    parts = [] if bound.where is None else list(conjuncts(bound.where))

    def picked() -> tuple[Pick | None, ...]:
        if len(parts) > _LONGEST:
            return (None,) * len(parts)
        return tuple(_pick(condition_on(part, bound)) for part in parts)

    return Where(tuple(text_of(part) for part in parts), picked)


def restrictions(where: Where) -> Iterator[Restriction]:
    """Every way to read the conditions as picks of columns and the rest, the most picks first."""
    picks = [(index, pick) for index, pick in enumerate(where.picks) if pick is not None][:_MOST]
    for count in range(len(picks), 0, -1):
        for chosen in itertools.combinations(picks, count):
            taken = {index for index, _ in chosen}
            rest = tuple(text for index, text in enumerate(where.texts) if index not in taken)
            yield Restriction(_merged([pick for _, pick in chosen]), Where(rest))


def _pick(condition: tuple[PublicCells, Mask] | None) -> Pick | None:
    if condition is None:
        return None
    line, mask = condition
    inside, outside = mask[: len(line.domain)], mask[len(line.domain) :]
    values = frozenset(itertools.compress(line.domain, inside))
    return Pick(line.column, values, frozenset(line.domain), bool(outside.any()))


def _merged(picks: list[Pick]) -> tuple[Pick, ...]:
    merged: dict[str, Pick] = {}
    for pick in picks:
        merged[pick.column] = merged[pick.column] & pick if pick.column in merged else pick
    return tuple(merged.values())
