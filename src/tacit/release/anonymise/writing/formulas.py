"""Text that a spreadsheet would take for a formula, made harmless on its way into a CSV file."""

from __future__ import annotations

import duckdb

from tacit.curator.forms.cells import FORMULA, HARMLESS, neutral
from tacit.engines.columns import literal, quoted
from tacit.release.anonymise.reading.source import ask

_TEXTS = ("VARCHAR", "ENUM", "JSON", "BLOB", "UNION", "STRUCT", "MAP")


def harmless(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """A query of the same table with `neutral` over the text of every cell, and over the names of the columns."""
    listed = []
    for name, kind, *_ in ask(connection, f"DESCRIBE {quoted(table)}"):
        cell, label = quoted(str(name)), quoted(neutral(str(name)))
        if str(kind).startswith(_TEXTS) or str(kind).endswith("]"):
            text = f"{cell}::VARCHAR"
            risky = f"regexp_matches({text}, {literal(FORMULA)}) AND NOT regexp_full_match({text}, {literal(HARMLESS)})"
            cell = f"CASE WHEN {risky} THEN chr(39) || {text} ELSE {text} END"
        listed.append(f"{cell} AS {label}")
    return f"(SELECT {', '.join(listed)} FROM {quoted(table)})"
