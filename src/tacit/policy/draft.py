"""A first policy, drafted from a schema alone: what is known is filled in, what must be decided is left blank."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tacit.errors import PolicyError
from tacit.policy.load import BLANK
from tacit.policy.reading.names import fold, is_column_name, table_name
from tacit.policy.reading.types import ColumnType, Schema
from tacit.policy.sources.text_format import TextFormat
from tacit.policy.write import header, toml_key, toml_value

_UNSEEN = "# A draft, made from the names and types of columns: no row was looked at.\n"
_SEEN = """\
# A draft, made from the names and types of columns. For {tables} tacit looked at the rows: the types and the format
# written there are those that fit all of them now. What you leave in is public, and holds whatever comes after.
"""
_TOP = """\
# It is refused until every {blank} is filled in. Check it with: tacit check
"""
_BUDGET = """\
[budget]
# Everything all analysts together may ever learn. Small is private: 1 is careful, 10 is lenient.
epsilon = {blank}
# Without delta, GROUP BY works on public domains only. With it, keys that many people share can be discovered.
# A common choice is well below one over the number of people.
# delta = 1e-6

# Each analyst has a cap of their own; the total above holds all the same.
# [analysts.ana]
# epsilon = 1
# window = "30d"         # after it the analyst's own cap is whole again; the total never is
"""
_TABLE = """\
# Whose presence is hidden? The column that says whose row it is; or "row", if each row is another person;
# or take the line out and write public = true, if there is nobody in the table to hide.
{links}unit = {blank}
# If the unit is a column, say how much of one person counts, or measure it with: tacit calibrate
# max_groups = 10        # groups one person may touch
# max_rows = 20          # rows of one person counted in one group
# unit_form = "trim-lower"   # if the identifiers are typed by hand
"""
_COLUMNS = """\
# Only the columns named here exist for analysts: delete a line, or write {{ hidden = true }}, to keep one from them.
# Bounds and domains are public: take them from what is known of the world, never by looking at the rows,
# or measure them privately with: tacit calibrate
"""
_IDENTIFIER = re.compile(r"_?id$")
_ADVICE = {
    ColumnType.INTEGER: "to sum or average it: { lower = 0, upper = 100, step = 1 }",
    ColumnType.NUMBER: "to sum or average it: { lower = 0, upper = 100, step = 0.01 }",
    ColumnType.TEXT: 'if its values are public: { domain = ["a", "b"] }',
    ColumnType.BOOLEAN: "to group by it: { domain = [false, true] }",
    ColumnType.DATE: "for medians and bins: { lower = 2020-01-01, upper = 2029-12-31 }",
    ColumnType.TIMESTAMP: "for medians and bins: { lower = 2020-01-01T00:00:00, upper = 2030-01-01T00:00:00 }",
}


def draft_policy(
    schema: Schema,
    *,
    name: str,
    source: str | Mapping[str, str],
    engine: str = "duckdb",
    looked_at: Mapping[str, TextFormat] | None = None,
) -> str:
    """The text of a policy for these tables, with a comment wherever the curator must decide.

    `looked_at` are the tables whose types were found by looking at their rows, and how these are to be read. It is
    refused by `parse_policy`, with the line of each blank, until the blanks are filled in.
    """
    if not schema:
        raise PolicyError("nothing to draft: the source has no tables")
    blank = toml_value(BLANK)
    formats = looked_at or {}
    origin = _SEEN.format(tables=", ".join(formats)) if formats else _UNSEEN
    top = [
        origin + _TOP.format(blank=blank) + header(("dataset",)),
        f"name = {toml_value(name)}",
        f"engine = {toml_value(engine)}",
        f"source = {toml_value(source)}",
        "",
        _BUDGET.format(blank=blank),
    ]
    return "\n".join([*top, ""]) + "\n".join(
        _table(table, columns, blank, form=formats.get(table), links=list(_links(table, schema)))
        for table, columns in schema.items()
    )


def _links(table: str, schema: Schema) -> Iterator[str]:
    """The tables that a column may name, by its own name: patient_id of stays, where there are patients."""
    for column in schema[table]:
        stem = _IDENTIFIER.sub("", fold(column))
        homes = [other for other in schema if fold(other) in {stem, f"{stem}s", f"{stem}es"} and other != table]
        for home in homes if stem != fold(column) else []:
            key = next((each for each in schema[home] if fold(each) in {fold(column), "id"}), None)
            if key is not None and all(name.isidentifier() for name in (column, home, key)):
                yield f"{column} -> {home}.{key}"


def _table(table: str, columns: Mapping[str, str], blank: str, *, form: TextFormat | None, links: Sequence[str]) -> str:
    path = ("tables", table_name(table, (table,)))
    read = "" if form is None or not form.plain() else f"format = {toml_value(form.plain())}\n"
    linked = "".join(f"# unit = {toml_value(link)}   # if that table says whose the row is\n" for link in links)
    lines = [header(path), _TABLE.format(blank=blank, links=linked) + read + header((*path, "columns"))]
    lines.append(_COLUMNS.format().rstrip("\n"))
    entries = [(_entry(column, sql, form), sql) for column, sql in columns.items() if is_column_name(column)]
    width = max((len(entry) for entry, _ in entries), default=0)
    lines += [f"{entry.ljust(width)}  # {_comment(sql)}" for entry, sql in entries]
    left_out = len(columns) - len(entries)
    if left_out:
        lines.append(
            f"# left out: {left_out} with names that tacit does not accept; rename them, or put a view before them"
        )
    return "\n".join(lines) + "\n"


def _entry(column: str, sql_type: str, form: TextFormat | None) -> str:
    """A column's line. A file of text has no types of its own, so that the policy says them."""
    kind = None if form is None else ColumnType.from_sql(sql_type)
    return f"{toml_key(column)} = {toml_value({} if kind is None else {'type': kind.value})}"


def _comment(sql_type: str) -> str:
    kind = ColumnType.from_sql(sql_type)
    shown = "".join(mark if mark.isprintable() else " " for mark in sql_type)[:40]
    if kind is None:
        return f"{shown}: can only be counted; better {{ hidden = true }}"
    return f"{shown}; {_ADVICE[kind]}"
