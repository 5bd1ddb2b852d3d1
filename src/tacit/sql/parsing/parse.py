"""Text to `Query`: the price is taken off the tokens, the rest is a SELECT for sqlglot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from tacit.core.rational import MAX_EXPONENT
from tacit.errors import InvalidParameter, QueryRefused, QuerySyntaxError
from tacit.policy.reading.names import RESERVED, is_reserved
from tacit.sql.expressions.names.typed import tokens_of, trees_of
from tacit.sql.parsing.clock import in_seconds
from tacit.sql.parsing.grouped_joins import without_grouped_joins
from tacit.sql.parsing.grouped_names import columns_first
from tacit.sql.parsing.initials import grouped_by_lower
from tacit.sql.parsing.lists import with_lists
from tacit.sql.parsing.named_windows import written_out
from tacit.sql.parsing.nested_prices import one_price, without_nested_prices
from tacit.sql.parsing.pivots import without_pivots
from tacit.sql.parsing.price import PriceTag, google_options, written_price
from tacit.sql.parsing.quantified import without_quantifiers
from tacit.sql.parsing.query import Query
from tacit.sql.parsing.schemas import without_schemas
from tacit.sql.parsing.semi_joins import without_semi_joins
from tacit.sql.parsing.several_at_once import one_by_one
from tacit.sql.parsing.today import dated
from tacit.sql.parsing.tokens import Cursor, without_brackets, without_raw_marks, without_response
from tacit.sql.parsing.units import with_units
from tacit.sql.parsing.written_series import series_written_out
from tacit.sql.parsing.zones import without_zones

MAX_CHARACTERS = 100_000
MAX_TOKENS = 8_000
MAX_DEPTH = 60
Parameters = Sequence[object] | Mapping[str, object]

_EXPLAIN = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE)
_EXPLAIN_MORE = re.compile(r"\s*(ANALYZE\b|ANALYSE\b|VERBOSE\b|\([^()]*\)?)", re.IGNORECASE)
_FORM = "write DP-SELECT 0.5 COUNT(*) FROM table, or EXPLAIN DP-SELECT … to see its price first"
_NAMES = {TokenType.VAR, TokenType.IDENTIFIER}
_BEFORE_TOP = {TokenType.SELECT, TokenType.DISTINCT, TokenType.NUMBER}  # the last one is a price


def parse(text: str, parameters: Parameters = ()) -> Query:
    """The question in `text`. Raises QuerySyntaxError or QueryRefused; never looks at data or policy."""
    _check_size(text)
    explain = _EXPLAIN.match(text)
    if explain:
        more = _EXPLAIN_MORE.match(text, explain.end())
        if more:
            raise _explained_otherwise(more[1])
        text = " " * explain.end() + text[explain.end() :]  # positions in messages stay right
    tokens, perturbed = without_response(_tokens(text))
    named = _named(parameters)
    try:
        tokens, nested = without_nested_prices(tokens, named)
        cursor = Cursor(tokens)
        clause = cursor.with_clause()
        cursor.select_first()
        cursor.pivot_as_select()
        tag = one_price(_price_tag(cursor, named), nested)
    except InvalidParameter as error:  # what is wrong with a price is wrong with the query
        raise QueryRefused(error.message, hint=error.hint) from None
    if tag.parameters_used and any(token.token_type is TokenType.PLACEHOLDER for token in clause):
        raise QueryRefused("? stands in WITH and in the price: which comes first?", hint="name them, as in :name")
    words = with_units(cursor.rest_as_select(tag.parameters_used, clause=clause), named)
    select = dated(_select(words, text), datetime.now(UTC))
    select = with_lists(without_zones(select), named)
    return Query(
        select=select,
        price=tag.price,
        delta=tag.delta,
        confidence=tag.confidence,
        explain=explain is not None,
        fresh=tag.fresh,
        bias=tag.bias,
        unit=tag.unit,
        caps=tag.caps,
        parameters=named,
        perturbed=perturbed,
    )


def says_explain(text: str) -> bool:
    """Whether the text asks for an explanation and not for an answer."""
    return isinstance(text, str) and _EXPLAIN.match(text) is not None


def _explained_otherwise(options: str) -> QueryRefused:
    """EXPLAIN has one form: what would run the question, or write of it otherwise, is refused by its own name."""
    if "ANALY" in options.upper():
        return QueryRefused("EXPLAIN ANALYZE is refused: it would run the query", hint="write EXPLAIN DP-SELECT …")
    return QueryRefused("EXPLAIN with options is refused: there is one explanation", hint="write EXPLAIN DP-SELECT …")


def _check_size(text: str) -> None:
    if not isinstance(text, str):
        raise QuerySyntaxError(f"the query is not a text: it is a {type(text).__name__}", hint=_FORM)
    if len(text) > MAX_CHARACTERS:
        raise QuerySyntaxError(f"the query is too long: at most {MAX_CHARACTERS:,} characters are read")
    if "\x00" in text:
        raise QuerySyntaxError("the query contains a NUL character")
    if not text.strip():
        raise QuerySyntaxError("the query is empty", hint=_FORM)


def _tokens(text: str) -> list[Token]:
    try:
        tokens = without_raw_marks(without_brackets(tokens_of(text), text))
    except SqlglotError:
        raise QuerySyntaxError("the query cannot be read: a quote or comment is not closed", hint=_FORM) from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if len(tokens) > MAX_TOKENS:
        raise QuerySyntaxError(f"the query is too long: at most {MAX_TOKENS:,} words are read")
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise QueryRefused(
            "several statements at once are refused: one question, one price", hint="send them one by one"
        )
    if any(token.token_type in _NAMES and is_reserved(token.text) for token in tokens):
        raise QueryRefused(f"a name begins with {RESERVED}: tacit keeps such names for itself", hint="choose another")
    _read_top(tokens)
    depth = 0
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
        if depth > MAX_DEPTH:
            raise QuerySyntaxError(f"the query is nested too deeply: at most {MAX_DEPTH} parentheses are read")
    return tokens


def _read_top(tokens: list[Token]) -> None:
    """SELECT TOP 10 and TOP (10), as SQL Server writes LIMIT: no column has a name that a number follows."""
    kinds = [token.token_type for token in tokens]
    for index, token in enumerate(tokens[:-1]):
        if token.text.upper() != "TOP" or kinds[index] is not TokenType.VAR or not index:
            continue
        in_parentheses = kinds[index + 1 : index + 4] == [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN]
        is_call = in_parentheses and kinds[index + 4 : index + 5] in ([], [TokenType.COMMA], [TokenType.FROM])
        if kinds[index - 1] in _BEFORE_TOP and (
            kinds[index + 1] is TokenType.NUMBER or (in_parentheses and not is_call)
        ):
            token.token_type = TokenType.TOP


def _named(parameters: Parameters) -> dict[str, object]:
    """Parameters by name; those given in order are called 1, 2, 3 …"""
    if isinstance(parameters, Mapping):
        named = {str(name): value for name, value in parameters.items()}
    elif isinstance(parameters, (str, bytes)) or not isinstance(parameters, Iterable):
        kind = "text" if isinstance(parameters, (str, bytes)) else type(parameters).__name__
        raise InvalidParameter(f"the parameters are a {kind}: give a list", hint='query(sql, ["CS"])')
    else:
        named = {str(index): value for index, value in enumerate(parameters, start=1)}
    for value in (item for each in named.values() for item in (each if isinstance(each, (list, tuple)) else (each,))):
        if isinstance(value, (int, Fraction)) and value and not 10**-MAX_EXPONENT < abs(value) < 10**MAX_EXPONENT:
            raise InvalidParameter(
                "a parameter is too large or too small a number", hint=f"exponents are within ±{MAX_EXPONENT}"
            )
    return named


def _price_tag(cursor: Cursor, named: Mapping[str, object]) -> PriceTag:
    if cursor.takes("DP") and cursor.takes("-"):
        cursor.needs(TokenType.SELECT, "SELECT after DP-")
        return written_price(cursor, named)
    if cursor.position == 0 and cursor.sees(TokenType.SELECT):
        cursor.skip()
        if cursor.takes("WITH") and cursor.takes("DIFFERENTIAL_PRIVACY"):
            return google_options(cursor)
        if cursor.position == 1:
            return PriceTag()
    first = cursor.first_word()
    raise QueryRefused(f"{first} is refused: only questions are answered", hint=_FORM)


def _select(tokens: list[Token], text: str) -> exp.Select | exp.SetOperation:
    try:
        trees = trees_of(tokens, text)
    except SqlglotError as error:
        raise QuerySyntaxError(_where(error), hint=_FORM) from None
    except RecursionError:
        raise QuerySyntaxError("the query is nested too deeply") from None
    except (TypeError, AttributeError, ValueError, LookupError):  # the parser looked for an argument that is not there
        raise QuerySyntaxError("the query cannot be read: a function lacks an argument", hint=_FORM) from None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, (exp.Select, exp.SetOperation)):
        raise QuerySyntaxError("the query is not a SELECT", hint=_FORM)
    tree = without_quantifiers(without_semi_joins(without_schemas(tree)))
    plain = written_out(without_pivots(without_grouped_joins(series_written_out(tree))))
    return columns_first(grouped_by_lower(in_seconds(one_by_one(plain))))


def _where(error: SqlglotError) -> str:
    details = getattr(error, "errors", None) or [{}]
    line, column = details[0].get("line"), details[0].get("col")
    near = str(details[0].get("highlight") or "").strip()
    if not near or line is None:
        return "the query cannot be read"
    return f"the query cannot be read: line {line}, column {column}, near {near[:40]!r}"
