"""What the reader of an answer must know of it, from the question and the policy alone."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlglot import exp

from tacit.policy import ColumnPolicy, ColumnType, NullUnit
from tacit.sql.binding.bind import BoundQuery
from tacit.sql.binding.dated import shown
from tacit.sql.expressions.keys import Key
from tacit.sql.expressions.measures import Histogram, Mode
from tacit.sql.expressions.numeric.grid import grid_columns
from tacit.sql.parsing.query import TypedBounds

_VOWELS = frozenset("aeio")  # a unit, but an id


def notes_on(bound: BoundQuery) -> tuple[str, ...]:
    """Everything that is done to the rows before they are counted, and that no error bar says."""
    return (*bound.notes, *_clamped(bound), *_listed(bound), *_left_out(bound), *_cut(bound))


def _clamped(bound: BoundQuery) -> list[str]:
    """Which values are held within which bounds: what lies outside is not in the answer."""
    marks = {mark for m in bound.measures if m.value is not None for mark in grid_columns(m.value)}
    columns = [column for column in bound.table.columns if column.name.casefold() in marks]
    return [f"{column.name} is clamped to {_ends(column, bound)}" for column in columns]


def _ends(column: ColumnPolicy, bound: BoundQuery) -> str:
    """The bounds of a column, as its cells are written."""
    kind = column.type or ColumnType.from_sql(bound.relation.sql_types.get(column.name.casefold(), ""))
    if column.bounds is None or kind is None or not kind.is_temporal:
        return str(column.bounds)
    return f"[{', '.join(str(shown(float(end), kind.value)) for end in (column.bounds.lower, column.bounds.upper))}]"


def _listed(bound: BoundQuery) -> list[str]:
    """Which choices are among public values: others are not counted."""
    return [f"{m.label} counts its public values alone" for m in bound.measures if isinstance(m, (Mode, Histogram))]


def _left_out(bound: BoundQuery) -> list[str]:
    """Which rows count nowhere: those of nobody, and those in none of the groups that are listed."""
    owner = bound.relation.owner
    rows = []
    if owner is not None and bound.table.unit_column is not None and bound.table.null_unit is NullUnit.DROP:
        rows.append(f"rows without {'an' if owner.column[:1].lower() in _VOWELS else 'a'} {owner.column}")
    rows += [
        f"rows whose {_name(bound, index)} is none of its public values"
        for index, key in enumerate(bound.keys)
        if key.is_public and not _holds_every_row(key)
    ]
    return [f"left out: {'; '.join(rows)}"] if rows else []


def _cut(bound: BoundQuery) -> list[str]:
    """What the policy's own bounds were once measured to cut, and how long ago; not where the question has others."""
    cut = bound.table.cut
    if cut is None or bound.query.bias or bound.query.caps != TypedBounds():
        return []
    return [cut.text(datetime.now(UTC).date())]


def _holds_every_row(key: Key) -> bool:
    """Whether no row can be without a value of it: a CASE with ELSE, whether a cell is there, what WHERE lists."""
    if key.keep is not None or key.told:
        return key.told
    asked = key.sql.this.unnest() if isinstance(key.sql, exp.Not) else key.sql
    return isinstance(asked, exp.Is) or (isinstance(asked, exp.Case) and asked.args.get("default") is not None)


def _name(bound: BoundQuery, index: int) -> str:
    """What the analyst calls a key."""
    named = (out.name for out in bound.outputs if out.key == index and out.name)
    column = bound.keys[index].sql.find(exp.Column)
    own = column is None or column.name.startswith(" ")  # a name that we gave
    return next(named, f"key {index + 1}" if own or column is None else column.name)
