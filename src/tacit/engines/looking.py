"""The owner's look at files of text, for a draft: which format and which types fit their rows as they are now.

Only `tacit init` looks. What it finds is written into the policy, where the curator sees it; from then on the files are
read by what the policy says, whatever their rows become.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass

import duckdb

from tacit.engines.base import UNLIMITED
from tacit.engines.columns import SQL_TYPES
from tacit.engines.duckdb import instance, open_duckdb
from tacit.engines.files import Format, TableFiles, table_files
from tacit.engines.text.cells import cell_of, is_said
from tacit.engines.text.lines import UNREADABLE, batches
from tacit.engines.text.tables import TextTable, rows_in, text_table
from tacit.errors import PolicyError
from tacit.policy import ColumnType, Dataset, FileSource, Schema, TablePolicy, TextFormat

Way = tuple[ColumnType, str, str]  # a type, and the key of the format that has another value, if one has

_DATES = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d")
# The first that every cell fits is proposed. A code such as 007 is no number: its zeros are a part of it.
_WAYS: tuple[Way, ...] = (
    (ColumnType.INTEGER, "", ""),
    (ColumnType.NUMBER, "", ""),
    (ColumnType.NUMBER, "decimal", ","),
    (ColumnType.BOOLEAN, "", ""),
    (ColumnType.DATE, "", ""),
    *((ColumnType.DATE, "date", each) for each in _DATES),
    (ColumnType.TIMESTAMP, "", ""),
    *((ColumnType.TIMESTAMP, "timestamp", f"{each} %H:%M{more}") for each in _DATES for more in ("", ":%S")),
)
_CODE = "regexp_full_match(trim({0}), '[+-]?0[0-9]+')"
_MARKS = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at files found: names and types of all tables, and the formats of those that are text."""

    schema: Schema
    formats: Mapping[str, TextFormat]


def look_at_files(dataset: Dataset) -> Looked:
    """Names, types and formats of a source of files. Reads the rows of CSV and JSON, as the owner's act."""
    if not isinstance(dataset.source, FileSource):
        raise TypeError("only a source of files is looked at")
    schema: dict[str, Mapping[str, str]] = {}
    formats: dict[str, TextFormat] = {}
    for table, location in dataset.source.files:
        files = table_files(dataset, table, location=location)
        if files.format is Format.PARQUET:
            alone = Dataset(dataset.name, FileSource(((table, location),)), base=dataset.base)
            with closing(open_duckdb(alone, ())) as engine:
                schema.update(engine.schema())
        else:
            schema[table], formats[table] = _looked(files)
    return Looked(schema, formats)


def _looked(files: TableFiles) -> tuple[dict[str, str], TextFormat]:
    unreadable = PolicyError(f"table {files.table!r} cannot be read: {files.location!r} is not {files.format.value}")
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tacit-") as scratch,
            closing(instance(UNLIMITED, scratch=scratch)) as connection,
        ):
            form = _dialect(connection, files)
            table = _table(connection, files, form)
            fits = _fitting(connection, table)
    except (duckdb.Error, OSError, EOFError):
        raise unreadable from None
    form = _with(form, **_settled(fits))
    return {cell.name: SQL_TYPES[_kind(fit, form)] for cell, fit in zip(table.cells, fits, strict=True)}, form


def _with(form: TextFormat, **changes: object) -> TextFormat:
    return TextFormat(**{**form.plain(), **changes})  # type: ignore[arg-type]  # each is of its key's type


def _table(connection: duckdb.DuckDBPyConnection, files: TableFiles, form: TextFormat) -> TextTable:
    public = TablePolicy(files.table, public=True, format=form)  # so that JSON's names are found in the rows
    return text_table(connection, files, public, tables=())


