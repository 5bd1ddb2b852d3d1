"""Units of time as values: DATE_TRUNC(?, day) with 'month' for the parameter, or 'month' cast to a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

TAKES_A_UNIT = frozenset(
    [
        "DATE_PART",
        "DATEPART",
        "DATENAME",
        "DATE_TRUNC",
        "DATETRUNC",
        "TIMESTAMP_TRUNC",
        "DATETIME_TRUNC",
        "DATEDIFF",
        "DATE_DIFF",
        "DATETIME_DIFF",
        "TIMESTAMPDIFF",
        "TIMESTAMP_DIFF",
        "DATE_SUB",
        "DATESUB",
        "DATE_ADD",
        "DATEADD",
        "TIMESTAMP_ADD",
        "DATETIME_ADD",
        "TIMESTAMPADD",
    ]
)
_TEXTS = {"TEXT", "VARCHAR", "CHAR", "BPCHAR", "STRING"}


def with_units(tokens: Sequence[Token], parameters: Mapping[str, object]) -> list[Token]:
    """The question's words, with each unit of time that is a parameter, or is cast to a text, as a plain text.

    Drivers send what SQLAlchemy's `func.date_trunc('month', day)` says as a parameter. Its value is the unit: its name
    never is, though it may be `:month`.
    """
    read: list[Token] = []
    index = 0
    while index < len(tokens):
        if len(read) > 1 and _opens_a_call(read):
            unit = _unit(tokens, index, parameters)
            if unit is not None:
                first, (text, index) = tokens[index], unit
                read.append(Token(TokenType.STRING, text, first.line, first.col, first.start, tokens[index - 1].end))
                continue
        read.append(tokens[index])
        index += 1
    return read


def _opens_a_call(read: Sequence[Token]) -> bool:
    """Whether the words so far end in a call whose first argument is a unit."""
    if read[-1].token_type is not TokenType.L_PAREN or read[-2].text.upper() not in TAKES_A_UNIT:
        return False
    return len(read) < 3 or read[-3].token_type is not TokenType.DOT


def _unit(tokens: Sequence[Token], index: int, parameters: Mapping[str, object]) -> tuple[str, int] | None:
    """The unit that begins at `index`, and where it ends; None where it stands there plainly, or is none."""
    words = [token.text.upper() for token in tokens[index : index + 8]]
    is_call = words[:2] == ["CAST", "("]
    found = _given(tokens, index + 2 * is_call, parameters)
    if found is None:
        return None
    text, at = found
    words = words[at - index :]
    if is_call:
        is_text = words[:1] == ["AS"] and words[1] in _TEXTS and words[2:3] == [")"]
        return (text, at + 3) if is_text and words[3:4] == [","] else None
    if words[:1] == ["::"] and words[1] in _TEXTS:
        return (text, at + 2) if words[2:3] == [","] else None
    return (text, at) if words[:1] == [","] and at > index + 1 else None


def _given(tokens: Sequence[Token], index: int, parameters: Mapping[str, object]) -> tuple[str, int] | None:
    """The word that a text is, or that the value of a parameter is, and where it ends."""
    kinds = [token.token_type for token in tokens[index : index + 2]]
    value: object = None
    if kinds[:1] == [TokenType.STRING]:
        value, end = tokens[index].text, index + 1
    elif len(kinds) == 2 and kinds[0] in {TokenType.PARAMETER, TokenType.COLON}:
        value, end = parameters.get(tokens[index + 1].text), index + 2
    return (value.strip(), end) if isinstance(value, str) and value.strip().isalpha() else None
