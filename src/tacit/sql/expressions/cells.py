"""Columns read as a type that compares with anything: an engine that fails on one cell tells that the cell is there."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from tacit.sql.expressions.names.nodes import cast_as
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric.doubles import counted_out

_STEPS = "steps"  # the type of a column that we computed: whole steps of its grid
_LENGTHS = "seconds"  # and of one that is an INTERVAL: so many seconds, which are no number outside

# DuckDB converts the cell, or the constant once some row reaches it, and fails on what does not fit: 0.5 and a HUGEINT,
# 10^37 and a DECIMAL, 'abc' and a UUID, the year 9000 and nanoseconds. Each of these conversions fits every cell.
_READ_AS = {
    "decimal": "DOUBLE",
    "numeric": "DOUBLE",
    "uhugeint": "DOUBLE",
    "uuid": "VARCHAR",
    "enum": "VARCHAR",
    "timestamp_ns": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP",
}
_MAY_NOT_FIT = {"timestamp_s": "TIMESTAMP", "timestamp_ms": "TIMESTAMP"}  # what does not becomes NULL
_WIDENED = {**_READ_AS, "float": "DOUBLE", "real": "DOUBLE"}  # a bound of 2^24 + 3 is not a FLOAT: it would round up
_OF_TRUTHS: dict[type[exp.Expression], type[exp.Expression]] = {exp.Max: exp.LogicalOr, exp.Min: exp.LogicalAnd}
_CALENDAR = {
    "DATE": ("0001-01-01", "9999-12-31"),
    "TIMESTAMP": ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
}


def comparable(column: exp.Expression, sql_type: str) -> exp.Expression:
    """The column as it may stand in a comparison or a function."""
    kind = _base(sql_type)
    if kind in {_STEPS, _LENGTHS}:
        return counted_out(column, Fraction(sql_type.partition("(")[2].rstrip(")")))
    if kind in _MAY_NOT_FIT:
        return exp.TryCast(this=column, to=exp.DataType.build(_MAY_NOT_FIT[kind]))
    return cast_as(column, _READ_AS[kind]) if kind in _READ_AS else column


def identified(column: exp.Expression, sql_type: str) -> exp.Expression:
    """The column as it may be held against the same key elsewhere: two identifiers are never made one.

    Keys that meet have one type, which `tacit check` and opening see to; so that each is compared as it is. Text alone
    is converted, for it is trimmed and lowered.
    """
    return cast_as(column, "VARCHAR") if _base(sql_type) in {"uuid", "enum"} else column


def extreme(call: type[exp.Expression], column: exp.Expression, sql_type: str) -> tuple[exp.Expression, str]:
    """MIN, MAX or COUNT of a column, and what type it was. PostgreSQL has no MIN of truth values, nor of UUIDs."""
    kind = _base(sql_type)
    if kind in {"boolean", "bool"}:
        return _OF_TRUTHS.get(call, call)(this=column), sql_type
    if kind == "uuid":
        return call(this=cast_as(column, "VARCHAR")), "varchar"
    return call(this=column), sql_type


def compared_as(sql_type: str) -> str:
    """The type that `comparable` gives a column."""
    kind = _base(sql_type)
    return (_READ_AS | _MAY_NOT_FIT).get(kind, kind).lower()


def clampable(column: exp.Expression, sql_type: str, *, whole: bool) -> exp.Expression:
    """The column as it may be held between bounds; `whole` says that these are whole numbers."""
    kind = _base(sql_type)
    if kind in _WIDENED or (kind == "hugeint" and not whole):
        return cast_as(column, _WIDENED.get(kind, "DOUBLE"))
    return comparable(column, sql_type)


def steps_type(step: Fraction) -> str:
    """The type of a column of whole numbers that each stand for `step`."""
    return f"{_STEPS}({step})"


def lengths_type(step: Fraction) -> str:
    """The type of a column that says how long something took, in whole steps."""
    return f"{_LENGTHS}({step})"


def in_steps(sql_type: str) -> bool:
    """Whether a column holds whole steps of its grid."""
    return _base(sql_type) in {_STEPS, _LENGTHS}


def is_length(sql_type: str) -> bool:
    """Whether a column holds lengths of time."""
    return _base(sql_type) == _LENGTHS


def within_calendar(moment: exp.Expression, kind: str) -> exp.Expression:
    """A DATE or TIMESTAMP, or NULL beyond the years 1 to 9999: DuckDB fails to truncate the farthest ones."""
    ends = [cast_as(exp.Literal.string(end), kind) for end in _CALENDAR[kind]]
    inside = exp.Between(this=copied(moment), low=ends[0], high=ends[1])
    return exp.Case(ifs=[exp.If(this=inside, true=copied(moment))])


def _base(sql_type: str) -> str:
    """The type's name without its parameters: `decimal` of DECIMAL(18,3)."""
    return sql_type.partition("(")[0].strip().lower()
