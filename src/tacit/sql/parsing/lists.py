"""Lists as values: `x = ANY(?)` with a list for the parameter, or with a text that is a list of PostgreSQL's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from sqlglot import exp

from tacit.core import decimal_text, rational
from tacit.errors import InvalidParameter, QueryRefused

T = TypeVar("T", bound=exp.Expr)
_QUANTIFIERS = {"ANY", "ALL", "SOME"}
_MOST = 2_000
_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^",{}\\]|\\.)*))\s*(,|$)', re.DOTALL)


def with_lists(tree: T, parameters: Mapping[str, object]) -> T:
    """The question, with each list after ANY and ALL written out: a list is its values, and never one text.

    PostgreSQL reads the text after ANY as a list, `'{CS,Bio}'`. Taken for a value it would match no row, and that would
    be an answer.
    """
    for node in list(tree.find_all(exp.Any, exp.All, exp.Anonymous)):
        inner = _inner(node)
        value = None if inner is None else _value(inner, parameters)
        if inner is not None and isinstance(value, (list, tuple)):
            _check_length(value)
            inner.replace(exp.Array(expressions=[_constant(item) for item in value]))
    return tree


def _inner(node: exp.Expr) -> exp.Expr | None:
    """What stands after ANY or ALL, if that is one thing."""
    if not isinstance(node, exp.Anonymous):
        return node.this.unnest() if isinstance(node.this, exp.Expr) else None
    if str(node.this).upper() not in _QUANTIFIERS or len(node.expressions) != 1:
        return None
    only: exp.Expr = node.expressions[0].unnest()
    return only


def _value(node: exp.Expr, parameters: Mapping[str, object]) -> object:
    value = None
    if isinstance(node, exp.Placeholder):
        value = parameters.get(str(node.args.get("this") or ""))
    elif isinstance(node, exp.Literal) and node.is_string:
        value = str(node.this)
    if isinstance(value, str) and value.strip().startswith("{"):
        return read_list(value)
    return value


def read_list(text: str) -> list[str | None]:
    """The texts of a list as PostgreSQL writes it. Raises QueryRefused where it is none, or one of lists."""
    written = text.strip()
    if not (len(written) > 1 and written.startswith("{") and written.endswith("}")):
        raise _malformed()
    inside, items, at = written[1:-1], list[str | None](), 0
    while inside.strip():
        match = _ITEM.match(inside, at)
        if match is None or (match[1] is None and not match[2].strip()):
            raise _malformed()
        items.append(_unescaped(match[1]) if match[1] is not None else _bare(match[2].rstrip()))
        at = match.end()
        if not match[3]:
            break
    return items


def _bare(written: str) -> str | None:
    return None if written.upper() == "NULL" else _unescaped(written)


def _unescaped(written: str) -> str:
    return re.sub(r"\\(.)", r"\1", written, flags=re.DOTALL)


def _malformed() -> QueryRefused:
    return QueryRefused(
        "the text after ANY or ALL is no list", hint="write ANY (ARRAY['CS', 'Bio']), ANY ('{CS,Bio}'), or give a list"
    )


def _check_length(items: Sequence[object]) -> None:
    if not items:
        raise QueryRefused(
            "a list has no values: the condition is known without asking", hint="give at least one value"
        )
    if len(items) > _MOST:
        raise QueryRefused(f"a list has too many values: at most {_MOST:,}", hint="give fewer")


def _constant(value: object) -> exp.Expr:
    """A value as a constant of the question."""
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(_sound(value))
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return exp.cast(exp.Literal.string(moment.isoformat(sep=" ")), "TIMESTAMP")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, (int, float, Decimal, Fraction)):
        return _number(value)
    raise InvalidParameter(f"a list holds a {type(value).__name__}: give text, numbers, dates or truth values")


def _number(value: int | float | Decimal | Fraction) -> exp.Expr:
    exact = rational(value, "a number of a list")
    text = decimal_text(abs(exact))
    if "/" in text:
        raise InvalidParameter(f"the number {text} of a list has no end as a decimal", hint="round it")
    literal = exp.Literal.number(text)
    return literal if exact >= 0 else exp.Neg(this=literal)


def _sound(text: str) -> str:
    """A text that SQL can carry, as every parameter must be."""
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise QueryRefused("a text holds a character that no column can: NUL or half of a pair")
    return text
