"""Several bound counting questions as one workload over the cells that they touch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tacit.mechanisms.strategy import Block, Picks, Ranges, Workload, everything, picked
from tacit.policy import Bounding, ColumnPolicy, ColumnType, ListDomain, RangeDomain, fold
from tacit.sql.binding import post
from tacit.sql.binding.bind import BoundQuery, Output
from tacit.sql.expressions.keys import Key
from tacit.sql.expressions.measures import Additive, Counted
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Value, all_of, conjuncts
from tacit.sql.expressions.numeric.grid import grid_columns
from tacit.sql.expressions.operands import literal
from tacit.sql.workloads.cover import covering
from tacit.sql.workloads.truth import Mask, PublicCells, truth

MAX_CELLS = 1_000_000  # of the joint domain; beyond, questions are answered one by one
_TEXTS = {"varchar", "text", "string", "character varying"}  # types whose cells are equal when they read alike
_LARGEST = 1 << 62  # so that a value beyond it still fits 64 bits
_LONGEST = 10_000  # values of a line that are compared one by one


@dataclass(frozen=True, slots=True)
class Fitting:
    """A question that counts cells: for each column it names, which values, and whether it groups by them.

    Questions of one `kind` ask about the same rows, bounded alike, and can share a histogram.
    """

    bound: BoundQuery
    kind: str
    rest: exp.Expression | None  # what of WHERE is no condition on a single public column
    lines: Mapping[str, PublicCells]
    masks: Mapping[str, Mask]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """The histogram that serves several questions, and their workload over classes of its cells.

    `classes` gives, for each column and each of its listed values, the class that no question tells it apart from.
    """

    histogram: BoundQuery
    classes: tuple[NDArray[np.int64], ...]
    workload: Workload  # one block for each question
    keys: tuple[tuple[int, ...], ...]  # for each question, the axes of its keys, in its own order


def fitting(bound: BoundQuery) -> Fitting | None:
    """The question as a row of zeros and ones for each answer, or None where it is none."""
    if bound.table.public or not _counts_rows(bound):
        return None
    lines: dict[str, PublicCells] = {}
    keys = []
    for key in bound.keys:
        line = _line(bound, key_column(key))
        if line is None or key.values != line.domain or line.column in keys:
            return None
        lines[line.column] = line
        keys.append(line.column)
    masks: dict[str, Mask] = {}
    rest = []
    for part in [] if bound.where is None else conjuncts(bound.where):
        condition = condition_on(part, bound)
        if condition is None:
            rest.append(part)
            continue
        line, mask = condition
        lines[line.column] = line
        masks[line.column] = masks.get(line.column, np.ones(line.cells, dtype=bool)) & mask
    remaining = all_of([copied(part) for part in rest])
    text = "" if remaining is None else text_of(remaining)
    caps = bound.query.caps
    kind = "\x1f".join([bound.relation.text, text, str(caps.max_groups), str(caps.max_rows)])
    return Fitting(bound, kind, remaining, lines, masks, tuple(keys))


def _counts_rows(bound: BoundQuery) -> bool:
    """COUNT(*), once, beside keys: nothing else is a sum of cells."""
    if len(bound.measures) != 1:
        return False
    asked = bound.measures[0]
    plain = isinstance(asked, Additive) and asked.counted is Counted.ROWS and asked.value is None
    return plain and all(out.value is None or isinstance(out.value, post.Ref) for out in bound.outputs)


def key_column(key: Key) -> str | None:
    """The column whose own values a key is; None where it is anything else: twice a column has the column's SQL."""
    if key.step not in (None, 1):
        return None
    if isinstance(key.sql, exp.Column):
        return key.sql.name
    names = grid_columns(key.sql)
    return next(iter(names)) if isinstance(key.sql, exp.Anonymous) and key.sql.this == "GRID" else None


def condition_on(part: exp.Expression, bound: BoundQuery) -> tuple[PublicCells, Mask] | None:
    """The one public column that a condition speaks of, and where it is true; None if there is no such column."""
    names = {column.name for column in part.find_all(exp.Column)}
    line = _line(bound, names.pop()) if len(names) == 1 else None
    truths = None if line is None else truth(part, line)
    return None if line is None or truths is None else (line, truths.true)


def _line(bound: BoundQuery, name: str | None) -> PublicCells | None:
    """The cells of a column whose every value belongs to exactly one of them."""
    declared = next((column for column in bound.table.visible if fold(column.name) == fold(name or "")), None)
    if name is None or declared is None or bound.table.is_unit(name):  # a key is nobody's to list
        return None
    raw = bound.relation.sql_types.get(declared.name.casefold(), "").lower()
    kind = ColumnType.from_sql(raw)
    if declared.null is not None or kind is None or declared.type not in {None, kind, *_NUMBERS.get(kind, ())}:
        return None
    if kind is ColumnType.BOOLEAN and declared.domain is None:
        return PublicCells(declared.name, (False, True), ordered=False, closed=True)
    if isinstance(declared.domain, RangeDomain):
        return _range_line(declared, kind, raw)
    if isinstance(declared.domain, ListDomain) and len(declared.domain.values) <= _LONGEST:
        whole = kind is ColumnType.INTEGER and raw != "uhugeint" and all(_is_whole(v) for v in declared.domain.values)
        if whole or (kind is ColumnType.TEXT and raw.partition("(")[0] in _TEXTS):
            return PublicCells(declared.name, declared.domain.values, ordered=False)
    return None


