"""The hash that names a policy: the same for the same promises, however they are written down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from fractions import Fraction

FORMAT = "tacit policy 1"


def version_of(policy: Mapping[str, object]) -> str:
    """SHA-256 over everything a plain policy promises, in one canonical form.

    Comments, the order of keys and the spelling of numbers do not count; nor does a default written out. A key that
    a later tacit adds, left at its default, leaves the version as it was.
    """
    form = json.dumps(_canonical(_promise(policy)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{FORMAT}\n{form}".encode("ascii")).hexdigest()


def _promise(policy: Mapping[str, object]) -> dict[str, object]:
    """The policy without what promises nothing: words for people, what was measured, limits of the machine, debits."""
    tables = {}
    for name, table in _items(policy["tables"]):
        columns = {
            column: _without(keys, "description") for column, keys in _items(dict(_items(table)).get("columns", {}))
        }
        tables[name] = {**_without(_without(table, "description"), "cut"), "columns": columns}
    dataset = _without(_without(policy["dataset"], "ledger"), "keep_words")
    return {**_without(_without(policy, "limits"), "server"), "dataset": dataset, "tables": tables}


def _items(section: object) -> list[tuple[str, object]]:
    return list(section.items()) if isinstance(section, Mapping) else []


def _without(section: object, key: str) -> dict[str, object]:
    return {name: value for name, value in _items(section) if name != key}


def _canonical(value: object) -> object:
    """Only lists, objects and text: each leaf is [kind, text], so that the number 1 and the text "1" differ."""
    if isinstance(value, Mapping):
        return {key: _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return ["list", *map(_canonical, value)]
    if isinstance(value, bool):
        return ["truth", str(value)]
    if isinstance(value, int | Fraction):
        return ["number", str(Fraction(value))]
    if isinstance(value, date):  # a datetime is one too
        return [type(value).__name__, value.isoformat()]
    return ["text", str(value)]
