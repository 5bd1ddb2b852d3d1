"""The grouping sets of one statement as questions, and as one workload over the cells of their keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from sqlglot import exp

from tacit.mechanisms.strategy import Workload, each, everything
from tacit.sql.binding import post
from tacit.sql.binding.bind import BoundQuery, Output
from tacit.sql.binding.grouping_sets import Places, distinct_sets
from tacit.sql.expressions.keys import Key
from tacit.sql.expressions.measures import Additive, Counted
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import all_of
from tacit.sql.expressions.operands import literal
from tacit.sql.workloads.workload import MAX_CELLS, Cells


@dataclass(frozen=True, slots=True)
class SetQuestions:
    """Each set of a statement, once, as a question of its own. All of them count the same rows.

    A row counts if the keys of *all* sets have a value in their public domains, as it would under a GROUP BY of them
    all; so a total is the sum of its cells. HAVING, ORDER BY and LIMIT wait for the rows of all sets.
    """

    whole: BoundQuery
    sets: Places
    bounds: tuple[BoundQuery, ...]

    @property
    def kinds(self) -> dict[int, str]:
        """The sets whose numbers are sums over cells that are listed beforehand."""
        if self.whole.table.public or not all(_adds_up(measure) for measure in self.whole.measures):
            return {}
        return {index: "sets" for index, bound in enumerate(self.bounds) if _listed(bound.keys)}

    def label(self, index: int) -> str:
        """What to call a set: its keys, as the select list or else the table does."""
        called = {out.key: out.name for out in reversed(self.whole.outputs) if out.key is not None}
        return f"({', '.join(called.get(key) or _column(self.whole.keys[key]) for key in self.sets[index])})"

    def names(self, index: int) -> frozenset[str]:
        """The columns of the cells that one set adds up."""
        return frozenset(map(str, self.sets[index]))

    def joined(self, indices: Sequence[int]) -> Cells | None:
        """One histogram over all the keys of these sets, of which each set is a marginal."""
        axes = sorted({axis for index in indices for axis in self.sets[index]})
        sizes = tuple(len(key.values) for key in _keys(self.whole, axes) if isinstance(key.values, tuple))
        if not axes or not 0 < math.prod(sizes) <= MAX_CELLS:
            return None
        every, one = [each(size) for size in sizes], [everything(size) for size in sizes]
        blocks = tuple(
            tuple(every[i] if axis in self.sets[index] else one[i] for i, axis in enumerate(axes)) for index in indices
        )
        return Cells(
            histogram=_question(self.whole, axes),
            classes=tuple(np.arange(size, dtype=np.int64) for size in sizes),
            workload=Workload(sizes, blocks),
            keys=tuple(tuple(axes.index(axis) for axis in self.sets[index]) for index in indices),
        )


def set_questions(bound: BoundQuery) -> SetQuestions:
    """One question for each set that `bound` names."""
    sets = distinct_sets(bound.sets or ())
    return SetQuestions(bound, sets, tuple(_question(bound, axes) for axes in sets))


def _column(key: Key) -> str:
    column = key.sql.find(exp.Column)
    return column.name if column is not None else "a key"


def _adds_up(measure: object) -> bool:
    """Whether the number of a wider group is the sum of those of its cells: that of its units is not."""
    return isinstance(measure, Additive) and measure.counted in {Counted.ROWS, Counted.VALUES}


def _listed(keys: Sequence[Key]) -> bool:
    return all(isinstance(key.values, tuple) for key in keys)


def _keys(bound: BoundQuery, axes: Sequence[int]) -> tuple[Key, ...]:
    return tuple(bound.keys[index] for index in axes)


def _question(bound: BoundQuery, axes: Sequence[int]) -> BoundQuery:
    """What one set asks: its keys, and every number that the answer, HAVING or ORDER BY is made of.

    A row whose key has no value is in no group. Where a unit has several rows it must not be sampled either, so that
    all sets sample from the same; where each row counts by itself, the set of all keys is then a plain GROUP BY.
    """
    sampled = bound.relation.owner is not None
    elsewhere = [key for index, key in enumerate(bound.keys) if index not in axes or (sampled and key.keep is None)]
    within = [condition for key in elsewhere if (condition := in_domain(key)) is not None]
    held = bound.having.posts() if bound.having is not None else []
    values = [out.value for out in (*bound.outputs, *(item.output for item in bound.order))]
    asked = [value for value in (*values, *held) if value is not None and post.refs(value)]
    resolved = dict.fromkeys(post.grouped_by(value, axes) for value in asked)
    return replace(
        bound,
        where=all_of([copied(part) for part in (bound.where, *within) if part is not None]),
        keys=_keys(bound, axes),
        outputs=tuple(Output(f"v{index}", value=value) for index, value in enumerate(resolved)),
        having=None,
        order=(),
        limit=None,
        offset=0,
        sets=None,
    )


def in_domain(key: Key) -> exp.Expression | None:
    """The rows whose key is one of its public values; None where they are private, so that any may be."""
    if key.keep is not None:
        return copied(key.keep)
    if not isinstance(key.values, tuple):
        return None
    ends = [value for value in key.values if isinstance(value, (int, date)) and not isinstance(value, bool)]
    if key.step is None and ends and len(ends) == len(key.values):  # years and months, of which others exist
        low, high = literal(min(ends)), literal(max(ends))
        return exp.Between(this=_operand(key), low=low, high=high)
    return exp.Not(this=exp.Is(this=_operand(key), expression=exp.null()))


def _operand(key: Key) -> exp.Expression:
    return copied(key.sql) if isinstance(key.sql, exp.Column) else paren(copied(key.sql))
