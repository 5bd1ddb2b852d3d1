"""The columns of an answer before it is asked: what kind of value each holds, and whether noise is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from tacit.policy import ColumnType
from tacit.sql import Additive, BoundQuery, Counted, Histogram, Output, Plan, Quantile, post
from tacit.sql.expressions.keys import Key
from tacit.sql.expressions.measures import Measure
from tacit.sql.planning.errors_expected import half_width

_NEARLY_SURE = 1 - Fraction(1, 10**9)
_LONGEST = 2**63
_COMPUTED = {
    "integer": {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
    | {"UHUGEINT"},
    "number": {"FLOAT", "DOUBLE", "DECIMAL"},
    "boolean": {"BOOLEAN"},
    "date": {"DATE"},
    "timestamp": {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"},
    "map": {"STRUCT", "MAP"},
}
_WIDEST = 2**53  # a count whose noise reaches this far may not fit 64 bits


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """One column: `kind` is a type of the policy, `list` or `map`; a `wide` whole number may need more than 64 bits.

    `stated` is whether a half-width can be: of a choice, as a median is, none is known.
    """

    kind: str
    noisy: bool
    wide: bool = False
    stated: bool = True

    @property
    def has_error(self) -> bool:
        """Whether half-widths stand beside its numbers."""
        return self.noisy and self.stated and self.kind in {"integer", "number", "date", "timestamp"}


def plan_shapes(plan: Plan) -> tuple[ColumnShape, ...]:
    """The columns of one question. Nothing in them comes from the data: doors announce them before a charge."""
    measures = [measurement.measure for measurement in plan.measurements]
    wide = _reach_far([plan])
    return tuple(_shape(out, plan.keys, measures, wide=wide) for out in plan.outputs)


def sets_shapes(bound: BoundQuery, plans: Sequence[Plan]) -> tuple[ColumnShape, ...]:
    """The columns of a statement with grouping sets, each of them planned on its own."""
    wide = _reach_far(plans)
    return tuple(_shape(out, bound.keys, bound.measures, wide=wide) for out in bound.outputs)


def computed_shape(described: str, *, noisy: bool) -> ColumnShape:
    """A column that is computed from answers, by the type that DuckDB gives it; what is no type of ours is text."""
    if described.endswith("]"):
        return ColumnShape("list", noisy=noisy)
    name = described.partition("(")[0]
    kind = next((kind for kind, names in _COMPUTED.items() if name in names), "text")
    return ColumnShape(kind, noisy=noisy, wide=name in {"HUGEINT", "UHUGEINT", "UBIGINT"})


def shown_shapes(columns: int, rows: Sequence[Sequence[object]], noisy: Sequence[bool]) -> tuple[ColumnShape, ...]:
    """The columns of rows that nobody announced, by the values in them."""
    shapes = []
    for index in range(columns):
        kinds = {_kind_of_value(row[index]) for row in rows if row[index] is not None}
        kind = kinds.pop() if len(kinds) == 1 else ("number" if kinds == {"integer", "number"} else "text")
        shapes.append(ColumnShape(kind, noisy=noisy[index]))
    return tuple(shapes)


def _kind_of_value(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, datetime):
        return "timestamp"
    kinds = {
        int: "integer",
        float: "number",
        Fraction: "number",
        date: "date",
        list: "list",
        tuple: "list",
        dict: "map",
    }
    return kinds.get(type(value), "text")


def _reach_far(plans: Sequence[Plan]) -> bool:
    """Whether the noise of some count is wider than any number of rows."""
    return any(
        half_width(measurement, _NEARLY_SURE) >= _WIDEST
        for plan in plans
        for measurement in plan.measurements
        if isinstance(measurement.measure, Additive) and measurement.measure.counted is not Counted.VALUES
    )


def _shape(out: Output, keys: Sequence[Key], measures: Sequence[Measure], *, wide: bool) -> ColumnShape:
    if out.value is None:
        key = keys[out.key or 0]
        return ColumnShape(_kind_of_key(key), noisy=False, wide=_is_wide(key.values))
    if isinstance(out.value, post.Ref):
        return _measured(measures[out.value.measure], wide=wide)
    if isinstance(out.value, post.Moment):
        return ColumnShape(out.value.kind, noisy=True)
    if isinstance(out.value, post.Grouping):
        return ColumnShape("integer", noisy=False)
    refs = post.refs(out.value)
    summed = all(isinstance(measures[ref], Additive) for ref in refs)
    return ColumnShape("number", noisy=bool(refs), stated=summed)


def _kind_of_key(key: Key) -> str:
    """The policy's word for the key's type; what is none of them is shown as text."""
    if key.kind is ColumnType.INTEGER and key.step is not None and key.step.denominator != 1:
        return str(ColumnType.NUMBER)
    return str(ColumnType.TEXT if key.kind is None else key.kind)


def _is_wide(values: object) -> bool:
    """Whether some public value needs more than 64 bits."""
    whole = [value for value in values if isinstance(value, int)] if isinstance(values, tuple) else []
    return any(not -_LONGEST <= value < _LONGEST for value in whole)


def _measured(measure: Measure, *, wide: bool) -> ColumnShape:
    if isinstance(measure, Additive):
        if measure.counted is Counted.VALUES:
            return ColumnShape("number", noisy=True)
        return ColumnShape("integer", noisy=True, wide=wide)
    if isinstance(measure, Quantile):
        return ColumnShape("number", noisy=True, stated=False)
    if isinstance(measure, Histogram):
        return ColumnShape("map", noisy=True)
    kind = "list" if measure.count > 1 else str(measure.kind)
    return ColumnShape(kind, noisy=True, wide=_is_wide(measure.values), stated=False)
