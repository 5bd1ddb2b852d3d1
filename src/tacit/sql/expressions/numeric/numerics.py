"""Exact numerics: columns of whole numbers and of decimals, compared with no rounding on either side.

A constant is moved onto the column's own grid while planning (nothing lies between two of its values), so that the
column stands in the comparison as it is: no cell is converted, none can fail, and an index on it serves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric import arithmetic

_BITS = {"tinyint": 8, "smallint": 16, "integer": 32, "int": 32, "bigint": 64, "hugeint": 128}
_DECIMAL = re.compile(r"(?:decimal|numeric)\((\d+), ?(\d+)\)")
_STEPS = re.compile(r"steps\((.+)\)")
_WIDEST = 38  # digits of the widest DECIMAL
_PLAIN = 1 << 63  # whole numbers below this are written as they are
_FARTHEST = 1 << 126  # steps of a column that we computed
_EQUALITIES: set[type[exp.Expression]] = {exp.EQ, exp.NEQ}
_ABOVE: set[type[exp.Expression]] = {exp.GT, exp.GTE}


@dataclass(frozen=True, slots=True)
class Numeric:
    """A type whose values are `step` times a whole number from low to high; NaN, where there is one, is above all."""

    sql_type: str
    step: Fraction
    low: int
    high: int

    @property
    def is_decimal(self) -> bool:
        """Whether it is DECIMAL(p, s)."""
        return self.sql_type.startswith("DECIMAL")

    @property
    def is_common(self) -> bool:
        """Whether every engine compares it with any 64-bit constant as it stands."""
        return self.sql_type.lower() in _BITS or self.sql_type in {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}

    def holds(self, value: Fraction) -> bool:
        """Whether a cell can have this value."""
        steps = value / self.step
        return steps.denominator == 1 and self.low <= steps <= self.high


def numeric(sql_type: str) -> Numeric | None:
    """The exact type behind an engine's word for it; None for any other."""
    name = sql_type.strip().lower()
    if name in _BITS:
        half = 1 << (_BITS[name] - 1)
        return Numeric(name.upper(), Fraction(1), -half, half - 1)
    if name.startswith("u") and name[1:] in _BITS:
        return Numeric(name.upper(), Fraction(1), 0, (1 << _BITS[name[1:]]) - 1)
    match = _DECIMAL.fullmatch(name)
    if match is not None:
        return _decimal(int(match.group(1)), int(match.group(2)))
    match = _STEPS.fullmatch(name)
    return None if match is None else Numeric("", Fraction(match.group(1)), -_FARTHEST, _FARTHEST)


def _decimal(digits: int, scale: int) -> Numeric:
    most = 10**digits - 1
    return Numeric(f"DECIMAL({digits}, {scale})", Fraction(1, 10**scale), -most, most)


def constant(value: Fraction, kind: Numeric) -> exp.Expression:
    """A value that a cell can have, in the cell's own type."""
    steps = int(value / kind.step)
    if kind.is_decimal:
        return arithmetic.typed(_digits(steps, _scale(kind)), kind.sql_type)
    if kind.step == 1 and abs(steps) < _PLAIN:
        return arithmetic.integer(steps)
    counted_in = "BIGINT" if abs(steps) < _PLAIN else "INT128"  # steps of ours: nobody takes them for values
    return arithmetic.typed(str(steps), kind.sql_type or counted_in)


def _digits(steps: int, scale: int) -> str:
    """So many steps of 10^-scale, digit by digit."""
    digits = str(abs(steps)).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if steps < 0 else text


def compared(
    operator: type[exp.Expression], column: exp.Expression, value: Fraction, *, kind: Numeric
) -> exp.Expression:
    """`column <operator> value`, true for the same cells and NULL for NULL."""
    if kind.holds(value) or (kind.is_common and value.denominator == 1 and abs(value) < _PLAIN):
        return operator(this=column, expression=constant(value, kind))
    steps = value / kind.step
    if operator in _EQUALITIES:  # no cell has it
        return _all_or_none(column, all_of_them=operator is exp.NEQ)
    below = min(max(math.floor(steps), kind.low - 1), kind.high)  # the last value that is less
    if below < kind.low:
        return _all_or_none(column, all_of_them=operator in _ABOVE)
    if below == kind.high and not kind.is_decimal:  # a NUMERIC may be NaN, which is above it
        return _all_or_none(column, all_of_them=operator not in _ABOVE)
    last = constant(below * kind.step, kind)
    return (exp.GT if operator in _ABOVE else exp.LTE)(this=column, expression=last)


def among(column: exp.Expression, values: Iterable[Fraction | None], *, kind: Numeric) -> exp.Expression:
    """`column IN (values)`; None is NULL."""
    kept = [
        exp.null() if value is None else constant(value, kind) for value in values if value is None or kind.holds(value)
    ]
    return exp.In(this=column, expressions=kept) if kept else _all_or_none(column, all_of_them=False)


def _all_or_none(column: exp.Expression, *, all_of_them: bool) -> exp.Expression:
    """What holds for every number, or for none, and is NULL for NULL."""
    return (exp.EQ if all_of_them else exp.NEQ)(this=column, expression=copied(column))


def aligned(
    one: exp.Expression, first: Numeric, *, other: exp.Expression, second: Numeric
) -> tuple[exp.Expression, ...] | None:
    """Two columns in one type that holds all of both, or None where there is none."""
    if first == second:
        return one, other
    if not (first.is_decimal or second.is_decimal) or not all(each.sql_type for each in (first, second)):
        return None
    scale = max(_scale(first), _scale(second))
    digits = max(_whole_digits(first), _whole_digits(second)) + scale
    if digits > _WIDEST:
        return None
    return tuple(arithmetic.cast_to(side, exp.DataType.build(f"DECIMAL({digits}, {scale})")) for side in (one, other))


def _scale(kind: Numeric) -> int:
    return len(str(kind.step.denominator)) - 1


def _whole_digits(kind: Numeric) -> int:
    return (
        len(str(max(abs(kind.low), abs(kind.high)) // kind.step.denominator))
        if kind.step.denominator <= kind.high
        else 0
    )
