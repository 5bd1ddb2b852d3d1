"""Keys that are bins of the same column's moments: which of them can stand side by side.

A day lies in one month and one year. Of DATE_TRUNC('month', seen) and CAST(seen AS DATE) together, every pair of public
values would be a group; those that no moment has are known to be empty without asking anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from sqlglot import exp

from tacit.policy import ColumnType
from tacit.sql.expressions.dates.date_functions import part_of
from tacit.sql.expressions.dates.instants import start_of
from tacit.sql.expressions.names.scope import Scope, bare

_CUT = (exp.TimestampTrunc, exp.DateTrunc)
_WITHIN = {  # the bins and parts that all moments of one bin share
    "DAY": frozenset(
        {"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"}
        | {f"{part} OF" for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW", "ISOYEAR")}
    ),
    "WEEK": frozenset({"WEEK", "WEEK OF", "ISOYEAR OF"}),
    "MONTH": frozenset({"MONTH", "QUARTER", "YEAR", "YEAR OF", "QUARTER OF", "MONTH OF"}),
    "QUARTER": frozenset({"QUARTER", "YEAR", "YEAR OF", "QUARTER OF"}),
    "YEAR": frozenset({"YEAR", "YEAR OF"}),
}
_PARTS: dict[str, Callable[[date], int]] = {
    "YEAR OF": lambda day: day.year,
    "QUARTER OF": lambda day: (day.month + 2) // 3,
    "MONTH OF": lambda day: day.month,
    "WEEK OF": lambda day: day.isocalendar().week,
    "DAY OF": lambda day: day.day,
    "DOY OF": lambda day: day.timetuple().tm_yday,
    "DOW OF": lambda day: day.isoweekday() % 7,
    "ISODOW OF": lambda day: day.isoweekday(),
    "ISOYEAR OF": lambda day: day.isocalendar().year,
}


@dataclass(frozen=True, slots=True)
class BinOf:
    """A column's moments cut to a unit (MONTH), or a part of them (MONTH OF)."""

    column: str
    unit: str

    def label(self, day: date) -> object:
        """What it is for the moments of a day."""
        if self.unit == "DAY":
            return day
        if self.unit == "WEEK":
            return day - timedelta(days=day.weekday())
        if self.unit.endswith(" OF"):
            return _PARTS[self.unit](day)
        return start_of(day, self.unit)


def bin_of(node: exp.Expression, scope: Scope) -> BinOf | None:
    """The bin that a key is, where it is one of a plain column of dates or timestamps."""
    node = bare(node)
    taken = part_of(node)
    if taken is not None:
        inner, unit = bare(taken[1]), f"{taken[0]} OF"
    elif isinstance(node, _CUT):
        inner, unit = bare(node.this), str(node.args["unit"].name).upper()
    elif isinstance(node, exp.Cast) and node.to.this is exp.DType.DATE:
        inner, unit = bare(node.this), "DAY"
    else:
        inner, unit = node, "DAY"
    if not isinstance(inner, exp.Column) or scope.is_unit(inner) or scope.link(inner) is not None:
        return None
    kind = scope.column(inner)[1]
    if not kind.is_temporal or (inner is node and kind is not ColumnType.DATE):
        return None
    known = any(unit in units for units in _WITHIN.values())
    return BinOf(scope.known_as(inner), unit) if known else None


def agreement(bins: Sequence[BinOf | None]) -> Callable[[Sequence[object]], bool] | None:
    """The condition that the keys of a group are bins of one moment; None where any are."""
    pairs: list[tuple[int, int, BinOf]] = []
    for index, fine in enumerate(bins):
        for other, coarse in enumerate(bins):
            if fine is None or coarse is None or index == other or fine.column != coarse.column:
                continue
            if fine.unit in _WITHIN and coarse.unit in _WITHIN[fine.unit]:
                pairs.append((index, other, coarse))
    return (lambda key: all(_agrees(key[one], key[other], coarse) for one, other, coarse in pairs)) if pairs else None


def _agrees(fine: object, coarse: object, bin_of_coarse: BinOf) -> bool:
    if not isinstance(fine, date) or coarse is None:
        return True
    label = bin_of_coarse.label(date(fine.year, fine.month, fine.day))
    known = date(coarse.year, coarse.month, coarse.day) if isinstance(coarse, date) else coarse
    return known == label
