"""Tables of CSV and JSON files: which columns there are, and their rows as DuckDB's.

Everything about how a file is read comes from the policy, its name and, in CSV, its first line. A row has no say in how
another is read; one that does not parse is a row of NULLs, and a cell that is not of its column's type is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from tacit.engines.columns import literal, quoted
from tacit.engines.files import Format, TableFiles
from tacit.engines.text.cells import Cell, cell_of, is_said
from tacit.engines.text.lines import Batch, batches, header_line, whole_text
from tacit.errors import PolicyError
from tacit.policy import ColumnType, TablePolicy, TextFormat, fold, identifiers, named_in

_ROW = "row"  # the column of a table that has no other: rows can be counted all the same
_EXAMPLE = 40  # letters of a cell that does not fit, as the curator sees it


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of text files: its columns in order, and how they are read."""

    name: str
    files: TableFiles
    form: TextFormat
    cells: tuple[Cell, ...]

    def create(self) -> str:
        """The empty table, as DuckDB is told to make it."""
        return f"CREATE TABLE {quoted(self.name)} ({', '.join(f'{quoted(c.name)} {c.type}' for c in self.cells)})"


@dataclass(frozen=True, slots=True)
class Unfit:
    """Cells of one column that were read as NULL; or, without a column, lines that are no rows of the table."""

    table: str
    column: str | None
    kind: ColumnType | None
    count: int
    rows: int
    example: str
    line: int


def text_table(
    connection: duckdb.DuckDBPyConnection,
    files: TableFiles,
    policy: TablePolicy | None,
    *,
    tables: Sequence[TablePolicy],
) -> TextTable:
    """The table behind files of text. `tables` are all of the policy's, which may name columns of this one."""
    form = (policy.format if policy is not None else None) or TextFormat()
    name = files.table if policy is None else policy.name
    declared = {} if policy is None else {fold(column.name): column.text_type for column in policy.columns}
    keys = frozenset() if policy is None else identifiers(tables, policy)
    for column in keys & {name for name, kind in declared.items() if kind is ColumnType.NUMBER}:
        raise PolicyError(
            f"column {column!r} of table {name!r} cannot be an identifier: as a number it would be rounded, and two "
            "people could become one",
            hint='declare it as { type = "integer" } or { type = "text" }',
        )
    if files.format is Format.CSV:
        names = _header(connection, files, form)
    else:
        named = list(named_in(tables, policy).values())
        names = _keys(connection, files, form, public=policy is not None and policy.public, named=named)
    cells = tuple(cell_of(each, declared.get(fold(each), ColumnType.TEXT), form) for each in names)
    return TextTable(name, files, form, cells)


def load(connection: duckdb.DuckDBPyConnection, table: TextTable) -> None:
    """Make the table and fill it. No cell can fail: what a question reads was converted here, once."""
    connection.execute(table.create())
    values = ", ".join(cell.of(f"f[{index}]") for index, cell in enumerate(table.cells, 1))
    for path in table.files.paths:
        for rows, given in rows_in(table, path):
            connection.execute(f"INSERT INTO {quoted(table.name)} SELECT {values} FROM ({rows})", [given])


def unfit_cells(connection: duckdb.DuckDBPyConnection, table: TextTable) -> Iterator[Unfit]:
    """What did not fit, with the first example of each and its line. Reads the rows: it is for the curator alone."""
    tallies: dict[str | None, list[tuple[int, str, int]]] = {}
    counted = 0
    parts = [("NULL", "f IS NULL", "entry")]
    for index, cell in enumerate(table.cells, 1):
        text = f"f[{index}]"
        parts.append((literal(cell.name), f"{is_said(text)} AND {cell.of(text)} IS NULL", text))
    tallied = [f"count(*) FILTER ({bad}), arg_min({shown}, line) FILTER ({bad}), min(line) FILTER ({bad})"
               for _, bad, shown in parts]  # fmt: skip
    for path in table.files.paths:
        for rows, given in rows_in(table, path):
            (totals,) = connection.execute(f"SELECT count(*), {', '.join(tallied)} FROM ({rows})", [given]).fetchall()
            counted += int(totals[0])
            for index, name in enumerate([None, *(cell.name for cell in table.cells)]):
                count, example, line = totals[1 + 3 * index : 4 + 3 * index]
                if count:
                    tallies.setdefault(name, []).append((int(count), str(example)[:_EXAMPLE], int(line)))
    kinds = {cell.name: cell.kind for cell in table.cells}
    for name, each in tallies.items():
        _, example, line = each[0]
        total = sum(count for count, *_ in each)
        yield Unfit(table.name, name, None if name is None else kinds[name], total, counted, example, line)


# ── columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _header(connection: duckdb.DuckDBPyConnection, files: TableFiles, form: TextFormat) -> list[str]:
    """The names in the first line of every file, which are the same in all."""
    headers = [_named(connection, header_line(path, form), files, form) for path in files.paths]
    if any(names != headers[0] for names in headers):
        raise PolicyError(
            f"table {files.table!r}: the files of {files.location!r} differ in their first lines",
            hint="write them again with the same columns in the same order",
        )
    return headers[0]


