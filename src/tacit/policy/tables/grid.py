"""A column's grid: its step, its bounds, and what lies on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction

from tacit.core import Bounds, decimal_text
from tacit.policy.reading.fault import Fault, KeyPath, shown
from tacit.policy.reading.names import meant
from tacit.policy.reading.readers import duration
from tacit.policy.reading.types import ColumnType, Value, exact, grid_units, kind_name, type_fits, value_of, whole_units

MAX_UNITS = 2**62  # steps between zero and a bound: beyond it a 64-bit integer cannot hold the clamped value
_NATURAL = {ColumnType.INTEGER: "whole numbers", ColumnType.DATE: "days", ColumnType.TIMESTAMP: "seconds"}


def bound_of(value: object, path: KeyPath, *, kind: ColumnType | None) -> Value:
    """A lower or upper bound: an exact number, or a date or timestamp where the column is one."""
    if kind is not None and not kind.has_order:
        raise Fault(f"cannot be: a {kind} column has no bounds", path=path, hint="take lower, upper and step out")
    if kind is None or kind.is_numeric:
        number = exact(value, path)
        if kind is ColumnType.INTEGER and number.denominator != 1:
            raise Fault(f"must be a whole number: the column is an integer: got {decimal_text(number)}", path=path)
        return number
    read = value_of(value, path, kind=kind)
    if kind is ColumnType.TIMESTAMP and type(read) is date:  # a day written alone is its first moment
        read = datetime(read.year, read.month, read.day)  # noqa: DTZ001 - columns have no zone
    if not type_fits(kind, read):
        raise Fault(f"must be a {kind}: it is {kind_name(read)}", path=path)
    return read


def step_of(value: object, path: KeyPath, *, kind: ColumnType | None) -> Fraction | None:
    """What values are rounded to, in the column's own numbers; None if that is not said and has no natural answer."""
    if value is None:
        return Fraction(1) if kind in _NATURAL else None
    if kind is not None and kind.is_temporal and isinstance(value, str | timedelta):
        span = duration(value, path)
        step = Fraction(span.days * 86400 + span.seconds, 86400 if kind is ColumnType.DATE else 1)
    else:
        step = exact(value, path)
    if step <= 0:
        raise Fault(f"must be greater than zero: got {decimal_text(step)}", path=path)
    if kind in _NATURAL and step.denominator != 1:
        raise Fault(f"{decimal_text(step)} is too fine: a {kind} column counts {_NATURAL[kind]}", path=path)
    return step


def bounds_of(
    lower: Value | None, upper: Value | None, *, step: Fraction | None, stated: bool, path: KeyPath
) -> Bounds | None:
    """The interval and its grid, or None where no bounds are given. `stated`: the step was typed, not implied."""
    if lower is None and upper is None:
        if stated:
            raise Fault("is there, yet lower and upper are not", path=(*path, "step"), hint="add lower and upper")
        return None
    if lower is None or upper is None:
        key, other = ("lower", "upper") if lower is None else ("upper", "lower")
        raise Fault(f"is missing: {other} is there", path=(*path, key), hint=f"add {key}, or take {other} out")
    if step is None:
        raise Fault(
            "is missing: what are values rounded to?",
            path=(*path, "step"),
            hint="add step = 1 for whole numbers, step = 0.01 for cents",
        )
    return _interval(lower, upper, step=step, path=path)


def _interval(lower: Value, upper: Value, *, step: Fraction, path: KeyPath) -> Bounds:
    low, high = grid_units(lower), grid_units(upper)
    if low >= high:
        raise Fault(
            f"{value_text(lower)} is not below upper {value_text(upper)}",
            path=(*path, "lower"),
            hint="write lower < upper",
        )
    for key, value, units in (("lower", lower, low), ("upper", upper, high)):
        if (units / step).denominator != 1:
            raise Fault(
                f"{value_text(value)} is off the grid: it is not a multiple of step {decimal_text(step)}",
                path=(*path, key),
                hint="choose bounds that are whole multiples of the step; dates are counted from 1970-01-01",
            )
        if abs(units / step) > MAX_UNITS:
            raise Fault(
                f"{value_text(value)} is more than 2^62 steps from zero: sums could overflow",
                path=(*path, key),
                hint="choose a larger step or narrower bounds",
            )
    return Bounds(low, high, step=step)


def total_of(value: object, path: KeyPath, *, bounds: Bounds | None) -> Bounds | None:
    """The bounds of what one unit's values may sum up to in one group, on the column's own grid."""
    if value is None:
        return None
    if bounds is None:
        raise Fault("needs the column's own bounds", path=path, hint="add lower, upper and step")
    if isinstance(value, Bounds):
        if value.step != bounds.step:
            raise Fault(f"has step {decimal_text(value.step)}, the column {decimal_text(bounds.step)}", path=path)
        value = {"lower": value.lower, "upper": value.upper}
    if not isinstance(value, Mapping):
        raise Fault(
            f"must be a table: it is {kind_name(value)}",
            path=path,
            hint="write unit_total = { lower = 0, upper = 900 }",
        )
    for key in value:
        if key not in {"lower", "upper"}:
            raise Fault("is not a key tacit knows", path=(*path, key), hint=meant(key, ("lower", "upper")))
    ends = [exact(value[key], (*path, key)) if key in value else None for key in ("lower", "upper")]
    return bounds_of(ends[0], ends[1], step=bounds.step, stated=True, path=path)


def on_grid(value: Value, path: KeyPath, *, bounds: Bounds) -> None:
    """Refuse a value outside the bounds or off their grid."""
    units = grid_units(value)
    if not bounds.lower <= units <= bounds.upper:
        raise Fault(f"{value_text(value)} is outside lower and upper", path=path)
    if (units / bounds.step).denominator != 1:
        raise Fault(f"{value_text(value)} is off the grid of step {decimal_text(bounds.step)}", path=path)


def surely_on_grid(values: Iterable[Value], *, bounds: Bounds) -> bool:
    """Whether all values lie on the grid, by whole numbers alone; False where `on_grid` has to look."""
    ends = (bounds.lower, bounds.upper, bounds.step)
    if any(end.denominator != 1 for end in ends):
        return False
    low, high, step = (end.numerator for end in ends)
    return all(
        (units := whole_units(value)) is not None and low <= units <= high and units % step == 0 for value in values
    )


def value_text(value: Value) -> str:
    """A value as a message shows it."""
    return decimal_text(value) if isinstance(value, Fraction) else shown(value)
