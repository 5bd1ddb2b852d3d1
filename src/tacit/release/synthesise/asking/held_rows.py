"""Drawn rows as tables to compute from, and the model they are of in the words of a note."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np

from tacit.engines.answers.process import AnswerEngine, CodedTable, Computed, ComputingFailed, HeldTable
from tacit.engines.columns import SQL_TYPES
from tacit.errors import QueryRefused
from tacit.noise import IntArray
from tacit.policy import fold
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.model import SyntheticModel
from tacit.release.synthesise.table import SyntheticTable, made_up_table

MOST_DRAWN = 50_000  # rows of a model that a question for rows looks at
MOST_HELD = 8_000_000  # cells of a model that a free question looks at: as many rows as these make
SYNTHETIC_ROWS = (
    "these rows are synthetic: nobody is behind any of them, and what is counted on them is only about right"
)
_AGES = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def drawn_rows(model: SyntheticModel, number: int) -> SyntheticTable:
    """So many rows of a model, the same each time; those of the last few are remembered."""
    return _drawn(model.to_bytes(), number)


@lru_cache(maxsize=4)
def _drawn(packed: bytes, number: int) -> SyntheticTable:
    return SyntheticModel.from_bytes(packed).drawn(number)


def held_rows(name: str, table: SyntheticTable, columns: Collection[str] | None = None) -> CodedTable:
    """Rows under a name: all of their columns, or those of these folded names and at least one."""
    named = [index for index, each in enumerate(table.attributes) if columns is None or fold(each.name) in columns]
    shown = named or [0]
    kinds = tuple((table.attributes[index].name, SQL_TYPES[table.attributes[index].kind]) for index in shown)
    values, codes = zip(*(_coded(table, index) for index in shown), strict=True)
    return CodedTable(name, kinds, values, codes)


def _coded(table: SyntheticTable, index: int) -> tuple[list[object], IntArray]:
    """A column by the values that are in it, each of them once."""
    codes, steps = table.codes[index], table.steps[index]
    widest = int(steps.max(initial=0)) + 1
    distinct, inverse = np.unique(codes * widest + steps, return_inverse=True)
    only = (table.attributes[index],)
    (values,) = SyntheticTable(table.name, only, (distinct // widest,), (distinct % widest,)).lists()
    return values, inverse.astype(np.int64)


def looked_at(
    engine: AnswerEngine,
    text: str,
    tables: Sequence[HeldTable | CodedTable],
    *,
    what: str,
    hint: str = "WHERE is DuckDB's SQL here",
) -> Computed:
    """What one SELECT gives over released rows; refused in our own words where it cannot be computed."""
    try:
        (computed,) = engine.compute([text], tables)
    except ComputingFailed as failed:
        raise QueryRefused(f"{what} could not be looked at: {str(failed)[:200]}", hint=hint) from None
    return computed


def rehearsed_rows(name: str, attributes: Sequence[Attribute]) -> CodedTable:
    """Rows to rehearse with, of public words alone."""
    return held_rows(name, made_up_table(name, attributes))


def drawn_note(drawn: int, model: SyntheticModel) -> str:
    """What must be said where fewer rows are looked at than the table has; empty where all are."""
    if drawn >= model.rows:
        return ""
    return (
        f"{drawn:,} rows are drawn of about {model.rows:,}: counts and sums are of the drawn ones,"
        f" {model.rows / max(1, drawn):.3g} times too small"
    )


def model_note(model: SyntheticModel, *, at: float, stale: bool) -> str:
    """Which model answers: of what, at what price, how old, by what method, of how many rows."""
    state = ", of an earlier state of the data" if stale else ""
    return (
        f"{model.table} is a model of {len(model.attributes)} columns and about {model.rows:,} rows, made by"
        f" {model.method} for {model.loss} {_age(time.time() - at)} ago{state} (entry {model.entry[:12]})"
    )


def _age(seconds: float) -> str:
    for size, unit in _AGES:
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'s' if number > 1 else ''}"
    return "less than a minute"


def error_note(model: SyntheticModel, read: Collection[str], *, starred: bool) -> str:
    """The model's own error of what is read, where it is known; else that no ± is stated."""
    names = [each.name for each in model.attributes if fold(each.name) in read]
    known = model.error(*names) if not starred and 1 <= len(names) <= 2 else None
    if known is None:
        return f"no ± is stated of what is counted on {model.table} SYNTHETIC: rows drawn from a model have none"
    return (
        f"a count of rows of {model.table} by {' and '.join(names)} is expected within about"
        f" {max(1, round(known * model.rows)):,} rows of the truth by the model's own"
        f" reckoning (total variation {known:.2g}); no ± is stated of drawing the rows, of contribution bounds,"
        " and of what the model cannot express"
    )
