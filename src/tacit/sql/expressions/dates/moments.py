"""Grid numbers as the dates and timestamps they stand for."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction

from tacit.policy import ColumnType
from tacit.policy.reading.types import EPOCH
from tacit.sql.expressions.names.scope import Value

MIDNIGHT = datetime(EPOCH.year, EPOCH.month, EPOCH.day)  # noqa: DTZ001 - zoneless, as columns are


def moment(units: Fraction, kind: ColumnType) -> Value:
    """The value a column of this type has at this place of its grid."""
    if kind is ColumnType.DATE:
        return EPOCH + timedelta(days=int(units))
    if kind is ColumnType.TIMESTAMP:
        return MIDNIGHT + timedelta(seconds=int(units))
    return int(units) if units.denominator == 1 else units
