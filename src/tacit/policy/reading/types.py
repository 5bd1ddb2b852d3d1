"""The types a column can have, and the values of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from tacit.core import Number, decimal_text, rational
from tacit.errors import InvalidParameter
from tacit.policy.reading.fault import Fault, KeyPath, shown

Value = bool | int | Fraction | str | date | datetime  # whole numbers are int; a datetime has no zone and no fraction
Scalar = Number | date | datetime  # what a bound may be typed as
Schema = Mapping[str, Mapping[str, str]]  # table → column → the engine's name of its type

MAX_BITS = 200  # of a number; more is an attempt to make us multiply
EPOCH = date(1970, 1, 1)
_FIRST_MOMENT = datetime(EPOCH.year, EPOCH.month, EPOCH.day)  # noqa: DTZ001 - zoneless, as columns are
_SECONDS_A_DAY = 86400


class ColumnType(Enum):
    """What tacit knows of a column's type. Anything else in a database is only ever counted."""

    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"  # on a grid of whole days since 1970-01-01
    TIMESTAMP = "timestamp"  # on a grid of whole seconds since 1970-01-01 00:00:00

    __hash__ = object.__hash__  # each is one object: an Enum would hash its name every time

    @property
    def is_numeric(self) -> bool:
        """Whether sums and averages mean something."""
        return self in {ColumnType.INTEGER, ColumnType.NUMBER}

    @property
    def is_temporal(self) -> bool:
        """Whether values are days or seconds."""
        return self in {ColumnType.DATE, ColumnType.TIMESTAMP}

    @property
    def has_order(self) -> bool:
        """Whether bounds make sense."""
        return self.is_numeric or self.is_temporal

    @classmethod
    def from_sql(cls, type_name: str) -> ColumnType | None:
        """The type behind DuckDB's or PostgreSQL's name for it; None for what tacit cannot measure."""
        return _from_sql(type_name)

    def __str__(self) -> str:
        return self.value


_SQL_NAMES = {
    ColumnType.INTEGER: "tinyint, smallint, integer, int, bigint, hugeint, utinyint, usmallint, uinteger, ubigint,"
    "uhugeint, int1, int2, int4, int8, int16, int32, int64, int128, uint8, uint16, uint32, uint64, uint128,"
    "smallserial, serial, bigserial, short, long, signed, integral",
    ColumnType.NUMBER: "double, double precision, float, float4, float8, real, decimal, dec, numeric",
    ColumnType.TEXT: "varchar, character varying, nvarchar, text, string, char, character, bpchar, name, citext,"
    "enum, uuid, guid",
    ColumnType.BOOLEAN: "boolean, bool, logical",
    ColumnType.DATE: "date",
    ColumnType.TIMESTAMP: "timestamp, timestamp without time zone, timestamp with time zone, timestamptz, datetime,"
    "timestamp_s, timestamp_ms, timestamp_us, timestamp_ns, timestamptz_ns",
}
_BY_SQL_NAME = {name.strip(): kind for kind, names in _SQL_NAMES.items() for name in names.split(",")}


@lru_cache(maxsize=1024)
def _from_sql(type_name: str) -> ColumnType | None:
    name = type_name.strip().lower()
    word = re.sub(r"\s+", " ", re.sub(r"\(.*\)", "", name, flags=re.DOTALL)).strip()
    return _BY_SQL_NAME.get(word)


