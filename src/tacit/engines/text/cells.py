"""Cells of text in DuckDB's SQL: of the type that the column has, or NULL. None of these can fail on a cell."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.engines.columns import SQL_TYPES, literal
from tacit.engines.text.lines import UNREADABLE
from tacit.policy import ColumnType, TextFormat

_DAY, _TIME, _ZONE = r"\d{4}-\d{2}-\d{2}", r"[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?", r"(Z|[+-]\d{2}:\d{2})"
AS_DATE = f"CASE WHEN regexp_full_match({{0}}, '{_DAY}') THEN TRY_CAST({{0}} AS DATE) END"
AS_TIMESTAMP = (  # a cast to TIMESTAMP would pass over the zone
    f"CASE WHEN regexp_full_match({{0}}, '{_DAY}({_TIME})?') THEN TRY_CAST({{0}} AS TIMESTAMP)"
    f" WHEN regexp_full_match({{0}}, '{_DAY}{_TIME}{_ZONE}') THEN TRY_CAST({{0}} AS TIMESTAMPTZ) AT TIME ZONE 'UTC' END"
)
_AS_INTEGER = r"CASE WHEN regexp_full_match({0}, '[+-]?\d+') THEN TRY_CAST({0} AS BIGINT) END"
_AS_BOOLEAN = "CASE WHEN lower({0}) IN ('true', 't', 'yes', 'y', '1') THEN TRUE"
_AS_BOOLEAN += " WHEN lower({0}) IN ('false', 'f', 'no', 'n', '0') THEN FALSE END"
_NUMBER = r"[+-]?(\d+({0}\d*)?|{0}\d+)([eE][+-]?\d+)?|[+-]?(?i:nan|inf|infinity)"


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of a table of text: its name, its type, and the SQL that makes a value of its text `{0}`."""

    name: str
    kind: ColumnType
    sql: str

    @property
    def type(self) -> str:
        """DuckDB's word for the type."""
        return SQL_TYPES[self.kind]

    def of(self, text: str) -> str:
        """The value of a text, which is NULL where it is empty, unreadable or of another type."""
        return self.sql.replace("{0}", text)


def cell_of(name: str, kind: ColumnType, form: TextFormat) -> Cell:
    """How the cells of a column are read. Space around a value counts in text alone."""
    return Cell(name, kind, _sql(kind, form))


def is_said(text: str) -> str:
    """Whether there is a cell at all: an empty one is NULL by right."""
    return f"({text} IS NOT NULL AND {text} <> '')"


def _sql(kind: ColumnType, form: TextFormat) -> str:
    if kind is ColumnType.TEXT:
        return f"CASE WHEN {{0}} <> '' AND NOT contains({{0}}, {literal(UNREADABLE)}) THEN {{0}} END"
    return _TYPED[kind](form).replace("{0}", "trim({0})")


def _number(form: TextFormat) -> str:
    mark = "[.]" if form.decimal == "." else ","
    value = "{0}" if form.decimal == "." else "replace({0}, ',', '.')"
    return f"CASE WHEN regexp_full_match({{0}}, '{_NUMBER.replace('{0}', mark)}') THEN TRY_CAST({value} AS DOUBLE) END"


def _date(form: TextFormat) -> str:
    return AS_DATE if form.date is None else f"CAST(try_strptime({{0}}, {literal(form.date)}) AS DATE)"


def _timestamp(form: TextFormat) -> str:
    if form.timestamp is None:
        return AS_TIMESTAMP
    parsed = f"try_strptime({{0}}, {literal(form.timestamp)})"
    return f"({parsed} AT TIME ZONE 'UTC')" if "%z" in form.timestamp else parsed


_TYPED = {
    ColumnType.INTEGER: lambda _: _AS_INTEGER,
    ColumnType.NUMBER: _number,
    ColumnType.BOOLEAN: lambda _: _AS_BOOLEAN,
    ColumnType.DATE: _date,
    ColumnType.TIMESTAMP: _timestamp,
}
