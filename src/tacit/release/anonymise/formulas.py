"""Text that a spreadsheet would take for a formula, made harmless on its way into a CSV file."""

from __future__ import annotations

import re

import duckdb

from tacit.engines.columns import literal, quoted
from tacit.release.anonymise.source import ask

_BEGINS = r"^\s*[=+@＝＋－＠-]|^[\t\r\n]"  # what Excel, Calc or Sheets would begin to work out
_NUMBER = r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_PLAIN = rf"^{_NUMBER}( to {_NUMBER})?$"  # a number, or an interval of ours
_TEXTS = ("VARCHAR", "ENUM", "JSON", "BLOB", "UNION", "STRUCT", "MAP")


def neutral(text: str) -> str:
    """A text as it may stand in a spreadsheet: one that would be taken for a formula has an apostrophe before it."""
    return f"'{text}" if re.search(_BEGINS, text) and not re.search(_PLAIN, text) else text


def harmless(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """A query of the same table with `neutral` over the text of every cell, and over the names of the columns."""
    listed = []
    for name, kind, *_ in ask(connection, f"DESCRIBE {quoted(table)}"):
        cell, label = quoted(str(name)), quoted(neutral(str(name)))
        if str(kind).startswith(_TEXTS) or str(kind).endswith("]"):
            text = f"{cell}::VARCHAR"
            risky = f"regexp_matches({text}, {literal(_BEGINS)}) AND NOT regexp_matches({text}, {literal(_PLAIN)})"
            cell = f"CASE WHEN {risky} THEN chr(39) || {text} ELSE {text} END"
        listed.append(f"{cell} AS {label}")
    return f"(SELECT {', '.join(listed)} FROM {quoted(table)})"