def _fitting(connection: duckdb.DuckDBPyConnection, table: TextTable) -> list[set[Way]]:
    """The ways of reading that every cell of a column fits; none where there is no cell at all."""
    asked = []
    for index, cell in enumerate(table.cells, 1):
        text = f"f[{index}]"
        asked.append(f"count(*) FILTER ({is_said(text)})")
        for kind, key, said in _WAYS:
            value = cell_of(cell.name, kind, _with(table.form, **({key: said} if key else {}))).of(text)
            misfit = f"{value} IS NULL OR {_CODE.replace('{0}', text)}"
            asked.append(f"count(*) FILTER ({is_said(text)} AND ({misfit}))")
    width = 1 + len(_WAYS)
    tallies = [0] * len(asked)
    for path in table.files.paths:
        for rows, given in rows_in(table, path):
            (row,) = connection.execute(f"SELECT {', '.join(asked)} FROM ({rows})", [given]).fetchall()
            tallies = [tally + int(more) for tally, more in zip(tallies, row, strict=True)]
    columns = [tallies[at : at + width] for at in range(0, len(tallies), width)]
    return [
        {way for way, misfits in zip(_WAYS, rest, strict=True) if there and not misfits} for there, *rest in columns
    ]


def _settled(fits: list[set[Way]]) -> dict[str, object]:
    """The form of dates and numbers that most columns fit; the usual one where it does as well."""
    changes: dict[str, object] = {}
    for kind in (ColumnType.NUMBER, ColumnType.DATE, ColumnType.TIMESTAMP):
        ways = [way for way in _WAYS if way[0] is kind]
        whole = {way for way in _WAYS if way[0] is ColumnType.INTEGER}
        counts = [sum(way in fit and not fit & whole for fit in fits) for way in ways]
        _, key, said = ways[counts.index(max(counts))]
        changes |= {key: said} if key else {}
    return changes


def _kind(fits: set[Way], form: TextFormat) -> ColumnType:
    """The first type that fits under the form that was settled on."""
    for kind, key, said in _WAYS:
        settled = not key or getattr(form, key) == said
        usual = key != "" or kind is ColumnType.INTEGER or not _is_set(form, kind)
        if (kind, key, said) in fits and settled and usual:
            return kind
    return ColumnType.TEXT


def _is_set(form: TextFormat, kind: ColumnType) -> bool:
    key = {ColumnType.NUMBER: "decimal", ColumnType.DATE: "date", ColumnType.TIMESTAMP: "timestamp"}.get(kind)
    return key is not None and key in form.plain()


# ── the dialect ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _dialect(connection: duckdb.DuckDBPyConnection, files: TableFiles) -> TextFormat:
    form = TextFormat(encoding=_encoding(files))
    if files.format is Format.JSON:
        with suppress(PolicyError):
            _table(connection, files, form)
            return form
        return _with(form, lines=True)
    best, least = form, (1 << 63, 0)
    for newlines in (False, True):
        for mark in _MARKS:
            tried = _with(form, delimiter=mark, newlines=newlines)
            broken = _broken(connection, files, tried)
            best, least = (tried, broken) if broken < least else (best, least)
        if least[0] == 0:
            break
    return _told(best, files)


def _told(form: TextFormat, files: TableFiles) -> TextFormat:
    """The format, without a delimiter that is the usual one."""
    usual = "\t" if ".tsv" in files.location.lower() else ","
    return _with(form, delimiter=None) if form.delimiter == usual else form


def _broken(connection: duckdb.DuckDBPyConnection, files: TableFiles, form: TextFormat) -> tuple[int, int]:
    """How many lines would be no rows, and then how few columns there would be."""
    try:
        table = _table(connection, files, form)
    except PolicyError:
        return (1 << 62, 0)
    count = 0
    for path in files.paths:
        for rows, given in rows_in(table, path):
            ((odd,),) = connection.execute(f"SELECT count(*) FILTER (f IS NULL) FROM ({rows})", [given]).fetchall()
            count += int(odd)
    alone = len(table.cells) == 1  # every line fits one column, so that this is the last resort
    return (count + (1 << 61 if alone else 0), -len(table.cells))


def _encoding(files: TableFiles) -> str:
    """UTF-16 by its mark, UTF-8 if all of it decodes, else the encoding that old spreadsheets write."""
    with open(files.paths[0], "rb") as file:
        if file.read(2) in {b"\xff\xfe", b"\xfe\xff"}:
            return "utf-16"
    texts = (batch.text for path in files.paths for batch in batches(path, TextFormat(), header=False))
    return "windows-1252" if any(UNREADABLE in text for text in texts) else "utf-8"
