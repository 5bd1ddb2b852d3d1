"""What contribution bounds cut from a table, as it was measured: words for readers, no promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from tacit.policy.reading.fault import Fault, KeyPath
from tacit.policy.reading.types import exact, kind_name

_KEYS = ("rows", "units", "measured")


@dataclass(frozen=True, slots=True)
class CutShares:
    """The share of rows that `max_rows` leaves out, the share of units that any bound touches, and when that was."""

    rows: Fraction
    units: Fraction
    measured: date

    def plain(self) -> dict[str, object]:
        """The cut as the keys and values that a policy has."""
        return {"rows": self.rows, "units": self.units, "measured": self.measured}

    def text(self, today: date) -> str:
        """What a reader of an answer is told."""
        days = max(0, (today - self.measured).days)
        age = "today" if not days else f"{days:,} day{'s' if days > 1 else ''} ago"
        return (
            f"contribution bounds touch about {float(self.units):.1%} of the units, and leave out about "
            f"{float(self.rows):.1%} of the rows where there are no groups (measured {self.measured}, {age})"
        )


def cut_of(value: object, path: KeyPath) -> CutShares:
    """The shares behind `{ rows = 0.05, units = 0.02, measured = 2026-01-31 }`."""
    if isinstance(value, CutShares):
        return value
    if not isinstance(value, Mapping):
        hint = "tacit calibrate TABLE.cut --write writes it"
        raise Fault(f"must be a table of rows, units and measured: it is {kind_name(value)}", path=path, hint=hint)
    for key in value:
        if key not in _KEYS:
            raise Fault(
                "is not a key tacit knows", path=(*path, str(key)), hint=f"the keys here are {', '.join(_KEYS)}"
            )
    for key in _KEYS:
        if key not in value:
            raise Fault("is missing", path=(*path, key), hint="tacit calibrate TABLE.cut --write writes it")
    measured = value["measured"]
    if not isinstance(measured, date) or isinstance(measured, datetime):
        raise Fault(f"must be a date: it is {kind_name(measured)}", path=(*path, "measured"), hint="as in 2026-01-31")
    return CutShares(_share(value["rows"], (*path, "rows")), _share(value["units"], (*path, "units")), measured)


def _share(value: object, path: KeyPath) -> Fraction:
    share = exact(value, path)
    if not 0 <= share <= 1:
        raise Fault("must be a share from 0 to 1", path=path)
    return share
