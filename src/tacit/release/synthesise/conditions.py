"""Conditions on columns whose values are known by their cells alone: which cells meet them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.engines.answers.process import SHARED, AnswerEngine, CodedTable, ComputingFailed
from tacit.engines.columns import quoted
from tacit.errors import QueryRefused
from tacit.release.synthesise.asking.held_rows import held_rows
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.table import SyntheticTable

_TABLE = "cells"
_INDEX = "_tacit_index"  # a name that no column has
_MOST_LOOKED_AT = 1_000  # values of a bin, both its ends among them


def cells_meeting(condition: str, attribute: Attribute, *, engine: AnswerEngine = SHARED) -> NDArray[np.bool_]:
    """Of each cell of a column whether it meets a condition on that column, in DuckDB's SQL; NULL does not.

    A bin stands for all of its values: of one with more than a thousand a thousand are looked at, evenly, and a
    condition that holds for some of them and not for others is refused. What is neither is refused, too.
    """
    widths = [*attribute.widths, *[1] * (attribute.cells - len(attribute.widths))]
    steps = [np.unique(np.linspace(0.0, width - 1.0, min(width, _MOST_LOOKED_AT)).astype(np.int64)) for width in widths]
    codes = np.repeat(np.arange(attribute.cells), [each.size for each in steps])
    table = SyntheticTable(_TABLE, (attribute,), (codes,), (np.concatenate(steps),))
    met = _met(condition, held_rows(_TABLE, table), engine)
    first = np.searchsorted(codes, np.arange(attribute.cells))
    if (met != met[first][codes]).any():
        starts = [str(value) for value in table.at(first).lists()[0] if value is not None]
        raise QueryRefused(
            f"a condition cuts a bin of {attribute.name}: in which bin a value lies is known, and no more",
            hint=f"its bins begin at {', '.join(starts[:6])}, …",
        )
    return met[first]


def rows_meeting(condition: str, table: SyntheticTable, *, engine: AnswerEngine = SHARED) -> NDArray[np.bool_]:
    """Whether each row meets a condition."""
    return _met(condition, held_rows(_TABLE, table), engine)


def _met(condition: str, held: CodedTable, engine: AnswerEngine) -> NDArray[np.bool_]:
    number = held.codes[0].size
    index = np.arange(number, dtype=np.int64)
    numbered = CodedTable(
        held.name, ((_INDEX, "BIGINT"), *held.columns), (index.tolist(), *held.values), (index, *held.codes)
    )
    text = f"SELECT COALESCE(CAST(({condition}) AS BOOLEAN), FALSE) FROM {_TABLE} ORDER BY {quoted(_INDEX)}"
    try:
        (computed,) = engine.compute([text], [numbered], rows=number)
    except ComputingFailed as failed:
        raise QueryRefused(
            f"the condition could not be looked at: {str(failed)[:200]}", hint="a condition is DuckDB's SQL here"
        ) from None
    return np.array([row[0] for row in computed.rows], dtype=bool)