def _is_whole(value: Value) -> bool:
    return type(value) is int and abs(value) < _LARGEST


_NUMBERS = {ColumnType.INTEGER: (ColumnType.NUMBER,)}  # a whole number that the policy calls a number


def _range_line(declared: ColumnPolicy, kind: ColumnType, raw: str) -> PublicCells | None:
    """Whole numbers and days: on a coarser grid a cell would hold values that a condition tells apart."""
    bounds = declared.bounds
    if bounds is None or bounds.step != 1 or bounds.cells > _LONGEST or raw == "uhugeint":
        return None
    if bounds.magnitude >= _LARGEST:
        return None
    if kind is ColumnType.INTEGER:
        return PublicCells(declared.name, _numbers(bounds.lower_units, bounds.upper_units), ordered=True)
    if kind is ColumnType.DATE:
        days = _days(bounds.lower_units, bounds.upper_units)
        return PublicCells(declared.name, days, ordered=True) if date.min < days[0] and days[-1] < date.max else None
    return None


@lru_cache(maxsize=64)  # the questions of a batch share them: two thousand copies would take gigabytes
def _numbers(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


@lru_cache(maxsize=64)
def _days(first: int, last: int) -> tuple[date, ...]:
    return tuple(date(1970, 1, 1) + timedelta(days=day) for day in range(first, last + 1))


def joined(fits: Sequence[Fitting]) -> Cells | None:
    """One workload for questions of one kind; None where they name no column, or too many cells."""
    lines = {name: line for fit in fits for name, line in fit.lines.items()}
    axes = [_axis(lines[name], fits) for name in sorted(lines)]
    if not axes or math.prod(axis.listed.size for axis in axes) > MAX_CELLS:
        return None
    if any(axis.size == 0 for axis in axes):
        return None  # nothing is counted by anyone
    interned: dict[tuple[int, bytes], Picks] = {}
    blocks = tuple(_block(fit, axes, interned) for fit in fits)
    indices = {axis.line.column: index for index, axis in enumerate(axes)}
    first = fits[0]
    outputs = [Output(f"k{index}", key=index) for index in range(len(axes))]
    histogram = replace(
        first.bound,
        where=first.rest,
        keys=tuple(axis.key for axis in axes),
        outputs=(*outputs, Output("n", value=post.Ref(0))),
        having=None,
        order=(),
        limit=None,
        offset=0,
    )
    workload = Workload(tuple(axis.size for axis in axes), blocks)
    histogram = replace(histogram, total_rows=_total_rows(fits, workload))
    keys = tuple(tuple(indices[name] for name in fit.keys) for fit in fits)
    return Cells(histogram, tuple(axis.listed for axis in axes), workload, keys)


def _total_rows(fits: Sequence[Fitting], workload: Workload) -> int | None:
    """How many rows of a unit count in all cells together; None where the cells are bounded as groups are.

    Take questions that between them count every cell. Whoever is within the bounds of each has no more rows in all of
    them than these questions, each alone, would count of one unit: so many rows are enough for them. And as many as any
    single question would count alone, so that a total beside monthly counts does not leave one month of twelve. More
    than max_groups groups of max_rows are never counted; where nobody said how many groups, the questions say it.
    """
    table, asked = fits[0].bound.table, fits[0].bound.query.caps
    if table.unit_column is None or table.bounding is Bounding.SAMPLE:
        return None
    groups, rows = asked.max_groups or table.max_groups, asked.max_rows or table.max_rows
    if rows is None:
        return None
    sizes = [math.prod(len(fit.lines[name].domain) for name in fit.keys) for fit in fits]  # 1, without keys
    alone = [rows * min(size, groups or size) for size in sizes]
    enough = covering(workload, alone)
    if enough is not None:
        enough = max(enough, *alone)
    if groups is None:
        return enough
    return groups * rows if enough is None else min(enough, groups * rows)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One column: the class of each of its cells (−1: nobody counts it), and the key that the engine groups by."""

    line: PublicCells
    labels: NDArray[np.int64]
    size: int
    key: Key
    listed: NDArray[np.int64]


def _axis(line: PublicCells, fits: Sequence[Fitting]) -> _Axis:
    every = np.ones(line.cells, dtype=bool)
    inside = np.arange(line.cells) < len(line.domain)
    counted, alone = ~every, ~every
    told = [alone]  # what tells cells apart: the masks of the questions
    for fit in fits:
        mask = fit.masks.get(line.column, every)
        if line.column in fit.keys:
            mask = mask & inside
            alone = alone | mask  # a cell that somebody groups by is a class of its own
        else:
            told.append(mask)
        counted = counted | mask
    rows = np.packbits(np.array(told), axis=0).T  # (cell, eight masks in a byte)
    labels = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    labels = np.where(alone, line.cells + np.arange(line.cells), labels)
    order: dict[int, int] = {}
    for index in np.flatnonzero(counted).tolist():  # classes in the order of their first values
        order.setdefault(int(labels[index]), len(order))
    classes = np.array([order[int(label)] if there else -1 for label, there in zip(labels, counted, strict=True)])
    key, listed = _key(line, classes)
    return _Axis(line, classes, len(order), key, listed)


def _key(line: PublicCells, labels: NDArray[np.int64]) -> tuple[Key, NDArray[np.int64]]:
    """What to group by: the column itself, and one more value for each class outside of its domain."""
    column = quoted_column(line.column)
    size = len(line.domain)
    inside, outside = labels[:size], labels[size:].tolist()
    if all(label < 0 for label in outside):
        return Key(column, None, line.domain, keep=_within(column, line)), inside
    if line.closed:
        return Key(column, None, (*line.domain, None)), labels
    codes = _codes(line, outside)
    extra = {code: label for code, label in zip(codes, outside, strict=True) if label >= 0}
    branches = [exp.If(this=when, true=literal(code)) for when, code in zip(_outside(column, line), codes, strict=True)]
    sql = exp.Case(ifs=branches, default=copied(column))
    listed = np.concatenate([inside, np.array(list(extra.values()), dtype=np.int64)])
    return Key(sql, None, (*line.domain, *extra)), listed


def _within(column: exp.Expression, line: PublicCells) -> exp.Expression | None:
    if line.closed:
        return None
    if line.ordered:
        return exp.Between(this=copied(column), low=literal(line.domain[0]), high=literal(line.domain[-1]))
    return exp.In(this=copied(column), expressions=[literal(value) for value in line.domain])


def _outside(column: exp.Expression, line: PublicCells) -> list[exp.Expression]:
    """The conditions of the cells outside of the domain, in their order, but NULL before what it would fall into."""
    null = exp.Is(this=copied(column), expression=exp.null())
    if line.ordered:
        below = exp.LT(this=copied(column), expression=literal(line.domain[0]))
        above = exp.GT(this=copied(column), expression=literal(line.domain[-1]))
        return [below, above, null]
    listed = exp.In(this=copied(column), expressions=[literal(value) for value in line.domain])
    return [exp.Not(this=listed), null]  # NULL NOT IN (…) is NULL, so it falls through to the last


def _codes(line: PublicCells, labels: list[int]) -> list[Value]:
    """A value for each cell outside of the domain; cells of one class share theirs."""
    first, last = line.domain[0], line.domain[-1]
    own: list[Value]
    if isinstance(first, date) and isinstance(last, date):
        own = [first - timedelta(days=1), last + timedelta(days=1), None]
    elif isinstance(first, int) and isinstance(last, int):
        listed = [value for value in line.domain if isinstance(value, int)]
        top = max(listed)  # above, never below: a column without a sign has no place there
        own = [top + 1, top + 2, None] if line.ordered else [top + 1, None]
    else:
        other = "other"
        while other in line.domain:
            other += "_"
        own = [other, None]
    return [own[labels.index(label)] if label >= 0 else own[index] for index, label in enumerate(labels)]


def _block(fit: Fitting, axes: Sequence[_Axis], interned: dict[tuple[int, bytes], Picks]) -> Block:
    picks: list[Picks] = []
    for index, axis in enumerate(axes):
        mask = fit.masks.get(axis.line.column)
        grouped = axis.line.column in fit.keys
        seen = (
            index,
            b"" if mask is None and not grouped else bytes([grouped]) + (b"" if mask is None else mask.tobytes()),
        )
        if seen not in interned:
            interned[seen] = _picks(axis, mask, grouped=grouped)
        picks.append(interned[seen])
    return tuple(picks)


def _picks(axis: _Axis, mask: Mask | None, *, grouped: bool) -> Picks:
    """The rows of a question over the classes of one column."""
    if grouped:
        size = len(axis.line.domain)
        lows = axis.labels[:size].copy()
        there = lows >= 0 if mask is None else (lows >= 0) & mask[:size]
        return Ranges(np.where(there, lows, 0), np.where(there, lows + 1, 0))
    if mask is None:
        return everything(axis.size)
    row = np.zeros((1, axis.size), dtype=bool)
    row[0, axis.labels[mask]] = True
    return picked(row)
