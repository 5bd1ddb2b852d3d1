"""The types of PEP 249: what values are made by, and what the columns of an answer compare with."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import NoReturn

from tacit.faces.dbapi.faults import NotSupportedError

Date, Timestamp = date, datetime


def Time(hour: int, minute: int, second: int) -> time:  # noqa: N802 - PEP 249 calls it so
    """A time of day. No column holds one."""
    return time(hour, minute, second)


def DateFromTicks(ticks: float) -> date:  # noqa: N802
    """The day, in UTC, so many seconds after 1970 began."""
    return datetime.fromtimestamp(ticks, UTC).date()


def TimeFromTicks(ticks: float) -> time:  # noqa: N802
    """The time of day of the same."""
    return datetime.fromtimestamp(ticks, UTC).time()


def TimestampFromTicks(ticks: float) -> datetime:  # noqa: N802
    """The moment of the same, without a zone, as columns have them."""
    return datetime.fromtimestamp(ticks, UTC).replace(tzinfo=None)


def Binary(value: object) -> NoReturn:  # noqa: N802
    """No column holds bytes."""
    raise NotSupportedError("no question takes bytes")


class TypeObject:
    """One of the five of PEP 249; a column's type code is equal to the one it belongs to."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = frozenset(kinds)

    def __eq__(self, other: object) -> bool:
        return other in self.kinds if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self.kinds)

    def __repr__(self) -> str:
        return f"<{' or '.join(sorted(self.kinds)) or 'nothing'}>"


STRING = TypeObject("text", "list", "map")
BINARY = TypeObject()
NUMBER = TypeObject("integer", "number", "boolean")
DATETIME = TypeObject("date", "timestamp")
ROWID = TypeObject()
