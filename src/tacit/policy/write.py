"""A policy as the text of its file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from fractions import Fraction

from tacit.core import decimal_text
from tacit.policy.model import Policy

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def policy_text(policy: Policy) -> str:
    """The file that reads back as this policy, whoever made it."""
    lines: list[str] = []
    for top, section in policy.plain().items():
        if top in {"dataset", "budget", "limits", "server"}:
            _table((top,), section, lines)
        else:
            for name, inner in _items(section):
                _table((top, name), inner, lines)
    return "\n".join(lines) + "\n"


def _table(path: tuple[str, ...], section: object, lines: list[str]) -> None:
    lines += ["", header(path)] if lines else [header(path)]
    pairs = _items(section)
    lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in pairs if key != "columns"]
    for key, columns in pairs:
        if key == "columns":
            lines.append(header((*path, key)))
            lines += [f"{toml_key(name)} = {toml_value(column)}" for name, column in _items(columns)]


def _items(section: object) -> list[tuple[str, object]]:
    return list(section.items()) if isinstance(section, Mapping) else []


def header(path: tuple[str, ...]) -> str:
    """`[tables.visits]`."""
    return f"[{'.'.join(map(toml_key, path))}]"


def toml_key(name: str) -> str:
    """A key, bare where TOML allows it."""
    return name if _BARE.fullmatch(name) else toml_value(name)


def toml_value(value: object) -> str:
    """A value, exactly: a number that is no decimal becomes the text "1/3", which reads back as it."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(str(key))} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Fraction):
        number = decimal_text(Fraction(value))
        return f'"{number}"' if "/" in number else number
    if isinstance(value, date):  # a datetime is one too
        return value.isoformat()
    # JSON's escapes are TOML's, but for the delete character, which TOML wants escaped
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
