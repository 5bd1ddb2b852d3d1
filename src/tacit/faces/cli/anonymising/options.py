"""What the words of `tacit anonymise` mean: columns, hierarchies, ends, grids and shares, from text."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from tacit.release.anonymise import Hierarchy


def names(given: Sequence[str] | None) -> tuple[str, ...]:
    """Columns, by commas or by several words."""
    return tuple(name.strip() for text in given or () for name in text.split(",") if name.strip())


def roles(
    *,
    qi: Sequence[str],
    sensitive: Sequence[str] | None,
    pseudonym: Sequence[str] | None,
    keep: Sequence[str] | None,
) -> dict[str, tuple[str, ...]]:
    """Which column is what, by the names of the roles."""
    given = {"quasi_identifiers": qi, "sensitive": sensitive, "pseudonyms": pseudonym, "keep": keep}
    return {role: names(columns) for role, columns in given.items()}


def _pair(text: str, option: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column or not value:
        raise InvalidParameter(f"{option} is COLUMN=VALUE: got {text!r}")
    return column.strip(), value.strip()


def hierarchies(path: Path | None, bands: Sequence[str], prefix: Sequence[str]) -> dict[str, Hierarchy]:
    """Those of a file, and those of --bands and --prefix."""
    from tacit.release.anonymise import Prefix, load_hierarchies, parse_bands

    by_column: dict[str, Hierarchy] = {} if path is None else load_hierarchies(path)
    for text in bands:
        column, value = _pair(text, "--bands")
        by_column[column] = parse_bands(value)
    for text in prefix:
        column, value = _pair(text, "--prefix")
        if not all(part.strip().isdigit() for part in value.split(",")):
            raise InvalidParameter(f"--prefix takes lengths, such as 3,2,1: got {value!r}")
        by_column[column] = Prefix(tuple(int(part) for part in value.split(",")))
    return by_column


def ends(given: Sequence[str] | None, option: str) -> dict[str, object]:
    """Tops or bottoms: numbers or dates."""
    by_column: dict[str, object] = {}
    for text in given or ():
        column, value = _pair(text, option)
        try:
            by_column[column] = float(value)
        except ValueError:
            by_column[column] = _date(value, option)
    return by_column


def grids(given: Sequence[str] | None) -> dict[str, object]:
    """Where intervals may end: a step, or a unit of dates."""
    by_column: dict[str, object] = {}
    for text in given or ():
        column, value = _pair(text, "--grid")
        try:
            number = float(value)
        except ValueError:
            by_column[column] = value.lower()
        else:
            by_column[column] = int(number) if number.is_integer() else number
    return by_column


def _date(text: str, option: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameter(f"{option} takes a number, or a date such as 1990-12-31: got {text!r}") from None


def presence(text: str | None) -> tuple[float, float] | None:
    """LOW:HIGH, or HIGH alone."""
    if text is None:
        return None
    low, sign, high = text.partition(":")
    try:
        return (float(low), float(high)) if sign else (0.0, float(low))
    except ValueError:
        raise InvalidParameter(f"--presence is LOW:HIGH, such as 0:0.5: got {text!r}") from None


def key(path: Path | None) -> bytes | None:
    """The key of pseudonyms, from its file."""
    if path is None:
        return None
    try:
        return path.read_bytes().strip()
    except OSError:
        raise InvalidParameter(f"{path.name} cannot be read") from None
