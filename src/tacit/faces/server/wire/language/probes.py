"""Probes: statements by which a program learns columns and wants no row. They read nothing, and cost nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token

_ENDS = ("where", "order", "limit", "offset", "fetch")
_SETS = {"union", "intersect", "except"}
_NO_ROWS = re.compile(r"(?:.* )?(?:limit 0(?: offset \d+)?|fetch (?:first|next) 0 rows? only)")
_NEVER = r"(?:false|null|1 = 0|0 = 1|1 = 2|2 = 1|1 (?:<>|!=) 1|0 (?:<>|!=) 0|true = false|false = true)"
_NEVER_TRUE = re.compile(rf"{_NEVER}(?: (?:limit|offset) \d+)*")


def is_probe(statement: Lexed, values: Sequence[object] = ()) -> bool:
    """Whether it can have no row, whatever the data: LIMIT 0, or what is not aggregated WHERE something false.

    What it is wrapped in is another matter: a subquery that is asked WHERE 1 = 0 has no row either. A parameter counts
    for its value, once that is known: LIMIT $1 with a 0 is LIMIT 0.
    """
    if values:
        return _has_no_row(statement.tokens, values)
    return statement.once("probe", lambda: _has_no_row(statement.tokens, ()))


def _has_no_row(tokens: Sequence[Token], values: Sequence[object]) -> bool:
    top = _outside(tokens)
    words = _said((tokens[index] for index in top), values)
    if not {"limit", "fetch", "where"} & set(words.split(" ")):
        return False
    return _NO_ROWS.fullmatch(words) is not None or _asks_where_nothing_is(tokens, top, values)


def table_of(statement: Lexed) -> tuple[str, tuple[str, ...] | None] | None:
    """Which table a statement reads plain columns of, and which ones; None for all. None for any other statement."""
    ends = (index for index, token in enumerate(statement.tokens) if token.says(*_ENDS))
    tokens = statement.tokens[: next(ends, None)]
    start = next((index for index, token in enumerate(tokens) if token.says("from")), len(tokens))
    listed, rest = tokens[1:start], tokens[start + 1 :]
    if statement.word(0) != "select" or not rest or not rest[0].is_name:
        return None
    columns = _columns(listed)
    if columns is None or any(token.says("(", "join", ",") for token in rest):
        return None
    last = 0
    while last + 2 < len(rest) and rest[last + 1].says(".") and rest[last + 2].is_name:
        last += 2
    return rest[last].value, columns or None


def _columns(tokens: Sequence[Token]) -> tuple[str, ...] | None:
    """The names of a list of columns, each alone or after its table's; an empty list for a star."""
    names: list[str] = []
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.says(","):
            parts.append([])
        else:
            parts[-1].append(token)
    for part in parts:
        last = part[-1] if part else None
        qualified = len(part) == 3 and part[0].is_name and part[1].says(".")
        if last is None or not (len(part) == 1 or qualified):
            return None
        if last.says("*"):
            return () if len(parts) == 1 else None
        if not last.is_name:
            return None
        names.append(last.value)
    return tuple(names)


def _asks_where_nothing_is(tokens: Sequence[Token], top: Sequence[int], values: Sequence[object]) -> bool:
    """Whether its last word is a condition that nothing fulfils, and no aggregate makes a row out of nothing."""
    first = {tokens[index].value: index for index in reversed(top) if tokens[index].kind is Lexeme.WORD}
    if not {"select", "from", "where"} <= first.keys() or first.keys() & (_SETS | {"dp"}):
        return False
    if any(token.says("(") for token in tokens[first["select"] : first["from"]]):
        return False
    condition = _said((token for token in tokens[first["where"] + 1 :] if not token.says("(", ")")), values)
    return _NEVER_TRUE.fullmatch(condition) is not None


def _outside(tokens: Sequence[Token]) -> list[int]:
    """Where the tokens are that stand in no parentheses."""
    depth, outside = 0, []
    for index, token in enumerate(tokens):
        if token.says("("):
            depth += 1
        elif token.says(")"):
            depth -= 1
        elif depth == 0:
            outside.append(index)
    return outside


def _said(tokens: Iterable[Token], values: Sequence[object]) -> str:
    """Bare words, numbers and signs, a space between them; what is quoted is a name or a text, and says nothing."""
    return " ".join(_word(token, values) for token in tokens)


def _word(token: Token, values: Sequence[object]) -> str:
    if token.kind in (Lexeme.STRING, Lexeme.QUOTED):
        return '"'
    if token.kind is not Lexeme.PARAMETER:
        return token.value
    index = int(token.value[:6]) - 1
    value = values[index] if 0 <= index < len(values) else None
    return str(value).lower() if isinstance(value, (bool, int)) else "?"