def _named(connection: duckdb.DuckDBPyConnection, line: str, files: TableFiles, form: TextFormat) -> list[str]:
    what = f"table {files.table!r}: the first line of {files.location!r}"
    asked = f"SELECT {_split(files, form, quotes=True)} FROM (SELECT $1 AS entry)"
    (row,) = connection.execute(asked, [line]).fetchall()
    if not line.strip() or row[0] is None:
        raise PolicyError(f"{what} does not name the columns", hint="put their names there, quoted as cells are")
    names = [str(name).strip() or f"column{index}" for index, name in enumerate(row[0])]
    if len({fold(name) for name in names}) < len(names):
        raise PolicyError(f"{what} names a column twice", hint="rename one of them")
    return names


def _keys(
    connection: duckdb.DuckDBPyConnection, files: TableFiles, form: TextFormat, *, public: bool, named: Sequence[str]
) -> list[str]:
    """The names that the policy knows: in JSON each row has its own. Of a public table, those of all rows as well."""
    if not _by_lines(files, form):
        _refuse_no_array(connection, files, form)
    names = {fold(name): name for name in named}
    if public:
        for path in files.paths:
            for rows, given in rows_in(TextTable(files.table, files, form, ()), path):
                sql = f"SELECT DISTINCT unnest(json_keys(entry)) AS k FROM ({rows}) WHERE f IS NOT NULL ORDER BY k"
                for (key,) in connection.execute(sql, [given]).fetchall():
                    names.setdefault(fold(str(key)), str(key))
    return list(names.values()) or [_ROW]


def _refuse_no_array(connection: duckdb.DuckDBPyConnection, files: TableFiles, form: TextFormat) -> None:
    for path in files.paths:
        text = whole_text(path, form)
        ((is_list,),) = connection.execute("SELECT json_valid($1) AND json_type($1) = 'ARRAY'", [text]).fetchall()
        if not is_list:
            raise PolicyError(
                f"table {files.table!r} cannot be read: {files.location!r} is not JSON that is one list of objects",
                hint="if each line is an object, name the file .jsonl, or write format = { lines = true }",
            )


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def rows_in(table: TextTable, path: str) -> Iterator[tuple[str, str | list[str]]]:
    """Queries for (line, entry, f), each with what is bound to it: `f` lists a row's cells, or is NULL."""
    files, form = table.files, table.form
    if files.format is Format.JSON:
        cells = _looked_up([cell.name for cell in table.cells])
        if _by_lines(files, form):
            for batch in batches(path, form, header=False):
                yield _query(batch, cells), batch.text
        else:
            listed = "SELECT unnest(range(1, len(l) + 1)) AS line, unnest(l) AS entry"
            listed += " FROM (SELECT json_extract($1, '$[*]') AS l)"
            yield f"SELECT line, entry, {cells} AS f FROM ({listed})", whole_text(path, form)
        return
    for batch in batches(path, form, header=True):
        given = batch.text if batch.rows is None else [row for _, row in batch.rows]
        quotes = batch.rows is not None or (form.quote != "" and form.quote in batch.text)
        yield _query(batch, _split(files, form, quotes=quotes), width=len(table.cells)), given


def _query(batch: Batch, cells: str, *, width: int | None = None) -> str:
    """The rows of a batch, each with its cells if they are `width`. An empty line is no row."""
    if batch.rows is not None:
        numbers = ", ".join(str(number) for number, _ in batch.rows)
        listed = f"SELECT unnest(CAST([{numbers}] AS BIGINT[])) AS line, unnest(CAST($1 AS VARCHAR[])) AS entry"
    else:
        listed = f"SELECT unnest(range({batch.line}, {batch.line} + len(l))) AS line, unnest(l) AS entry"
        listed += " FROM (SELECT string_split($1, chr(10)) AS l)"
    rows = f"SELECT line, entry, {cells} AS f FROM ({listed}) WHERE entry <> ''"
    return rows if width is None else f"SELECT line, entry, CASE WHEN len(f) = {width} THEN f END AS f FROM ({rows})"


def _split(files: TableFiles, form: TextFormat, *, quotes: bool) -> str:
    """`entry` as a list of its cells; NULL where a quoted cell is not closed, or goes on after its end."""
    between = form.delimiter or ("\t" if ".tsv" in files.location.lower() else ",")
    if not quotes or not form.quote:
        return f"string_split(entry, {literal(between)})"
    d, q = (f"\\x{{{ord(mark):x}}}" for mark in (between, form.quote))
    cell = f"{q}(?:[^{q}]|{q}{q})*{q}|[^{d}{q}\\n][^{d}\\n]*|"
    taken = f"regexp_extract_all({literal(between)} || entry, '{d}(?:{cell})')"
    mark = literal(form.quote)
    once = f"replace(substr(c, 3, length(c) - 3), {literal(form.quote * 2)}, {mark})"
    clean = f"list_transform({taken}, lambda c: CASE WHEN substr(c, 2, 1) = {mark} THEN {once} ELSE substr(c, 2) END)"
    return f"CASE WHEN regexp_full_match(entry, '(?:{cell})(?:{d}(?:{cell}))*') THEN {clean} END"


def _looked_up(names: Sequence[str]) -> str:
    """The values of an object's keys as text, a number's as it stands; NULL where the row is no object."""
    paths = ", ".join(literal('$."' + name.replace("\\", "\\\\") + '"') for name in names)
    return (
        f"CASE WHEN json_valid(entry) AND json_type(entry) = 'OBJECT'"
        f" THEN json_extract_string(entry, CAST([{paths}] AS VARCHAR[])) END"
    )


def _by_lines(files: TableFiles, form: TextFormat) -> bool:
    return form.lines or ".json" not in files.location.lower().replace(".jsonl", "")
