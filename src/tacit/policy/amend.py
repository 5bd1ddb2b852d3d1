"""Changes written back into a policy's text, its comments and order kept.

tomlkit does this one job: it keeps a TOML file's style, in pure Python and without dependencies of its own. What it
wrote is read again by tomllib and compared with what was meant, so that no guarantee rests on it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Item

from tacit.errors import PolicyError
from tacit.policy.load import parse_policy
from tacit.policy.reading.names import fold
from tacit.policy.write import toml_key, toml_value

Table = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """Keys of a table, or of one of its columns, to be set; and a comment, such as what measuring them cost."""

    table: str
    values: Mapping[str, object]
    column: str | None = None
    note: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """Where the keys go."""
        return ("tables", self.table) if self.column is None else ("tables", self.table, "columns", self.column)


def amend_policy(text: str, changes: Iterable[Change], *, name: str = "tacit.toml") -> str:
    """The policy's text with the changes made. Raises PolicyError if what comes out is no sound policy."""
    meant = _data(text, name)
    document = tomlkit.parse(text)
    for change in changes:
        _set_plainly(meant, change)
        _set_in_style(document, change)
    amended = tomlkit.dumps(document)
    if _data(amended, name) != meant:
        raise PolicyError(f"{name}: cannot be amended without changing more than was asked", hint="edit it by hand")
    parse_policy(amended, name=name)
    return amended


def _data(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{name}: not TOML: {error}") from None


def _set_plainly(data: Table, change: Change) -> None:
    node = data
    for key in change.path:
        node = node.setdefault(_spelling(node, key), {})
    for key, value in change.values.items():
        node[key] = tomllib.loads(f"value = {toml_value(value)}", parse_float=Decimal)["value"]


def _set_in_style(document: Table, change: Change) -> None:
    """Set the keys where they are; an inline table is written anew, with what it held, as tacit writes them."""
    node: Table = document
    for depth, key in enumerate(change.path):
        spelling = _spelling(node, key)
        if spelling not in node:  # a column is one line; what holds columns is a table of its own
            node[spelling] = tomlkit.inline_table() if depth == 3 else tomlkit.table()
        child = node[spelling]
        if isinstance(child, InlineTable):
            _set_inline(node, spelling, rest=change.path[depth + 1 :], change=change)
            return
        node = child
    for key, value in change.values.items():
        node[key] = tomlkit.value(toml_value(value))
        _remark(node[key], change.note)


def _set_inline(holder: Table, key: str, *, rest: tuple[str, ...], change: Change) -> None:
    old = holder[key]
    held = dict(old.value.items())
    node: dict[str, Any] = held
    for step in rest:
        spelling = _spelling(node, step)
        node[spelling] = dict(node.get(spelling, {}))
        node = node[spelling]
    node.update(change.values)
    new = tomlkit.value(_inline_text(held))
    holder[key] = new
    trivia = holder[key].trivia
    trivia.comment_ws, trivia.comment = old.trivia.comment_ws, old.trivia.comment
    _remark(holder[key], change.note)


def _inline_text(value: object) -> str:
    """An inline table's text: what was in it as it was typed, what is new as tacit writes it."""
    if isinstance(value, Item) and not isinstance(value, InlineTable):
        return value.as_string().strip()
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(str(key))} = {_inline_text(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return toml_value(value)


def _spelling(node: Mapping[str, Any], key: str) -> str:
    """The key as the file spells it, or as given if it is not there."""
    return next((known for known in node if fold(known) == fold(key)), key)


def _remark(item: Item, note: str) -> None:
    """Put the note behind what the line already says; a note of the same kind gives way."""
    words = " ".join(note.split())
    if not words:
        return
    said = item.trivia.comment.lstrip("# ").strip()
    kept = [part for part in said.split("; ") if part and part.split(" ")[0] != words.split(" ")[0]]
    item.comment("; ".join([*kept, words]))
    item.trivia.comment_ws = "  "
