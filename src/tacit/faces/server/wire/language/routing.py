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
_BEGINS_A_QUERY = {"select", "with", "from", "table", "values", "dp", "("}


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


def unknown_table(statement: Lexed) -> str | None:
    """A table that a statement names, and that is neither the policy's nor one of PostgreSQL's own."""
    shadows = {name.name for name in _named_subqueries(statement)}
    for each in relations(statement):
        own = each.schema in {"", "public"} and not each.name.startswith("pg_")
        if own and (each.schema or each.name not in shadows):
            return each.name
    return None


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
    calls = [False]  # for each: is it the arguments of a function
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.says("("):
            expecting.append(expecting[-1])
            listing.append(expecting[-1])
            calls.append(_opens_a_call(tokens, index - 1))
        elif token.says(")"):
            expecting, listing = expecting[:-1] or [False], listing[:-1] or [False]
            calls = calls[:-1] or [False]
            expecting[-1] = False
        elif token.says("from") and (calls[-1] or _is_distinct_from(tokens, index - 1)):
            continue
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


def _opens_a_call(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether a parenthesis holds what a function is given: EXTRACT(MONTH FROM day), SUBSTRING(ward FROM 1)."""
    following = tokens[index + 1] if index + 1 < len(tokens) else tokens[index]
    return index > 0 and tokens[index - 1].is_name and not following.says(*_BEGINS_A_QUERY)


def _is_distinct_from(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether a FROM is the last word of IS DISTINCT FROM."""
    return index > 1 and tokens[index - 1].says("distinct") and tokens[index - 2].says("is", "not")


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
