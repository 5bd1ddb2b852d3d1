"""Whose a row is: k counts people only where each person has one row."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from tacit.engines.columns import quoted
from tacit.errors import InvalidParameter
from tacit.policy.tables.link import link_of
from tacit.release.anonymise.reading.remote import spelt
from tacit.release.anonymise.reading.source import SOURCE, TableSource, ask, named
from tacit.release.anonymise.request import BY_ROWS


def known_unit(source: TableSource, *, asked: str | None, pseudonyms: Sequence[str] = ()) -> str | None:
    """The column that says whose a row is: the owner's word, else the policy's, else the only pseudonym.

    None where none is known, or where rows are to be counted.
    """
    unit = asked or (source.declared and source.declared.unit) or (pseudonyms[0] if len(pseudonyms) == 1 else None)
    if unit is None or unit.casefold() == BY_ROWS:
        return None
    if link_of(unit) is not None:
        raise InvalidParameter(
            "one person may have several rows: another table says whose a row is, and k would count rows, not people",
            hint=_WAY_OUT,
        )
    return named([unit], source.columns(), what="unit")[0]


def refuse_several(source: TableSource, unit: str) -> None:
    """Refuse a table in which somebody has more than one row: five rows of one person are a class of one."""
    if source.remote is not None:
        several = source.remote.repeats(unit)
    else:
        who = spelt(quoted(unit), source.declared, is_text=source.columns()[unit] == "VARCHAR")
        twice = f"SELECT 1 FROM {SOURCE} GROUP BY {who} HAVING count(*) > 1 LIMIT 1"
        several = bool(ask(source.connection, twice))
    if several:
        raise InvalidParameter(
            f"one person has several rows: {unit} repeats, and k would count rows, not people", hint=_WAY_OUT
        )


def alone_in(connection: duckdb.DuckDBPyConnection, view: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of which no two rows have the same value: each is as good as a name."""
    if not columns:
        return ()
    counts = ", ".join(f"count(DISTINCT {quoted(name)})" for name in columns)
    rows, *alone = ask(connection, f"SELECT count(*), {counts} FROM {quoted(view)}")[0]
    return tuple(name for name, count in zip(columns, alone, strict=True) if count == rows)


_WAY_OUT = 'make one row a person first, e.g. with GROUP BY; or say unit "row", and k counts rows'