_ALIKE = (  # types of which the engine makes one that holds every cell of both
    {"tinyint", "smallint", "integer", "int", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint"},
    {"varchar", "enum", "text", "string"},
)


def compares_exactly(one: str, other: str) -> bool:
    """Whether cells of two types of a source can be held against each other as they are: none is rounded or refused.

    An engine would convert one side for the rest, cell by cell: a DECIMAL to a double, a text to a UUID.
    """
    names = [re.sub(r"\s+", "", name.lower()) for name in (one, other)]
    if names[0] == names[1]:
        return True
    return any(all(name.partition("(")[0] in family for name in names) for family in _ALIKE)


def exact(value: object, path: KeyPath) -> Fraction:
    """A number, exactly as it was typed: 0.01 is one hundredth, "1/3" is a third."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction | Decimal):
        raise Fault(f"must be a number: it is {kind_name(value)}", path=path)
    typed = str(value) if isinstance(value, Decimal) and value.is_finite() else value
    try:
        number = rational(typed, "")
    except InvalidParameter as error:
        raise Fault(error.message.lstrip(), path=path, hint=error.hint) from None
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
        raise Fault("has too many digits", path=path, hint="write at most 60 digits")
    return number


def value_of(value: object, path: KeyPath, *, kind: ColumnType | None) -> Value:
    """One value of a column. ISO text is read as a date where the column is one."""
    if isinstance(value, str):
        return _moment(value, path, kind) if kind is not None and kind.is_temporal else _sound(value, path)
    if isinstance(value, datetime):
        return _whole_seconds(value, path)
    if isinstance(value, bool | date):
        return value
    if not isinstance(value, int | float | Fraction | Decimal):
        raise Fault(f"is not a value a column can hold: it is {kind_name(value)}", path=path)
    number = exact(value, path)
    if "/" in decimal_text(number):
        raise Fault(f"has no decimal form: {number}", path=path, hint="no column could hold it")
    return int(number) if number.denominator == 1 else number


def _sound(text: str, path: KeyPath) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Fault(f"is not sound text: {text[:60]!a}", path=path) from None
    return text


def _moment(text: str, path: KeyPath, kind: ColumnType) -> date | datetime:
    try:
        if kind is ColumnType.DATE:
            return date.fromisoformat(text)
        return _whole_seconds(datetime.fromisoformat(text), path)
    except ValueError:
        example = "2026-01-31" if kind is ColumnType.DATE else "2026-01-31T23:59:59"
        raise Fault(f"is not a {kind}: {shown(text)}", path=path, hint=f"write it as {example}") from None


def _whole_seconds(value: datetime, path: KeyPath) -> datetime:
    if value.microsecond:
        raise Fault(f"is finer than a second: {value}", path=path, hint="timestamps lie on a grid of whole seconds")
    if value.tzinfo is None:
        return value
    try:
        return value.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise Fault(f"is outside the years 1 to 9999: {value}", path=path) from None


_KIND_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a truth value"),
    ((int, float, Decimal, Fraction), "a number"),
    (str, "text"),
    (datetime, "a timestamp"),
    (date, "a date"),
    ((list, tuple), "a list"),
    (Mapping, "a table"),
)
_WANTED = {
    ColumnType.NUMBER: "a number",
    ColumnType.TEXT: "text",
    ColumnType.BOOLEAN: "a truth value",
    ColumnType.DATE: "a date",
    ColumnType.TIMESTAMP: "a timestamp",
}


def kind_name(value: object) -> str:
    """What a value is, in a word a curator knows."""
    return _kind_name(type(value))  # type: ignore[arg-type]  # every class can be hashed


@lru_cache(maxsize=256)
def _kind_name(kind: type) -> str:
    return next((name for kinds, name in _KIND_NAMES if issubclass(kind, kinds)), f"a {kind.__name__}")


def type_fits(kind: ColumnType, value: Value) -> bool:
    """Whether a column of this type can hold the value."""
    if kind is ColumnType.INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    return kind_name(value) == _WANTED[kind]


def grid_units(value: Value) -> Fraction:
    """The number behind a value: itself, days since 1970, or seconds since 1970."""
    whole = whole_units(value)
    if whole is not None:
        return Fraction(whole)
    if isinstance(value, str):
        raise TypeError("text has no place on a grid")
    return Fraction(value)  # type: ignore[arg-type]  # a number: moments are whole


def whole_units(value: Value) -> int | None:
    """The whole number behind a value; None of a fraction, and of a text."""
    if isinstance(value, datetime):
        whole = value - _FIRST_MOMENT
        return whole.days * _SECONDS_A_DAY + whole.seconds
    if isinstance(value, date):
        return (value - EPOCH).days
    return int(value) if isinstance(value, int) else None
