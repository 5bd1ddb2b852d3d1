"""The noisy rows of several grouping sets as one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.curator.answer import AnswerTable, Cell, answer, in_order, keys_among
from tacit.curator.measuring.noisy import Noisy
from tacit.sql import BoundQuery, Output, Plan
from tacit.sql.binding import post
from tacit.sql.binding.grouping_sets import Places


@dataclass(frozen=True, slots=True)
class _Row:
    cells: tuple[Cell, ...]
    errors: tuple[float | None, ...]


def one_table(bound: BoundQuery, sets: Places, answers: Iterable[tuple[Plan, Noisy]]) -> AnswerTable:
    """HAVING, ORDER BY and LIMIT act on the noisy rows of all sets together; a set that is named twice is there twice.

    `answers` has, for each of `sets`, what to show of it and its noisy columns. What is ordered by stands behind the
    columns until the rows are in order.
    """
    known = {frozenset(keys): index for index, keys in enumerate(sets)}
    tables = [list(_rows(bound, keys, *pair)) for keys, pair in zip(sets, answers, strict=True)]
    rows = [row for keys in bound.sets or () for row in tables[known[frozenset(keys)]]]
    width = len(bound.outputs)
    order = np.arange(len(rows))
    for back, item in enumerate(reversed(bound.order), 1):
        values = [_ordered(row.cells[-back]) for row in rows]
        order = in_order(order, values, descending=item.descending)
    end = None if bound.limit is None else bound.offset + bound.limit
    kept = [rows[index] for index in order[bound.offset : end].tolist()]
    names = tuple(out.name for out in bound.outputs)
    cells, errors = tuple(row.cells[:width] for row in kept), tuple(row.errors[:width] for row in kept)
    return AnswerTable(names, cells, errors, keys_among(bound.outputs))


def _rows(bound: BoundQuery, keys: Sequence[int], plan: Plan, noisy: Noisy) -> Iterator[_Row]:
    """The rows of one set that HAVING lets through, NULL in the columns that it rolls up."""
    wanted = resolved([*bound.outputs, *(item.output for item in bound.order)], keys)
    fixed = {index: _constant(out) for index, out in enumerate(wanted) if _is_constant(out, keys)}
    asked = tuple(
        Output(out.name, None if out.key is None else keys.index(out.key), out.value)
        for index, out in enumerate(wanted)
        if index not in fixed
    )
    having = bound.having
    if having is not None:
        having = having.with_posts(iter([post.grouped_by(value, keys) for value in having.posts()]))
    table = answer(replace(plan, outputs=asked, having=having, order=(), limit=None, offset=0), noisy)
    for cells, errors in zip(table.rows, table.errors, strict=True):
        numbers, widths = iter(cells), iter(errors)
        yield _Row(
            tuple(fixed[index] if index in fixed else next(numbers) for index in range(len(wanted))),
            tuple(None if index in fixed else next(widths) for index in range(len(wanted))),
        )


def resolved(outputs: Sequence[Output], keys: Sequence[int]) -> list[Output]:
    """The columns as the rows of one set have them: GROUPING() is a number there."""
    return [out if out.value is None else replace(out, value=post.grouped_by(out.value, keys)) for out in outputs]


def _ordered(cell: Cell) -> Cell:
    """What a cell is sorted by: a list of choices or a histogram by how it reads."""
    return str(cell) if isinstance(cell, (list, dict)) else cell


def _is_constant(out: Output, keys: Sequence[int]) -> bool:
    return out.key not in keys if out.value is None else not post.refs(out.value)


def _constant(out: Output) -> Cell:
    """NULL for a key that is rolled up; else a number that depends on the set alone."""
    if out.value is None:
        return None
    exact = Fraction(float(post.evaluate(out.value, ()).value[0]))
    return int(exact) if exact.denominator == 1 else float(exact)
