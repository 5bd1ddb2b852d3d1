"""DP-SELECT inside parentheses: questions with prices of their own, asked in one statement at the sum of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot.tokenizer_core import Token, TokenType

from tacit.errors import QueryRefused
from tacit.sql.parsing.price import PriceTag, written_price
from tacit.sql.parsing.query import AtEpsilon, DefaultPrice
from tacit.sql.parsing.tokens import Cursor

_ONE_PRICE = "write one price in front: DP-SELECT 1 … FROM (SELECT …) AS a JOIN (SELECT …) AS b ON …"


def without_nested_prices(tokens: list[Token], named: Mapping[str, object]) -> tuple[list[Token], PriceTag | None]:
    """The tokens with SELECT for every `(DP-SELECT 1`, and what these cost together; None where there are none."""
    read: list[Token] = []
    tags: list[PriceTag] = []
    index = 0
    while index < len(tokens):
        if index and tokens[index - 1].token_type is TokenType.L_PAREN and _is_priced(tokens, index):
            cursor = Cursor(tokens)
            cursor.position = index + 3
            tags.append(written_price(cursor, named))
            read.append(tokens[index + 2])
            index = cursor.position
        else:
            read.append(tokens[index])
            index += 1
    return read, _together(tags) if tags else None


def _is_priced(tokens: list[Token], index: int) -> bool:
    words = [token.text.upper() for token in tokens[index : index + 3]]
    return words == ["DP", "-", "SELECT"] and tokens[index].token_type is TokenType.VAR


def _together(tags: list[PriceTag]) -> PriceTag:
    """One price for the statement: the sum of what each of its questions may cost."""
    total, delta = Fraction(0), Fraction(0)
    for tag in tags:
        if not isinstance(tag.price, AtEpsilon) or tag.fresh or tag.bias or tag.parameters_used:
            raise QueryRefused(
                "a DP-SELECT in parentheses is refused with WITHIN, FRESH, WITH BIAS or ? as its price: "
                "the questions of a statement are paid at once",
                hint=_ONE_PRICE,
            )
        total += tag.price.epsilon
        delta += tag.delta or 0
    confidences = {tag.confidence for tag in tags if tag.confidence is not None}
    if len(confidences) > 1:
        raise QueryRefused("two confidences in one statement are refused", hint="write the same CONFIDENCE in each")
    confidence = next(iter(confidences), None)
    return PriceTag(price=AtEpsilon(total), delta=delta or None, confidence=confidence)


def one_price(outer: PriceTag, nested: PriceTag | None) -> PriceTag:
    """The price of a statement: the one in front of it, or those inside it."""
    if nested is None:
        return outer
    if not isinstance(outer.price, DefaultPrice) or outer.delta is not None or outer.caps != PriceTag().caps:
        raise QueryRefused(
            "the statement has a price, and so has a SELECT inside it: which one counts?", hint=_ONE_PRICE
        )
    confidence = outer.confidence if nested.confidence is None else nested.confidence
    return replace(nested, confidence=confidence, unit=outer.unit)
