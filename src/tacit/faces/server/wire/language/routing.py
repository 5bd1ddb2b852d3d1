"""Who answers a statement: the curator what reads the policy's tables, the catalogue what reads none of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token
from tacit.policy.reading.names import fold

_ENDS_FROM = {"where", "group", "having", "order", "limit", "offset", "fetch", "union", "intersect", "except", "window"}
_ENDS_FROM |= {"for", "returning", "select", "on", "using", "set", "values"}
_JOINS = {"from", "join"}
_SKIPPED = {"only", "lateral"}


class Route(Enum):
    """Who answers."""

    CURATOR = "the curator"
    CATALOGUE = "the catalogue"
    MIXED = "nobody: it reads both"


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """A table that a statement names, with its schema where it is written."""

    schema: str
    name: str


def route(statement: Lexed, names: Collection[str]) -> Route:
    """Who answers; `names` are the policy's tables and views, folded.

    A statement that this reads wrongly is never answered wrongly: the catalogue's server may not read those tables.
    """
    if is_priced(statement):
        return Route.CURATOR
    shadows = {name.name for name in _named_subqueries(statement)}
    relations_named = [each for each in relations(statement) if each.schema or each.name not in shadows]
    data = [each for each in relations_named if each.schema in {"", "public"} and each.name in names]
    if not data:
        return Route.CATALOGUE
    return Route.CURATOR if len(data) == len(relations_named) else Route.MIXED


def is_priced(statement: Lexed) -> bool:
    """Whether it says DP-SELECT."""
    tokens = statement.tokens
    return any(
        token.says("dp") and tokens[index + 1].says("-") and tokens[index + 2].says("select")
        for index, token in enumerate(tokens[:-2])
    )


def says_its_price(statement: Lexed) -> bool:
    """Whether DP-SELECT is followed by a price, so that no default is taken for one."""
    tokens = statement.tokens
    starts = (index for index in range(len(tokens) - 3) if tokens[index].says("dp") and tokens[index + 1].says("-"))
    first = next((tokens[index + 3] for index in starts if tokens[index + 2].says("select")), None)
    if first is None:
        return False
    return first.kind in (Lexeme.NUMBER, Lexeme.PARAMETER) or first.says("within", ".", "-", "?")


def relations(statement: Lexed) -> list[NamedRelation]:
    """The tables after FROM and JOIN, whatever they are; functions are none."""
    return list(statement.once("relations", lambda: tuple(_relations(statement.tokens))))


def _relations(tokens: tuple[Token, ...]) -> Iterator[NamedRelation]:
    expecting, listing = [False], [False]  # for each depth of parentheses: is a table next, may a comma bring one
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.says("("):
            expecting.append(expecting[-1])
            listing.append(expecting[-1])
        elif token.says(")"):
            expecting, listing = expecting[:-1] or [False], listing[:-1] or [False]
            expecting[-1] = False
        elif token.says(*_JOINS) or (token.says("table") and index == 1):
            expecting[-1] = listing[-1] = True
        elif token.says(","):
            expecting[-1] = listing[-1]
        elif token.says(*_ENDS_FROM):
            listing[-1] = listing[-1] and token.says("on", "using")
            expecting[-1] = False
        elif expecting[-1] and token.is_name and not token.says(*_SKIPPED):
            relation, index = _relation(tokens, index - 1)
            expecting[-1] = False
            if relation is not None:
                yield relation


def _relation(tokens: tuple[Token, ...], index: int) -> tuple[NamedRelation | None, int]:
    """The table that is named from `index` on, and where its name ends; None for a function."""
    parts = [fold(tokens[index].value)]
    index += 1
    while index + 1 < len(tokens) and tokens[index].says(".") and tokens[index + 1].is_name:
        parts.append(fold(tokens[index + 1].value))
        index += 2
    if index < len(tokens) and tokens[index].says("("):
        return None, index
    return NamedRelation(parts[-2] if len(parts) > 1 else "", parts[-1]), index


def _named_subqueries(statement: Lexed) -> Iterator[NamedRelation]:
    """The names that WITH gives to subqueries, as relations without a schema."""
    tokens = statement.tokens
    if not any(token.says("with") for token in tokens):
        return
    for index, token in enumerate(tokens[:-2]):
        if token.is_name and tokens[index + 1].says("as") and tokens[index + 2].says("(", "materialized", "not"):
            yield NamedRelation("", fold(token.value))
