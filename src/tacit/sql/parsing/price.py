"""The price in front of a SELECT, in our words and in GoogleSQL's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot.tokenizer_core import TokenType

from tacit.core import Number, positive, probability, rational
from tacit.errors import InvalidParameter, QueryRefused, QuerySyntaxError
from tacit.sql.parsing.query import AtEpsilon, DefaultPrice, Price, TypedBounds, WithinError
from tacit.sql.parsing.tokens import Cursor

MAX_CAP = 1_000_000
_PRICED = "give an epsilon: DP-SELECT 1 WITH BIAS …"


@dataclass(frozen=True, slots=True)
class PriceTag:
    """All that stands before the select list."""

    price: Price = field(default_factory=DefaultPrice)
    delta: Fraction | None = None
    confidence: Fraction | None = None
    fresh: bool = False
    bias: bool = False
    unit: str | None = None
    caps: TypedBounds = field(default_factory=TypedBounds)
    parameters_used: int = 0


def written_price(cursor: Cursor, named: Mapping[str, object]) -> PriceTag:
    """`0.5`, `1/3`, `?`, `WITHIN 5%`; then DELTA, CONFIDENCE, FRESH and WITH BIAS in any order."""
    used = 0
    if cursor.takes("WITHIN"):
        bound = positive(_number(cursor, "a bound on the error after WITHIN"), "the bound after WITHIN")
        price: Price = WithinError(bound, relative=cursor.takes("%"))
        if isinstance(price, WithinError) and price.relative:
            price = replace(price, bound=bound / 100)
    elif cursor.take(TokenType.PLACEHOLDER) is not None:
        price, used = AtEpsilon(positive(_parameter(named, "1"), "epsilon")), 1
    elif cursor.take(TokenType.PARAMETER) is not None:  # $2: it says itself which one it is
        name = cursor.needs(TokenType.NUMBER, "a number after $")
        price = AtEpsilon(positive(_parameter(named, name), "epsilon"))
    elif _starts_number(cursor):
        price = AtEpsilon(positive(_number(cursor, "epsilon"), "epsilon"))
    else:
        raise QuerySyntaxError(
            f"the price is missing: expected epsilon after DP-SELECT, found {cursor.next_text()[:40] or 'the end'}",
            hint="write DP-SELECT 0.5 …, DP-SELECT 1/3 … or DP-SELECT WITHIN 10 …",
        )
    tag = _modifiers(cursor, PriceTag(price=price, parameters_used=used))
    if tag.bias and isinstance(tag.price, WithinError):
        raise QueryRefused("WITHIN is refused with BIAS: how wide a bias is cannot be known beforehand", hint=_PRICED)
    return tag


def read_bound(text: str) -> WithinError:
    """A bound on errors by itself: `10`, or `5%` of each answer."""
    number = text.strip().removesuffix("%")
    bound = positive(number, "the bound on errors")
    return WithinError(bound / 100, relative=True) if text.strip().endswith("%") else WithinError(bound, relative=False)


def _modifiers(cursor: Cursor, tag: PriceTag) -> PriceTag:
    while True:
        if tag.delta is None and cursor.takes("DELTA"):
            tag = replace(tag, delta=probability(_number(cursor, "delta"), "delta"))
        elif tag.confidence is None and cursor.takes("CONFIDENCE"):
            tag = replace(tag, confidence=probability(_number(cursor, "a confidence"), "the confidence"))
        elif not tag.fresh and cursor.takes("FRESH"):
            tag = replace(tag, fresh=True)
        elif not tag.bias and cursor.takes("WITH"):
            if not cursor.takes("BIAS"):
                raise QuerySyntaxError(
                    f"the query cannot be read: expected BIAS after WITH, found {cursor.next_text()[:40] or 'the end'}",
                    hint="write DP-SELECT 1 WITH BIAS …; a WITH that names subqueries stands before DP-SELECT",
                )
            tag = replace(tag, bias=True)
        else:
            return tag


def google_options(cursor: Cursor) -> PriceTag:
    """`OPTIONS(epsilon=1, delta=1e-6, max_groups_contributed=3, …)`, as BigQuery writes it."""
    if not cursor.takes("OPTIONS"):
        return PriceTag()
    cursor.needs(TokenType.L_PAREN, "( after OPTIONS")
    options: dict[str, str] = {}
    while not cursor.sees(TokenType.R_PAREN):
        name = cursor.needs(TokenType.VAR, "the name of an option").lower()
        if name in options:
            raise QuerySyntaxError(f"the option {name} stands twice")
        cursor.needs(TokenType.EQ, f"= after {name}")
        options[name] = (
            cursor.take(TokenType.VAR) or cursor.take(TokenType.STRING) or _number(cursor, f"a value for {name}")
        )
        if not cursor.takes(","):
            break
    cursor.needs(TokenType.R_PAREN, ") after the options")
    return _from_options(options)


def _from_options(options: dict[str, str]) -> PriceTag:
    price: Price = DefaultPrice()
    if "epsilon" in options:
        price = AtEpsilon(positive(options.pop("epsilon"), "epsilon"))
    delta = probability(options.pop("delta"), "delta") if "delta" in options else None
    unit = options.pop("privacy_unit_column", None)
    caps = TypedBounds(
        max_groups=_cap(options.pop("max_groups_contributed", None), "max_groups_contributed"),
        max_rows=_cap(options.pop("max_rows_contributed", None), "max_rows_contributed"),
    )
    if options:
        raise QueryRefused(
            f"the option {next(iter(options))[:40]} is not known",
            hint="epsilon, delta, privacy_unit_column, max_groups_contributed and max_rows_contributed are",
        )
    return PriceTag(price=price, delta=delta, unit=unit, caps=caps)


def _cap(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    number = rational(text, name)
    if number.denominator != 1 or not 1 <= number <= MAX_CAP:
        raise InvalidParameter(f"{name} must be a whole number from 1 to {MAX_CAP:,}: got {text[:40]}")
    return int(number)


def _starts_number(cursor: Cursor) -> bool:
    return cursor.sees(TokenType.NUMBER) or cursor.sees(TokenType.DOT) or cursor.sees(TokenType.DASH)


def _number(cursor: Cursor, what: str) -> str:
    """A decimal or a fraction, as text: what was typed is what is meant."""
    sign = "-" if cursor.takes("-") else ""
    dot = "." if cursor.takes(".") else ""
    text = sign + dot + cursor.needs(TokenType.NUMBER, what)
    if cursor.takes("/"):
        text += "/" + cursor.needs(TokenType.NUMBER, "a whole number after /")
    return text


def _parameter(named: Mapping[str, object], name: str) -> Number:
    value = named.get(name)
    if not isinstance(value, Number):
        raise InvalidParameter("epsilon is a parameter that is missing or not a number", hint="query(sql, [0.5, …])")
    return value
