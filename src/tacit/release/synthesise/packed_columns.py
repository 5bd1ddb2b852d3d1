"""The columns of what was released, as JSON holds them, and back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from tacit.core import decimal_text
from tacit.policy import ColumnType
from tacit.release.synthesise.columns import Attribute


def plain_attribute(attribute: Attribute) -> dict[str, Any]:
    """A column as JSON holds it."""
    return {
        "name": attribute.name,
        "kind": attribute.kind.value,
        "ordered": attribute.ordered,
        "nullable": attribute.nullable,
        "values": [plain_value(value) for value in attribute.values],
        "lows": list(attribute.lows),
        "widths": list(attribute.widths),
        "step": decimal_text(attribute.step),
    }


def plain_value(value: object) -> object:
    """A value of a column as JSON holds it."""
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    return {"number": decimal_text(value)} if isinstance(value, Fraction) else value


def read_attribute(plain: dict[str, Any]) -> Attribute:
    """The column that `plain_attribute` wrote."""
    return Attribute(
        name=plain["name"],
        kind=ColumnType(plain["kind"]),
        ordered=plain["ordered"],
        nullable=plain["nullable"],
        values=tuple(map(read_value, plain["values"])),
        lows=tuple(plain["lows"]),
        widths=tuple(plain["widths"]),
        step=Fraction(plain["step"]),
    )


def read_value(plain: Any) -> Any:
    """The value that `plain_value` wrote."""
    if isinstance(plain, dict):
        ((kind, text),) = plain.items()
        readers: dict[str, Callable[[str], Any]] = {
            "timestamp": datetime.fromisoformat, "date": date.fromisoformat, "number": Fraction,
        }  # fmt: skip
        return readers[kind](text)
    return plain
